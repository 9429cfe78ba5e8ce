import { oneRow, rows, type Database, type Executor } from '../connection';
import type { Viewer } from '../viewer';
import { FIRST_ID } from './entry';
import { OF_THE_DAY, POSTED_TO, readFinality, readInOneSnapshot } from './statement';

/**
 * Who owes whom of what settled on a day: an entry has two sides, and each is the other's
 * counterparty. So what one is owed by another, that one owes it, and all of it adds up to nothing.
 */
export interface Position {
  /** A bank or a merchant; `network` for what the network bears. */
  counterpartyId: string;
  currency: string;
  /** Minor units. */
  owedToYou: bigint;
  owedByYou: bigint;
}

/** Whose position a posting is part of: what is disputed is the network's. */
const holderOf = (posting: string) =>
  `CASE ${posting}.account WHEN 'disputed' THEN 'network' ELSE ${posting}.party_id END`;

/** Of an entry with several on one side each has to do with the one on the other. */
const BETWEEN_THE_TWO = 'least(p.amount, other.amount)';

/**
 * What moves between two accounts of one bank has no counterparty, but for what is disputed: that
 * is the network's.
 *
 * @param atMost the first of them, by their counterparty and currency
 */
export async function readPositions(
  db: Executor,
  { entityId: partyId, role }: Viewer,
  date: string,
  atMost: number,
): Promise<Position[]> {
  const found = await rows<{
    counterpartyId: string;
    currency: string;
    owedToYou: string;
    owedByYou: string;
  }>(
    db,
    `SELECT counterparty_id AS "counterpartyId", currency,
       coalesce(sum(amount) FILTER (WHERE direction = 'credit'), 0)::text AS "owedToYou",
       coalesce(sum(amount) FILTER (WHERE direction = 'debit'), 0)::text AS "owedByYou"
     FROM (
       SELECT p.currency::text AS currency, p.direction,
         ${BETWEEN_THE_TWO} AS amount, ${holderOf('other')} AS counterparty_id
       FROM ledger_postings p JOIN ledger_entries e ON e.id = p.entry_id
         JOIN ledger_postings other ON other.entry_id = p.entry_id AND other.direction <> p.direction
       WHERE p.party_id = ANY(${POSTED_TO[role]}) AND ${OF_THE_DAY} AND p.account <> 'disputed'
         AND (other.party_id <> p.party_id OR other.account = 'disputed')) AS sides
     GROUP BY counterparty_id, currency ORDER BY counterparty_id, currency LIMIT :atMost`,
    { partyId, date, atMost },
    'anew',
  );
  return found.map(({ owedToYou, owedByYou, ...position }) => ({
    ...position,
    owedToYou: BigInt(owedToYou),
    owedByYou: BigInt(owedByYou),
  }));
}

/** One line of what all parties owe each other. */
export interface PartyPosition {
  /** A bank or a merchant; `network` for what the network bears. */
  partyId: string;
  /** Null for what has no other side, which no entry has that balances. */
  counterpartyId: string | null;
  currency: string;
  /** Minor units. */
  owedToIt: bigint;
  owedByIt: bigint;
}

export interface NetworkPositions {
  /** Whether nothing can settle on that day any more for anybody. */
  final: boolean;
  /** By currency, party and counterparty; null where there are more than was asked for. */
  positions: PartyPosition[] | null;
}

export interface NetworkDay {
  /** In the network's zone. */
  date: string;
  timeZone: string;
  /** Null for all. */
  currency: string | null;
}

/** Entries whose positions one statement adds up: half a second of Postgres, or less. */
const ENTRIES_AT_ONCE = 10_000;

/**
 * The positions of every party, the network included, as of one moment. What an account has moved
 * without a counterparty is there, too: so a party's positions are what its postings come to, and
 * all of them add up to zero where the ledger does.
 *
 * @param atMost most of them; they are in memory, some 700 bytes each
 * @param beat told how many entries have been read
 */
