import { entryOf, type Payment } from '../../domain/books/ledger';
import { postEntries } from '../ledger/post-entries';
import type { Executor } from '../pool/connection';
import { raw } from '../pool/statement';

/**
 * Losses that the network bears. A charge that a file of its bank has after all takes its write-off
 * back. The callers hold the charge locked.
 */

/** SQL: whether a file has the debit of a charge `b`: nothing of it can be written off. */
export const DEBIT_IS_BOOKED = `EXISTS (
  SELECT FROM expected_bookings e
  WHERE e.billing_request_id = b.id AND e.direction = 'debit' AND e.matched_by IS NOT NULL)`;

/** SQL: what entries about charges leave in `disputed`: the network bears it. */
export const BORNE = `
  SELECT o.charge, o.id, e.kind, CASE p.direction WHEN 'debit' THEN p.amount ELSE -p.amount END AS amount
  FROM (SELECT billing_request_id AS charge, id FROM reconciliation_exceptions
        UNION ALL SELECT billing_request_id, id FROM refunds
        UNION ALL SELECT billing_request_id, transaction_id FROM reversals) AS o
    JOIN ledger_entries e ON e.resource_id = o.id
    JOIN ledger_postings p ON p.entry_id = e.id AND p.account = 'disputed'`;

/** SQL: the sum of that for a charge `b`. */
export const BORNE_OF_CHARGE = `
  coalesce((SELECT sum(amount) FROM (${BORNE}) AS borne WHERE charge = b.id), 0)::bigint`;

/**
 * Writes off what the bank of a successful charge no longer owes, at most the rest of the charge.
 * Successive exceptions are about the same money, so only the largest counts. The part that the
 * network bears already is not written off again.
 *
 * @param resourceId of the exception, or of the rejected or returned refund whose amount is free
 *   again
 */
export async function writeOffRest(
  trx: Executor,
  { resourceId, billingRequestId, at }: { resourceId: string; billingRequestId: string; at: Date },
): Promise<void> {
  const left = await trx.row<Payment>`
    SELECT amount - borne AS amount, currency, bank_id, merchant_id, biller_id FROM (
      SELECT least(max(x.written_off), b.amount - b.refunded_amount - b.reversed_amount)::bigint AS amount,
        ${raw(BORNE_OF_CHARGE)} AS borne, b.currency, b.bank_id, b.merchant_id, b.biller_id
      FROM billing_requests b JOIN reconciliation_exceptions x ON x.billing_request_id = b.id
      WHERE b.id = ${billingRequestId} AND b.status = 'successful'
        AND (x.kind = 'amount_differs' OR NOT ${raw(DEBIT_IS_BOOKED)}) GROUP BY b.id) AS written_off
    WHERE amount > borne`;
  if (left) await postEntries(trx, [entryOf({ kind: 'write_off', resourceId, settledAt: at, paid: left })]);
  await countWrittenOff(trx, billingRequestId);
}

/** Posts the contra of each write-off of a charge, once a file of its bank has the debit. */
export async function takeBackWriteOff(trx: Executor, billingRequestId: string): Promise<void> {
  // Once a reversal has credited `disputed`, `BORNE_OF_CHARGE` is zero, and no contra is due.
  const borne = await trx.rows<Payment & { resourceId: string; at: Date }>`
    SELECT w.id AS resource_id, w.amount, b.currency, b.bank_id, b.merchant_id, b.biller_id, settling_now(b.biller_id) AS at
    FROM billing_requests b JOIN (${raw(BORNE)}) AS w ON w.charge = b.id AND w.kind = 'write_off'
    WHERE b.id = ${billingRequestId} AND ${raw(BORNE_OF_CHARGE)} <> 0`;
  const contras = borne.map(({ resourceId, at, ...paid }) =>
    entryOf({ kind: 'write_off_return', resourceId, settledAt: at, paid }),
  );
  await postEntries(trx, contras);
  await countWrittenOff(trx, billingRequestId);
}

/**
 * Counts what cannot be refunded: the part of a charge that the network bears, and each refund that
 * did not settle here, and was written off.
 */
export async function countWrittenOff(trx: Executor, billingRequestId: string): Promise<void> {
  await trx.rows`
    UPDATE billing_requests c SET written_off_amount = w.amount
    FROM (
      SELECT least(b.amount - b.refunded_amount - b.reversed_amount, ${raw(BORNE_OF_CHARGE)} + coalesce((
        SELECT sum(r.amount) FROM refunds r WHERE r.billing_request_id = b.id AND r.status IN ('rejected', 'returned')
          AND EXISTS (SELECT FROM reconciliation_exceptions x
            WHERE x.refund_id = r.id AND x.resolution = 'written_off')), 0))::bigint AS amount
      FROM billing_requests b WHERE b.id = ${billingRequestId}) AS w
    WHERE c.id = ${billingRequestId} AND c.written_off_amount <> w.amount`;
}
