import { rows, type Executor } from '../connection';
import type { Viewer } from '../viewer';
import { OF_THE_DAY, POSTED_TO } from './statement';

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
         -- Of an entry with several on one side each has to do with the one on the other.
         least(p.amount, other.amount) AS amount,
         CASE other.account WHEN 'disputed' THEN 'network' ELSE other.party_id END AS counterparty_id
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
