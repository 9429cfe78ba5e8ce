import { Failure } from '../../domain/failures';
import type { RefundStatus } from '../../domain/lifecycle';
import type { Cause } from '../../domain/words/timeline';
import { claimBankTransaction } from '../ledger/claim-bank-transaction';
import type { Executor, Transaction } from '../pool/connection';
import { writeTransitions } from '../transition/write-transition';
import { takePart } from './refundable-amount';
import { freePart } from './return-refund';
import { endOf, ENDED_COLUMNS, type EndedRefund } from './settle-refund';

/**
 * Refunds that the end of an exception settles. The bank has paid a refund that it had rejected, or
 * has never answered. The callers hold the charge locked.
 */

export interface RefundInDoubt {
  exceptionId: string;
  billingRequestId: string;
  refundId: string;
  bankId: string;
  refundStatus: RefundStatus | null;
  /** The refund's amount. */
  atStake: bigint;
  stakeCurrency: string;
}

/**
 * Takes the amount of a refund that is paid all the same, and claims the bank's transaction of it.
 *
 * @param named the transaction; null for the only one that a file or an answer has
 * @throws Failure resolution_not_allowed (it is not known which); duplicate_transaction_id;
 *   exceeds_remaining (`data.left` in minor units of `data.currency`)
 */
export async function takePayment(trx: Executor, one: RefundInDoubt, named: string | null): Promise<string> {
  const { exceptionId, billingRequestId, refundId, bankId, refundStatus } = one;
  const { atStake: amount, stakeCurrency: currency } = one;
  const known = await trx.rows<{ id: string }>`
    SELECT DISTINCT id FROM (
      SELECT e.bank_transaction_id AS id FROM extra_bookings e JOIN refunds r ON r.id = e.refund_id
      WHERE e.billing_request_id = ${billingRequestId} AND e.refund_id = ${refundId} AND e.stands
        AND (e.amount, e.currency) = (r.amount, r.currency)
      UNION ALL
      SELECT bank_transaction_id FROM exception_answers
      WHERE exception_id = ${exceptionId} AND says = 'completed' AND kind <> 'duplicate_transaction_id') AS known
    WHERE id IS NOT NULL LIMIT 2`;
  const bankTransactionId = named ?? (known.length === 1 ? known[0]?.id : undefined);
  if (bankTransactionId === undefined) {
    const message = `The bank has ${known.length === 0 ? 'no' : 'more than one'} known transfer of it: name it by bankTransactionId.`;
    throw new Failure('resolution_not_allowed', message);
  }
  if (!(await claimBankTransaction(trx, { bankId, bankTransactionId, resourceId: refundId }))) {
    const message = 'This bankTransactionId belongs to another transaction: send that of the refund.';
    throw new Failure('duplicate_transaction_id', message);
  }
  // An open refund has taken its amount.
  if (refundStatus !== 'rejected') return bankTransactionId;
  const { part, untaken, held } = await takePart(trx, billingRequestId, amount, amount);
  if (part !== null) return bankTransactionId;
  const left = untaken > held ? untaken - held : 0n;
  const message = 'Less than that is left of its charge: reverse the transfer, or have it written off.';
  throw new Failure('exceeds_remaining', message, { data: { left, currency } });
}

/**
 * Completes a refund that is rejected or open, or rejects an open refund. The merchant is told as
 * of any end.
 *
 * @param paidBy the bank's transaction; null where it is rejected
 */
export async function settleRefundByWord(
  trx: Transaction,
  cause: Cause,
  refundId: string,
  paidBy: string | null,
): Promise<void> {
  const ended = await trx.row<EndedRefund>`
    UPDATE refunds SET status = CASE WHEN ${paidBy}::text IS NULL THEN 'rejected' ELSE 'completed' END,
      bank_transaction_id = ${paidBy}, reject_reason = NULL, was_rejected = (status = 'rejected'), acts_at = NULL,
      closed_at = settling_now(merchant_id), sequence = sequence + 1
    WHERE id = ${refundId} AND (status = 'pending' OR (status = 'rejected' AND ${paidBy}::text IS NOT NULL))
    RETURNING ${ENDED_COLUMNS}`;
  if (!ended) return;
  await writeTransitions(trx, endOf(ended, cause));
  if (paidBy === null) await freePart(trx, cause, ended);
}
