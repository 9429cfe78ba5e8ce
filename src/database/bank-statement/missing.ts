import type { ExpectedBooking } from '../../domain/books/ledger';
import { businessDaysBefore } from '../../domain/business-day';
import { oneRow, row, rows, type Executor, type Transaction } from '../connection';
import { countExceptions, lockCharges, openStatementExceptions } from '../reconciliation-exception/statement';
import { keepDifferences } from './difference';
import { lockStatement, type Matching } from './match';

/**
 * Finds what is missing at a bank: each booking that no file has, once the bank's files reach far
 * enough past the settlement day. Which span or gap the files have does not matter.
 */

/** Bookings of one transaction. Each merchant costs a lock of the clock (`settling_now`). */
const PAGE = 1_000;

type Booking = Omit<ExpectedBooking, 'bankId'>;

const IS_IN_NO_FILE = `e.matched_by IS NULL AND e.told_in IS NULL AND e.ended_at IS NULL`;

const BOOKING = `e.identified_by AS "identifiedBy", e.identifier, e.direction, e.amount::bigint, e.currency,
  e.billing_request_id AS "billingRequestId", e.refund_id AS "refundId"`;

/**
 * Looks for the next of what the bank lacks. With the last of it the statement is completed.
 *
 * @returns whether there may be more
 */
export async function findMissing(matching: Matching, statementId: string): Promise<boolean> {
  const { db, keyring, workflowId, bookingDays } = matching;
  return db.transaction(async (trx) => {
    const { bankId, status, done, lines, exceptions } = await lockStatement(trx, statementId);
    if (status !== 'processing') return false;
    // Lines that a restored back-up has lost cannot be matched.
    if (done < lines) return end(trx, statementId, 'failed');
    const due = await overdue(trx, bankId, statementId, bookingDays);
    await lockCharges(
      trx,
      due.map(({ billingRequestId }) => billingRequestId),
    );
    const missing = await rows<Booking & { reference: string }>(trx, MAKE_MISSING, {
      statementId,
      bankId,
      by: due.map(({ identifiedBy }) => identifiedBy),
      identifiers: due.map(({ identifier }) => identifier),
    });
    if (missing.length === 0) return end(trx, statementId, 'completed');
    const found = missing.map(({ identifiedBy, identifier, ...one }) => ({
      ...one,
      bankTransactionId: identifiedBy === 'reference' ? null : identifier,
    }));
    const opened = await openStatementExceptions(
      trx,
      keyring,
      bankId,
      found.map((one) => ({
        ...one,
        kind: 'missing_at_bank' as const,
        reference: null,
        bookedAmount: null,
        bookedCurrency: null,
      })),
      workflowId,
      exceptions,
    );
    await countExceptions(trx, statementId, opened);
    const before = await countMissing(trx, statementId, missing.length);
    await keepDifferences(
      trx,
      statementId,
      lines + before,
      found.map(({ bankTransactionId, amount, currency, reference, refundId, ...one }, n) => ({
        ...one,
        difference: 'missing_at_bank',
        ...(bankTransactionId !== null && { bankTransactionId }),
        ...(refundId !== null && { refundId }),
        networkReference: reference,
        networkAmount: amount.toString(),
        networkCurrency: currency,
        ...(opened[n]?.exceptionId !== undefined && { exceptionId: opened[n].exceptionId }),
      })),
    );
    return true;
  });
}

/** A bank keeps the business days of the country of its customers. */
const REACHES = `
  SELECT r.key AS currency, max(r.value) AS day,
    (SELECT country FROM customers WHERE bank_id = :bankId ORDER BY id LIMIT 1) AS country
  FROM bank_statements s, jsonb_each_text(s.reaches) AS r
  WHERE s.bank_id = :bankId AND (s.status = 'completed' OR s.id = :statementId) GROUP BY 1`;

/** A page of the bookings that the bank's files have passed. */
async function overdue(
  db: Executor,
  bankId: string,
  statementId: string,
  bookingDays: number,
): Promise<Booking[]> {
  const reaches = await rows<{ currency: string; day: string; country: string | null }>(db, REACHES, {
    bankId,
    statementId,
  });
  const due = new Map(
    reaches.map(({ currency, day, country }) => [
      currency,
      businessDaysBefore(day, bookingDays, country ?? ''),
    ]),
  );
  return rows<Booking>(
    db,
    `SELECT ${BOOKING} FROM expected_bookings e
       LEFT JOIN unnest(:currencies::text[], :days::date[]) AS r (currency, day) ON r.currency = e.currency
     WHERE e.bank_id = :bankId AND ${IS_IN_NO_FILE} AND e.settlement_day <= greatest(r.day, :ofAll::date)
       AND e.settlement_day >= (
         SELECT begins FROM bank_statements WHERE bank_id = :bankId AND begins IS NOT NULL
         ORDER BY recorded_at, id LIMIT 1)
     ORDER BY e.settlement_day, e.identifier LIMIT ${PAGE}`,
    { bankId, currencies: [...due.keys()], days: [...due.values()], ofAll: due.get('*') ?? null },
  );
}

/** One UPDATE decides: a booking may have ended since it was found. */
const MAKE_MISSING = `
  WITH missing AS (
    UPDATE expected_bookings e SET told_in = :statementId
    FROM unnest(:by::text[], :identifiers::text[]) AS d (identified_by, identifier)
    WHERE e.bank_id = :bankId AND e.identified_by = d.identified_by AND e.identifier = d.identifier AND ${IS_IN_NO_FILE}
    RETURNING ${BOOKING}, e.settlement_day AS day)
  SELECT m."identifiedBy", m.identifier, m.direction, m.amount, m.currency, m."billingRequestId", m."refundId",
    coalesce(r.reference, b.reference) AS reference
  FROM missing m JOIN billing_requests b ON b.id = m."billingRequestId" LEFT JOIN refunds r ON r.id = m."refundId"
  ORDER BY m.day, m.identifier`;

/** @returns how many were counted before */
async function countMissing(trx: Transaction, statementId: string, more: number): Promise<number> {
  const { before } = await oneRow<{ before: number }>(
    trx,
    `UPDATE bank_statements SET missing_at_bank = missing_at_bank + :more WHERE id = :statementId
     RETURNING missing_at_bank - :more::int AS before`,
    { statementId, more },
  );
  return before;
}

/** A next file tells again what there was no room for an exception of. */
const TELL_AGAIN = `
  UPDATE expected_bookings e SET told_in = NULL
  FROM bank_statement_differences d, jsonb_array_elements(d.differences) AS v, bank_statements s, billing_requests b
  WHERE s.id = :statementId AND d.statement_id = s.id AND NOT v ? 'exceptionId'
    AND v->>'difference' IN ('missing_at_bank', 'amount_differs') AND b.id = v->>'billingRequestId' AND e.bank_id = s.bank_id AND e.told_in = s.id
    AND e.identified_by = CASE WHEN v ? 'bankTransactionId' THEN 'bankTransactionId' ELSE 'reference' END
    AND e.identifier = coalesce(v->>'bankTransactionId', b.reference)`;

async function end(trx: Transaction, statementId: string, status: 'completed' | 'failed'): Promise<false> {
  await rows(trx, TELL_AGAIN, { statementId });
  await row(
    trx,
    `UPDATE bank_statements SET status = :status, ended_at = clock_timestamp() WHERE id = :statementId`,
    { statementId, status },
  );
  await rows(trx, `DELETE FROM bank_statement_told WHERE statement_id = :statementId`, { statementId });
  return false;
}
