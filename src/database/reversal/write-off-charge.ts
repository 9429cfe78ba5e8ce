import { entryOf, type Payment } from '../../domain/books/ledger';
import { postEntries } from '../ledger/post-entries';
import type { Executor } from '../pool/connection';
import { raw, sql } from '../pool/statement';

/**
 * Losses that the network bears. A charge that a file of its bank has after all takes its write-off
 * back. The callers hold the charge locked.
 */

/** SQL: whether a file has the debit of a charge `b`: nothing of it can be written off. */
export const DEBIT_IS_BOOKED = `EXISTS (
  SELECT FROM expected_bookings e WHERE e.bank_id = b.bank_id AND e.identified_by = 'bankTransactionId'
    AND e.identifier = b.bank_transaction_id AND e.direction = 'debit' AND e.matched_by IS NOT NULL)`;

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
  const borne = await borneByNetwork(trx, billingRequestId);
  const left = await trx.row<Payment>`
    SELECT amount - ${borne.toString()}::bigint AS amount, currency, bank_id, merchant_id, biller_id FROM (
      SELECT least(max(x.written_off), b.amount - b.refunded_amount - b.reversed_amount)::bigint AS amount,
        b.currency, b.bank_id, b.merchant_id, b.biller_id
      FROM billing_requests b JOIN reconciliation_exceptions x ON x.billing_request_id = b.id
      WHERE b.id = ${billingRequestId} AND b.status = 'successful'
        AND (x.kind = 'amount_differs' OR NOT ${raw(DEBIT_IS_BOOKED)}) GROUP BY b.id) AS written_off
    WHERE amount > ${borne.toString()}::bigint`;
  if (left) await postEntries(trx, [entryOf({ kind: 'write_off', resourceId, settledAt: at, paid: left })]);
  await countWrittenOff(trx, billingRequestId);
}

/** Posts the contra of each write-off of a charge, once a file of its bank has the debit. */
export async function takeBackWriteOff(trx: Executor, billingRequestId: string): Promise<void> {
  // A reversal gives back what was written off before.
  if ((await borneByNetwork(trx, billingRequestId)) === 0n) return;
  const borne = await trx.rows<Payment & { resourceId: string; at: Date }>`
    SELECT e.resource_id, p.amount, b.currency, b.bank_id, b.merchant_id, b.biller_id, settling_now(b.biller_id) AS at
    FROM billing_requests b, ${entriesOf(billingRequestId)} AS of
      JOIN ledger_entries e ON e.resource_id = of.id AND e.kind = 'write_off'
      JOIN ledger_postings p ON p.entry_id = e.id AND p.account = 'disputed'
    WHERE b.id = ${billingRequestId}`;
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
  const borne = await borneByNetwork(trx, billingRequestId);
  await trx.rows`
    UPDATE billing_requests b SET written_off_amount = w.amount
    FROM (
      SELECT least(c.amount - c.refunded_amount - c.reversed_amount, ${borne.toString()}::bigint + coalesce((
        SELECT sum(r.amount) FROM refunds r WHERE r.billing_request_id = c.id AND r.status IN ('rejected', 'returned')
          AND EXISTS (SELECT FROM reconciliation_exceptions x
            WHERE x.refund_id = r.id AND x.resolution = 'written_off')), 0))::bigint AS amount
      FROM billing_requests c WHERE c.id = ${billingRequestId}) AS w
    WHERE b.id = ${billingRequestId} AND b.written_off_amount <> w.amount`;
}

/** SQL: resources of entries that write off a charge, or take that back. */
const entriesOf = (billingRequestId: string) => sql`(
  SELECT id FROM reconciliation_exceptions WHERE billing_request_id = ${billingRequestId}
  UNION ALL SELECT id FROM refunds WHERE billing_request_id = ${billingRequestId}
  UNION ALL SELECT transaction_id FROM reversals WHERE billing_request_id = ${billingRequestId})`;

export async function borneByNetwork(trx: Executor, billingRequestId: string): Promise<bigint> {
  const { amount } = await trx.oneRow<{ amount: bigint }>`
    SELECT coalesce(sum(CASE p.direction WHEN 'debit' THEN p.amount ELSE -p.amount END), 0)::bigint AS amount
    FROM ${entriesOf(billingRequestId)} AS of
      JOIN ledger_entries e ON e.resource_id = of.id
      JOIN ledger_postings p ON p.entry_id = e.id AND p.account = 'disputed'`;
  return amount;
}