export async function readNetworkPositions(
  db: Database,
  day: NetworkDay,
  atMost: number,
  beat: (entries: number) => void = () => undefined,
  entriesAtOnce = ENTRIES_AT_ONCE,
): Promise<NetworkPositions> {
  const { timeZone, date } = day;
  const finalityOf = (executor: Executor) => readFinality(executor, timeZone, date, null);
  return readInOneSnapshot(db, finalityOf, async (trx, { final }) => {
    const sums = new Map<string, PartyPosition>();
    let entries = 0;
    for await (const page of pagesOf(trx, day, entriesAtOnce)) {
      for (const { owedToIt, owedByIt, ...line } of page.lines) {
        const key = [line.currency, line.partyId, line.counterpartyId ?? ''].join(' ');
        const sum = sums.get(key) ?? { ...line, owedToIt: 0n, owedByIt: 0n };
        sum.owedToIt += BigInt(owedToIt);
        sum.owedByIt += BigInt(owedByIt);
        sums.set(key, sum);
      }
      if (sums.size > atMost) return { final, positions: null };
      entries += page.entries;
      beat(entries);
    }
    const inOrder = [...sums.keys()].sort();
    return { final, positions: inOrder.flatMap((key) => sums.get(key) ?? []) };
  });
}

interface PositionPage {
  last: string | null;
  entries: number;
  lines: (Omit<PartyPosition, 'owedToIt' | 'owedByIt'> & { owedToIt: string; owedByIt: string })[];
}

async function* pagesOf(
  trx: Executor,
  { date, currency }: NetworkDay,
  entriesAtOnce: number,
): AsyncGenerator<PositionPage, void, void> {
  let after: string | null = FIRST_ID;
  while (after !== null) {
    const page: PositionPage = await oneRow(
      trx,
      `WITH page AS MATERIALIZED (
         SELECT id FROM ledger_entries WHERE settlement_day = :date AND id > :after::bigint ORDER BY id
         LIMIT :entriesAtOnce),
       sides AS MATERIALIZED (
         SELECT p.entry_id, p.n, p.currency::text AS currency, p.direction, p.amount, ${BETWEEN_THE_TWO} AS shared,
           ${holderOf('p')} AS party_id, ${holderOf('other')} AS counterparty_id
         FROM page JOIN ledger_postings p ON p.entry_id = page.id
           LEFT JOIN ledger_postings other ON other.entry_id = p.entry_id AND other.direction <> p.direction
         WHERE p.currency = coalesce(:currency::text, p.currency)),
       alone AS (
         -- Without another side "least" is all of it.
         SELECT party_id, currency, CASE direction WHEN 'credit' THEN 1 ELSE -1 END * (amount
           - coalesce(sum(shared) FILTER (WHERE counterparty_id IS NOT NULL), 0)) AS rest
         FROM sides GROUP BY entry_id, n, party_id, currency, direction, amount),
       lines AS (
         SELECT party_id AS "partyId", counterparty_id AS "counterpartyId", currency,
           coalesce(sum(shared) FILTER (WHERE direction = 'credit'), 0)::text AS "owedToIt",
           coalesce(sum(shared) FILTER (WHERE direction = 'debit'), 0)::text AS "owedByIt"
         FROM sides WHERE counterparty_id <> party_id GROUP BY party_id, counterparty_id, currency
         UNION ALL
         SELECT party_id, NULL, currency, coalesce(sum(rest) FILTER (WHERE rest > 0), 0)::text,
           coalesce(-sum(rest) FILTER (WHERE rest < 0), 0)::text
         FROM alone WHERE rest <> 0 GROUP BY party_id, currency)
       SELECT (SELECT max(id)::text FROM page) AS last, (SELECT count(*)::int FROM page) AS entries,
         coalesce((SELECT jsonb_agg(lines) FROM lines), '[]') AS lines`,
      { date, currency, after, entriesAtOnce },
      'anew',
    );
    if (page.last !== null) yield page;
    after = page.last;
  }
}
