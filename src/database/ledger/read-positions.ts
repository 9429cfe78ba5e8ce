import { onDay } from '../../domain/books/statement';
import type { Database, Executor } from '../pool/connection';
import { customPlan, raw, sql, type Fragment } from '../pool/statement';
import type { Party } from '../query/party';
import { FIRST_ID } from './post-entries';
import { ofTheDay, postedTo, readInOneSnapshot } from './read-statement';

/**
 * The amounts that two parties owe each other from one settlement day. An entry has two sides, and
 * each is the other's counterparty; so all positions of a day add up to zero.
 */
export interface Position<Counterparty = string> {
  /** A bank, a merchant or a provider; `network` for its own share. */
  partyId: string;
  counterpartyId: Counterparty;
  /** Null for the network. */
  counterpartyName: string | null;
  currency: string;
  /** Minor units. */
  owedToIt: bigint;
  owedByIt: bigint;
}

/** Null is the counterparty of an entry with one side, which no entry has that balances. */
export type NetworkPosition = Position<string | null>;

/** The holder of a posting; disputed amounts are the network's. */
const holderOf = (posting: 'p' | 'other') =>
  raw(`CASE ${posting}.account WHEN 'disputed' THEN 'network' ELSE ${posting}.party_id END`);

/**
 * An entry may have several postings on one side: each has the posting on the other side as its
 * counterparty. A movement between two accounts of one holder has no counterparty.
 *
 * @param holder SQL of the party whose positions they are
 * @param which SQL over entries `e` and postings `p`
 */
function positionsOf<Counterparty>(
  db: Executor,
  holder: Fragment,
  which: Fragment,
  atMost: number,
): Promise<Position<Counterparty>[]> {
  return customPlan(db).rows<Position<Counterparty>>`
    SELECT party_id, counterparty_id, currency, (SELECT name FROM entities
    WHERE id = counterparty_id) AS counterparty_name,
      coalesce(sum(amount) FILTER (WHERE direction = 'credit'), 0) AS owed_to_it,
      coalesce(sum(amount) FILTER (WHERE direction = 'debit'), 0) AS owed_by_it
    FROM (
      SELECT ${holder} AS party_id, ${holderOf('p')} AS own, ${holderOf('other')} AS counterparty_id,
        p.currency::text AS currency, p.direction, least(p.amount, other.amount) AS amount
      FROM ledger_postings p JOIN ledger_entries e ON e.id = p.entry_id
        LEFT JOIN ledger_postings other ON other.entry_id = p.entry_id AND other.direction <> p.direction
      WHERE ${which}) AS sides
    WHERE counterparty_id IS DISTINCT FROM own
    GROUP BY party_id, counterparty_id, currency ORDER BY party_id, counterparty_id, currency
    LIMIT ${atMost}`;
}

/** @param atMost the first of them, by counterparty and currency */
export const readPositions = (
  db: Executor,
  party: Party,
  date: string,
  atMost: number,
): Promise<Position[]> =>
  positionsOf(
    db,
    sql`${party.entityId}::text`,
    sql`p.party_id = ANY(${postedTo(party)}) AND ${ofTheDay(date)} AND p.account <> 'disputed' AND other.n IS NOT NULL`,
    atMost,
  );

export interface NetworkDay {
  /** In the network's zone. */
  date: string;
  /** Null for all. */
  currency: string | null;
}

interface Reach {
  /** Positions in memory: some 700 bytes each. */
  atMost: number;
  /** Called with the number of entries read so far. */
  heartbeat?: (entries: number) => void;
  entriesAtOnce?: number;
}

/** Entries whose positions one statement adds up: half a second of Postgres, or less. */
const ENTRIES_AT_ONCE = 10_000;

/**
 * The positions of every party, the network included, in one snapshot.
 *
 * @returns positions by currency, party and counterparty; null where there are more than `atMost`
 */
export async function readNetworkPositions(
  db: Database,
  { date, currency }: NetworkDay,
  { atMost, heartbeat = () => undefined, entriesAtOnce = ENTRIES_AT_ONCE }: Reach,
) {
  return readInOneSnapshot(db, onDay(date), null, async (trx, { final }) => {
    const sums = new Map<string, NetworkPosition>();
    let entries = 0;
    for (let after = FIRST_ID; ;) {
      const next = await trx.oneRow<{ last: string | null; count: number }>`
        SELECT max(id)::text AS last, count(*)::int AS count FROM (
        SELECT id FROM ledger_entries WHERE settlement_day = ${date} AND id > ${after}::bigint ORDER BY id
        LIMIT ${entriesAtOnce}) AS next`;
      const { last } = next;
      if (last === null) break;
      const ofTheNext = sql`e.settlement_day = ${date} AND e.id > ${after}::bigint AND e.id <= ${last}::bigint
        AND p.currency = coalesce(${currency}::text, p.currency)`;
      for (const line of await positionsOf<string | null>(trx, holderOf('p'), ofTheNext, atMost + 1)) {
        const key = [line.currency, line.partyId, line.counterpartyId ?? ''].join(' ');
        const { owedToIt, owedByIt } = sums.get(key) ?? { owedToIt: 0n, owedByIt: 0n };
        sums.set(key, { ...line, owedToIt: owedToIt + line.owedToIt, owedByIt: owedByIt + line.owedByIt });
      }
      if (sums.size > atMost) return { final, positions: null };
      heartbeat((entries += next.count));
      after = last;
    }
    const inOrder = [...sums.keys()].sort();
    return { final, positions: inOrder.flatMap((key) => sums.get(key) ?? []) };
  });
}
