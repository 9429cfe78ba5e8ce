import { OperatorError } from '../../domain/failures';
import { act, type Actor } from '../record/audit-event';
import type { Executor, Transaction } from '../pool/connection';
import { customPlan, raw, sql } from '../pool/statement';
import { dayBegin } from '../clock/day-begin';

/**
 * Closed months of the ledger. No entry is posted to a closed month: it goes to the current day.
 *
 * Months are closed in order and reopened from the last on, for a month opens with the balances of
 * earlier months.
 */

/** Two operators at once take turns. */
const LOCK_PERIODS = `SELECT pg_advisory_xact_lock(hashtextextended('ledger_periods', 0))`;

const endOf = (month: string, timeZone: string) =>
  dayBegin(sql`${month}::date + interval '1 month'`, timeZone);

/** When a month can have changed last: at its end, or by an entry after it was reopened. */
export async function changedUntil(db: Executor, month: string): Promise<Date> {
  const { at } = await db.oneRow<{ at: Date }>`
    SELECT greatest(${endOf(month, db.timeZone)}, max(recorded_at)) AS at FROM ledger_entries WHERE id IN (
      SELECT (SELECT max(id) FROM ledger_entries WHERE settlement_day = day::date)
      FROM generate_series(${month}::date, ${month}::date + interval '1 month - 1 day', '1 day') AS day)`;
  return at;
}

const earlierOpen = (month: string) => sql`
  SELECT least(
    (SELECT min(month) FROM ledger_periods WHERE month < ${month} AND state = 'reopened'),
    (SELECT date_trunc('month', min(settlement_day))::date FROM ledger_entries
     WHERE settlement_day < ${month} AND settlement_day >= coalesce(
       (SELECT max(month) + interval '1 month' FROM ledger_periods WHERE month < ${month}), '-infinity')))`;

/** A comparison of the books; null before the first. */
interface Compared {
  differences: number | null;
  verifiedAt: Date | null;
}

/**
 * One statement decides, by real time, which no clock of a merchant is behind. It sees every
 * transaction that still settles in the month; a transaction that it does not see reads a later
 * clock.
 *
 * @param month its first day
 * @param despite the books' last comparison, where the month is closed in spite of it
 * @returns false: it was closed before
 * @throws OperatorError (the month is not over, an earlier month is open, or a transaction that
 *   read its clock in the month has not committed)
 */
export async function closePeriod(
  trx: Transaction,
  by: Actor,
  month: string,
  despite?: Compared,
): Promise<boolean> {
  await trx.rows`${raw(LOCK_PERIODS)}`;
  const change = trx.row<{ reopenings: number }>`
    INSERT INTO ledger_periods AS p (month)
    SELECT ${month}::date WHERE NOT may_settle_before(${endOf(month, trx.timeZone)}, NULL) AND (${earlierOpen(month)}) IS NULL
    ON CONFLICT (month) DO UPDATE SET state = 'closed' WHERE p.state = 'reopened' RETURNING reopenings`;
  const closed = await act(trx, by, change, shown('period.closed', month, despite));
  if (!closed) await refuseUnlessClosed(trx, month);
  return closed !== undefined;
}

/**
 * Reopenings and postings of a reopened month, to see whether it changes around its close. A month
 * that was never reopened takes no entry once its days are final.
 */
export async function correctionsOf(db: Executor, month: string): Promise<string | undefined> {
  const found = await customPlan(db).row<{ all: string }>`
    SELECT concat(reopenings, ' ', (
      SELECT sum(count) FROM ledger_balances
      WHERE day >= ${month}::date AND day < ${month}::date + interval '1 month')) AS all
    FROM ledger_periods WHERE month = ${month} AND reopenings > 0`;
  return found?.all;
}

async function refuseUnlessClosed(trx: Transaction, month: string): Promise<void> {
  const found = await trx.oneRow<{ state: string | null; over: boolean; earlier: string | null }>`
    SELECT (SELECT state FROM ledger_periods WHERE month = ${month}) AS state,
    clock_timestamp() >= ${endOf(month, trx.timeZone)} AS over,
      (${earlierOpen(month)})::text AS earlier`;
  if (found.state === 'closed') return;
  if (!found.over) throw new OperatorError(`${nameOf(month)} is not over: close it later.`);
  if (found.earlier) {
    throw new OperatorError(`${nameOf(found.earlier)} is open: close it before ${nameOf(month)}.`);
  }
  throw new OperatorError(`a charge of ${nameOf(month)} is still being settled: try again.`);
}

/** @throws OperatorError (the month is not closed, or a later month is) */
export async function reopenPeriod(trx: Transaction, by: Actor, month: string): Promise<void> {
  await trx.rows`${raw(LOCK_PERIODS)}`;
  const change = trx.row<{ reopenings: number }>`
    UPDATE ledger_periods SET state = 'reopened', reopenings = reopenings + 1
    WHERE month = ${month} AND state = 'closed'
      AND NOT EXISTS (SELECT FROM ledger_periods WHERE month > ${month} AND state = 'closed')
      RETURNING reopenings`;
  if (await act(trx, by, change, shown('period.reopened', month))) return;
  const last = await trx.oneRow<{ month: string | null }>`
    SELECT max(month)::text AS month FROM ledger_periods WHERE month > ${month} AND state = 'closed'`;
  throw new OperatorError(
    last.month ? `${nameOf(last.month)} is closed: reopen it first.` : `${nameOf(month)} is not closed.`,
  );
}

const shown =
  (action: `period.${string}`, month: string, despite?: Compared) =>
  ({ reopenings }: { reopenings: number }) => ({
    action,
    entityId: null,
    after: { month: nameOf(month), reopenings, ...(despite && { despite }) },
  });

/** `2026-11` */
const nameOf = (month: string) => month.slice(0, 7);
