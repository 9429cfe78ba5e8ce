import type { Executor } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { LACKED } from './find-missing';
import { beginsOf, IN_NO_FILE } from './unreached-bookings';

/** Days since the settlement that a booking of each age is past. */
const AGES = [0, 7, 30, 90];

/** Bookings of a bank without a line, of one age and currency. */
interface WithoutLine {
  currency: string;
  olderThanDays: number;
  bookings: number;
  /** Minor units. */
  amount: bigint;
  /** The oldest settlement day of these. */
  since: string;
}

/** A second of Postgres. */
const ADDED_UP_MAX = 1_000_000;

/** Bookings that no file has: they may come yet, or their exception is not resolved. */
export function bookingsWithoutLine(db: Executor, bankId: string): Promise<WithoutLine[]> {
  const asked = sql`e.bank_id = ${bankId} AND e.matched_by IS NULL AND e.ended_at IS NULL`;
  return db.rows<WithoutLine>`
    WITH without_line AS (
      (SELECT e.currency, e.amount, e.settlement_day FROM expected_bookings e
       WHERE ${asked} AND ${IN_NO_FILE} AND e.settlement_day >= ${beginsOf(sql`${bankId}`)}
       ORDER BY e.settlement_day LIMIT ${ADDED_UP_MAX})
      UNION ALL
      SELECT e.currency, e.amount, e.settlement_day
      FROM reconciliation_exceptions x JOIN expected_bookings e ON ${asked} AND e.reported_in IS NOT NULL
        AND ${raw(LACKED)}
      WHERE x.kind = 'missing_at_bank' AND x.state <> 'resolved' AND ${bankId} IN (x.bank_id, x.payee_bank_id))
    SELECT currency::text, coalesce((${AGES}::int[])[width_bucket(
        (clock_timestamp() AT TIME ZONE ${db.timeZone})::date - settlement_day - 1, ${AGES}::int[])], 0) AS older_than_days,
      count(*)::int AS bookings, sum(amount)::bigint AS amount, min(settlement_day)::text AS since
    FROM without_line GROUP BY 1, 2 ORDER BY 1, 2`;
}
