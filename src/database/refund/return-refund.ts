import type { Metadata } from '../../domain/metadata';
import {
  refundReturnedToBankSequence,
  refundReturnedToMerchantSequence,
} from '../../domain/webhook/webhook-sequence';
import type { Transaction } from '../pool/connection';
import { raw } from '../pool/statement';
import type { Cause } from '../../domain/words/timeline';
import { newId, newReference } from '../identifier/new-id';
import { settleFreedPart } from '../reversal/reverse-charge';
import type { TypedAnnouncement } from '../transition/transition';
import { writeTransitions } from '../transition/write-transition';
import { REFUND_COLUMNS, type RefundRecord } from './accept-refund';

/**
 * Returns a completed refund whose money came back to the bank, as an exception has found. The
 * refund becomes `returned`, a contra entry of today reverses its first entry, and its amount can
 * be refunded again. The callers hold the charge locked.
 */

export async function returnRefund(
  trx: Transaction,
  cause: Cause,
  { exceptionId, refundId }: { exceptionId: string; refundId: string },
): Promise<void> {
  const transactionId = newId('transaction');
  const returnReference = newReference();
  const returned = await trx.row<RefundRecord & { at: Date }>`
    UPDATE refunds SET status = 'returned', returned_at = settling_now(merchant_id),
      returned_by = ${exceptionId},
      return_transaction_id = ${transactionId}, return_reference = ${returnReference}, sequence = sequence + 1
    WHERE id = ${refundId} AND status = 'completed' RETURNING ${raw(REFUND_COLUMNS)}, returned_at AS at`;
  if (!returned) return;
  await writeTransitions(trx, {
    event: 'refund.returned',
    cause,
    row: { ...returned, id: refundId },
    details: { exceptionId, transactionId, returnReference },
    entry: {
      kind: 'refund_return',
      resourceId: transactionId,
      paid: { ...returned, billerId: returned.merchantId },
    },
    announces: { 'refund.returned': toBothSides(returned) },
  });
  await freePart(trx, cause, returned);
}

/**
 * Gives the charge back the amount of a refund that did not reach the customer. If the charge's own
 * money did not stay either, that part is reversed or written off.
 */
export async function freePart(
  trx: Transaction,
  cause: Cause,
  refund: RefundRecord & { at: Date },
): Promise<void> {
  const { billingRequestId, amount } = refund;
  await trx.rows`
    UPDATE billing_requests SET refunded_amount = refunded_amount - ${amount.toString()}
    WHERE id = ${billingRequestId}`;
  await settleFreedPart(trx, cause, refund);
}

function toBothSides(
  refund: RefundRecord,
): [TypedAnnouncement<'refund.returned'>, TypedAnnouncement<'refund.returned'>] {
  const { refundId, reference, originalReference, amount, currency } = refund;
  const status = 'returned';
  const to = (entityId: string, sequence: number, metadata?: Metadata) => ({
    entityId,
    item: { refundId, sequence, reference, originalReference, amount, currency, status, metadata } as const,
  });
  return [
    to(refund.merchantId, refundReturnedToMerchantSequence(refund), refund.metadata),
    to(refund.bankId, refundReturnedToBankSequence(refund)),
  ];
}
