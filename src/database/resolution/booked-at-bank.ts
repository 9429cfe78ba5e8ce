import { Failure } from '../../domain/failures';
import type { Resolution } from '../../domain/books/reconciliation-exception';
import type { Executor } from '../pool/connection';

/** Ends that a bank's own files speak against: a booking is stronger than anybody's word on it. */

interface Ending {
  exceptionId: string;
  billingRequestId: string | null;
  refundId: string | null;
  resolution: Resolution;
  /** Whether the end would say that the charge's or refund's own money did not stay. */
  undoes: boolean;
  /** Whether the end completes the refund, by the very line. */
  pays: boolean;
}

interface Booked {
  /** Whether the bank that is asked has booked it, not the payee's. */
  isOwn: boolean;
  bankTransactionId: string;
  bookingDate: string;
  statementId: string;
}

/** @throws Failure booked_at_bank */
export async function refuseBooked(trx: Executor, ending: Ending): Promise<void> {
  const { exceptionId, billingRequestId, refundId, resolution, undoes, pays } = ending;
  const ignoresExtra = ['no_money_moved', 'no_difference', 'confirmed'].includes(resolution) && !pays;
  const deniesOwn = resolution === 'no_money_moved' && undoes && refundId === null;
  if (billingRequestId === null || !ignoresExtra) return;
  const booked = await trx.row<Booked>`
    SELECT line.bank_id = b.bank_id AS is_own, line.id AS bank_transaction_id, line.booked_on::text AS booking_date,
      line.matched_by AS statement_id
    FROM billing_requests b LEFT JOIN refunds r ON r.id = ${refundId}
      JOIN reconciliation_exceptions x ON x.id = ${exceptionId}, LATERAL (
      SELECT e.bank_id, e.bank_transaction_id AS id, e.booked_on, e.matched_by FROM extra_bookings e
      WHERE e.billing_request_id = b.id AND e.refund_id IS NOT DISTINCT FROM r.id AND e.stands
        -- A line of an open question may yet be its booking.
        AND (coalesce(r.status, b.status) <> 'pending' OR x.kind = 'unanswered')
      UNION ALL
      SELECT e.bank_id, coalesce(e.booked_id, e.identifier), e.booked_on, e.matched_by FROM expected_bookings e
      WHERE ${deniesOwn}::boolean AND e.billing_request_id = b.id AND e.direction = 'debit' AND e.matched_by IS NOT NULL
      UNION ALL
      -- Its debit with another amount is its booking all the same.
      SELECT e.bank_id, e.bank_transaction_id, e.booked_on, e.matched_by FROM extra_bookings e
      WHERE ${deniesOwn}::boolean AND e.billing_request_id = b.id AND e.direction = 'debit' AND e.differs
        AND e.counterpart_id IS NULL) AS line
    WHERE b.id = ${billingRequestId} ORDER BY is_own DESC, line.booked_on, line.id LIMIT 1`;
  if (!booked) return;
  const { isOwn, ...data } = booked;
  const { bankTransactionId, bookingDate, statementId } = data;
  if (!isOwn) {
    // Its ids are no other bank's business.
    const message = `The payee’s bank has another booking, of ${bookingDate}, and nothing takes it back.`;
    throw new Failure('booked_at_bank', message, { data: { bookingDate } });
  }
  const message = `The bank’s file ${statementId} has ${bankTransactionId} of ${bookingDate}, and nothing takes it back.`;
  throw new Failure('booked_at_bank', message, { data });
}
