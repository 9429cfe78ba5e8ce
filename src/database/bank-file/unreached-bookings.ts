import { businessDaysBefore } from '../../domain/business-day';
import { LACKED } from '../ledger/end-expected-booking';
import type { Executor } from '../pool/connection';
import { raw, sql, type Fragment } from '../pool/statement';

/** Bookings that no file has yet: those that files do not reach, and all by their age. */

/** Settlements of a bank that its files do not reach, so that nobody can miss them. */
export interface Unreached {
  bankId: string;
  name: string;
  currency: string;
  bookings: number;
  /** There are more than were counted. */
  isMinimum: boolean;
  /** Minor units. */
  amount: bigint;
  /** The oldest settlement day of these. */
  since: string;
  /** The day that the bank's files reach in this currency; null if no file does. */
  reached: string | null;
}

/** Bookings counted of each bank and currency, oldest first: a tenth of a second for ten banks. */
const COUNTED_MAX = 1_000;
/** The same for an operator who waits: a second. */
const ADDED_UP_MAX = 1_000_000;

/** Unreached bookings that settled more than `days` business days ago, in the bank's country. */
export async function lateBookings(db: Executor, days: number): Promise<Unreached[]> {
  const banks = await db.rows<{ bankId: string; country: string | null; today: string }>`
    SELECT b.id AS bank_id, (SELECT country FROM customers WHERE bank_id = b.id ORDER BY id LIMIT 1) AS country,
      (clock_timestamp() AT TIME ZONE ${db.timeZone})::date::text AS today
    FROM entities b WHERE b.type = 'bank'`;
  const ids = banks.map(({ bankId }) => bankId);
  const until = banks.map(({ country, today }) => businessDaysBefore(today, days, country ?? ''));
  const asked = sql`SELECT * FROM unnest(${ids}::text[], ${until}::date[]) AS a (bank_id, until)`;
  return unreached(db, asked, COUNTED_MAX);
}

/** @param day the last settlement day that counts */
export const unreachedThrough = (db: Executor, day: string): Promise<Unreached[]> =>
  unreached(
    db,
    sql`SELECT id AS bank_id, ${day}::date AS until FROM entities WHERE type = 'bank'`,
    ADDED_UP_MAX,
  );

/** SQL: the day from which on bookings of the bank are expected. */
const beginsOf = (bankId: Fragment) => sql`coalesce((
  SELECT begins FROM expectations WHERE expectations.bank_id = ${bankId}), '-infinity')`;

/** As the index has them. */
const IN_NO_FILE = sql`e.matched_by IS NULL AND e.reported_in IS NULL AND e.ended_at IS NULL
  AND e.written_off_at IS NULL`;

/** @param asked SQL of banks, and of the last settlement day that counts */
function unreached(db: Executor, asked: Fragment, atMost: number): Promise<Unreached[]> {
  return db.rows<Unreached>`
    WITH asked AS (SELECT a.*, ${beginsOf(sql`a.bank_id`)} AS begins FROM (${asked}) AS a),
    reached AS (
      SELECT s.bank_id, r.key AS currency, max(r.value)::date AS day
      FROM bank_files s, jsonb_each_text(s.reaches) AS r
      WHERE s.bank_id IN (SELECT bank_id FROM asked) AND s.status = 'completed' GROUP BY 1, 2)
    SELECT a.bank_id, b.name, c.currency, e.*, f.reached::text
    FROM asked a JOIN entities b ON b.id = a.bank_id, LATERAL (
        SELECT DISTINCT currency FROM ledger_balances WHERE party_id = a.bank_id) AS c, LATERAL (
        SELECT max(day) AS reached FROM reached r WHERE r.bank_id = a.bank_id AND r.currency IN (c.currency, '*')) AS f,
      LATERAL (
        SELECT count(*)::int AS bookings, count(*) = ${atMost} AS is_minimum, sum(amount)::bigint AS amount,
          min(settlement_day)::text AS since
        FROM (
          SELECT e.amount, e.settlement_day FROM expected_bookings e
          WHERE e.bank_id = a.bank_id AND e.currency = c.currency AND ${IN_NO_FILE}
            AND e.settlement_day BETWEEN a.begins AND a.until
            -- A bound of its own: files may leave a million bookings before it unreported.
            AND e.settlement_day > coalesce(f.reached, '-infinity')
          ORDER BY e.settlement_day LIMIT ${atMost}) AS oldest) AS e
    WHERE bookings > 0 ORDER BY a.bank_id, c.currency`;
}

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
