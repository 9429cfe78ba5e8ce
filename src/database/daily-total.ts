import type { DailyTotal } from '../domain/books/summary';
import { row, rows, type Executor } from './connection';
import { POSTED_TO } from './ledger/statement';
import type { Viewer } from './viewer';

/** What each party has moved per day, kept as it happens. */

/** Changes that one statement folds: some ten milliseconds of Postgres. */
const FOLDED_AT_ONCE = 10_000;

/**
 * Folds changes into the sums of their days; only for speed, for `daily_totals` counts both. Where
 * another process is at it, nothing is done.
 *
 * @returns whether there may be more
 */
export async function foldDailyTotals(db: Executor): Promise<boolean> {
  const done = await row<{ folded: number }>(db, `SELECT fold_daily_totals(:atMost) AS folded`, {
    atMost: FOLDED_AT_ONCE,
  });
  return done?.folded === FOLDED_AT_ONCE;
}

/** Sums of amounts outgrow a bigint of Postgres. */
type Stored = Record<'day' | 'currency' | 'what' | 'reason' | 'amount', string> & { count: number };

/** Of a provider, those of its merchants together. */
export async function readDailyTotals(
  db: Executor,
  { entityId: partyId, role }: Viewer,
  from: string,
  to: string,
): Promise<DailyTotal[]> {
  const found = await rows<Stored>(
    db,
    `SELECT to_char(day, 'YYYY-MM-DD') AS day, currency, what, reason, sum(count)::int AS count, sum(amount)::text AS amount
     FROM daily_totals WHERE party_id = ANY(${POSTED_TO[role]}) AND day BETWEEN :from AND :to
     GROUP BY 1, 2, 3, 4 HAVING sum(count) <> 0`,
    { partyId, from, to },
    'anew',
  );
  return found.map((line) => ({ ...line, amount: BigInt(line.amount) }) as DailyTotal);
}
