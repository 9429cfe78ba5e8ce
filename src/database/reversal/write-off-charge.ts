import { entryOf, type Payment } from '../../domain/books/ledger';
import { postEntries } from '../ledger/post-entries';
import type { Executor } from '../pool/connection';

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
      WHERE b.id = ${billingRequestId} AND b.status = 'successful' GROUP BY b.id) AS written_off
    WHERE amount > ${borne.toString()}::bigint`;
  if (!left) return;
  await postEntries(trx, [entryOf({ kind: 'write_off', resourceId, settledAt: at, paid: left })]);
}

export async function borneByNetwork(trx: Executor, billingRequestId: string): Promise<bigint> {
  const { amount } = await trx.oneRow<{ amount: bigint }>`
    SELECT coalesce(sum(CASE p.direction WHEN 'debit' THEN p.amount ELSE -p.amount END), 0)::bigint AS amount
    FROM (SELECT id FROM reconciliation_exceptions WHERE billing_request_id = ${billingRequestId}
          UNION ALL SELECT id FROM refunds WHERE billing_request_id = ${billingRequestId}
          UNION ALL SELECT transaction_id FROM reversals WHERE billing_request_id = ${billingRequestId}) AS of
      JOIN ledger_entries e ON e.resource_id = of.id
      JOIN ledger_postings p ON p.entry_id = e.id AND p.account = 'disputed'`;
  return amount;
}
