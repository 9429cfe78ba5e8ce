import type { Executor } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { BANK_FILE_COLUMNS, type BankFile } from './receive-bank-file';
import { beginsOf, IN_NO_FILE } from './unreached-bookings';

/** Files of banks, newest first, how far they reach, and the bookings that none of them has. */

export interface ListedBankFile extends BankFile {
  /** The days that the bank says its file covers. */
  from: string | null;
  through: string | null;
}

/** @param bankId null for all banks */
export function listBankFiles(db: Executor, bankId: string | null, limit: number): Promise<ListedBankFile[]> {
  return db.rows<ListedBankFile>`
    SELECT ${raw(BANK_FILE_COLUMNS)}, covered_from::text AS from, covered_through::text AS through
    FROM bank_statements WHERE bank_id = coalesce(${bankId}, bank_id) ORDER BY recorded_at DESC, id DESC
    LIMIT ${limit}`;
}

export interface Reached {
  bankId: string;
  /** `*` for all currencies. */
  currency: string;
  /** The last day that a file of the bank covers. */
  day: string;
}

/** @param bankId null for all banks */
export function daysReached(db: Executor, bankId: string | null): Promise<Reached[]> {
  return db.rows<Reached>`
    SELECT s.bank_id, r.key AS currency, max(r.value) AS day
    FROM bank_statements s, jsonb_each_text(s.reaches) AS r
    WHERE s.bank_id = coalesce(${bankId}, s.bank_id) AND s.status = 'completed' GROUP BY 1, 2 ORDER BY 1, 2`;
}

/** Days since the settlement, the most of each age of a booking; older bookings are last. */
export const AGES = [7, 30, 90] as const;

/** Bookings of a bank without a line, of one age and currency. */
export interface WithoutLine {
  currency: string;
  /** The place of the age in `AGES`; after the last, of older bookings. */
  age: number;
  bookings: number;
  /** Minor units, as text. */
  amount: string;
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
        AND e.identified_by = CASE WHEN x.bank_transaction_id IS NULL THEN 'reference' ELSE 'bankTransactionId' END
        AND e.identifier = coalesce(x.bank_transaction_id, x.reference) AND e.direction = x.direction
      WHERE x.kind = 'missing_at_bank' AND x.state <> 'resolved' AND ${bankId} IN (x.bank_id, x.payee_bank_id))
    SELECT currency::text, width_bucket((clock_timestamp() AT TIME ZONE ${db.timeZone})::date - settlement_day,
        ${AGES.map((days) => days + 1)}::int[]) AS age,
      count(*)::int AS bookings, sum(amount)::text AS amount, min(settlement_day)::text AS since
    FROM without_line GROUP BY 1, 2 ORDER BY 1, 2`;
}
