import { businessDaysBefore } from '../../domain/business-day';
import { roomToKeep, type Matching } from './match-lines';
import type { Executor } from '../pool/connection';
import { raw } from '../pool/statement';
import { workOnFile } from './receive-bank-file';

/**
 * Finds bookings that are missing at a bank: no file has them, and the bank's files reach far
 * enough past their settlement day. The span of a single file, and gaps between files, do not
 * matter.
 */

/** Bookings of one transaction, and of one page of differences. */
const PAGE = 1_000;

/**
 * The last day, by currency and under `*` for all, whose bookings a bank should have made by the
 * days that its files reach. A bank keeps the business days of its customers' country.
 */
export async function dueDays(
  trx: Executor,
  bankId: string,
  statementId: string,
  bookingDays: number,
): Promise<Map<string, string>> {
  const reaches = await trx.rows<{ currency: string; day: string; country: string | null }>`
  SELECT r.key AS currency, max(r.value) AS day,
    (SELECT country FROM customers WHERE bank_id = ${bankId} ORDER BY id LIMIT 1) AS country
  FROM bank_files s, jsonb_each_text(s.reaches) AS r
  WHERE s.bank_id = ${bankId} AND (s.status = 'completed' OR s.id = ${statementId}) GROUP BY 1`;
  return new Map(
    reaches.map(({ currency, day, country }) => [
      currency,
      businessDaysBefore(day, bookingDays, country ?? ''),
    ]),
  );
}

/**
 * Reports a page of the bookings that the bank's files have passed, while there is room to keep
 * them. While several files are in work, only the last of them reports, for all.
 */
function openMissing(trx: Executor, bankId: string, statementId: string, dueBy: ReadonlyMap<string, string>) {
  const [currencies, days] = [[...dueBy.keys()], [...dueBy.values()]];
  const ofOthers = dueBy.get('*') ?? null;
  return trx.row`
  WITH due AS (
    SELECT e.* FROM expected_bookings e
      LEFT JOIN unnest(${currencies}::text[], ${days}::date[]) AS r (currency, day) ON r.currency = e.currency
    WHERE (SELECT for_held FROM (${roomToKeep(statementId)}) AS room)
      AND e.bank_id = ${bankId} AND e.matched_by IS NULL AND e.reported_in IS NULL AND e.ended_at IS NULL
      AND e.written_off_at IS NULL
      AND e.settlement_day <= greatest(r.day, ${ofOthers}::date)
      AND e.settlement_day >= (SELECT begins FROM expectations WHERE bank_id = ${bankId})
      AND NOT EXISTS (
        SELECT FROM bank_files o JOIN bank_file_pages p ON p.statement_id = o.id
        WHERE o.bank_id = ${bankId} AND o.id <> ${statementId} AND o.status = 'processing')
    ORDER BY e.settlement_day, e.identifier LIMIT ${raw(PAGE)}),
  missing AS (
    UPDATE expected_bookings e SET reported_in = ${statementId} FROM due d
    WHERE e.bank_id = d.bank_id AND e.identified_by = d.identified_by AND e.identifier = d.identifier
      AND e.direction = d.direction
    RETURNING e.*),
  page AS (
    SELECT count(*)::int AS bookings, jsonb_agg(jsonb_strip_nulls(jsonb_build_object('difference', 'missing_at_bank',
        'bankTransactionId', CASE m.identified_by WHEN 'bankTransactionId' THEN m.identifier END, 'direction', m.direction,
        'networkReference', coalesce(r.reference, b.reference), 'networkAmount', m.amount::text,
        'networkCurrency', m.currency, 'billingRequestId', m.billing_request_id, 'refundId', m.refund_id))
        ORDER BY m.settlement_day, m.identifier) AS differences
    FROM missing m JOIN billing_requests b ON b.id = m.billing_request_id LEFT JOIN refunds r ON r.id = m.refund_id
    HAVING count(*) > 0),
  kept AS (
    INSERT INTO bank_file_differences (statement_id, position, differences)
    SELECT s.id, s.lines + s.missing_at_bank, page.differences FROM page, bank_files s WHERE s.id = ${statementId})
  UPDATE bank_files s SET missing_at_bank = s.missing_at_bank + page.bookings,
    kept_bytes = s.kept_bytes + pg_column_size(page.differences) FROM page
  WHERE s.id = ${statementId} RETURNING s.id`;
}

export async function findMissing(matching: Matching, statementId: string): Promise<void> {
  while (await findNextMissing(matching, statementId)) matching.heartbeat();
}

/** @returns whether a booking was missing: there may be more */
function findNextMissing({ db, bookingDays }: Matching, statementId: string): Promise<boolean> {
  return workOnFile(db, statementId, async (trx, { bankId, done, summary }) => {
    // A restored back-up may have lost lines of the file, which the bank does not lack.
    if (done < summary.lines) return false;
    const due = await dueDays(trx, bankId, statementId, bookingDays);
    const opened = await openMissing(trx, bankId, statementId, due);
    return opened !== undefined;
  });
}
