import { entryOf } from '../../domain/books/ledger';
import type { Metadata } from '../../domain/metadata';
import {
  refundReturnedToBankSequence,
  refundReturnedToMerchantSequence,
} from '../../domain/webhook/webhook-sequence';
import type { Executor, Transaction } from '../pool/connection';
import { raw } from '../pool/statement';
import { moneyFacts, recordEvents, type AuditEvent } from '../record/event';
import { newId, newReference } from '../identifier/new-id';
import { postEntries } from '../ledger/post-entries';
import { settleFreedPart } from '../reversal/reverse-charge';
import { announce, type Announcement } from '../webhook/announce-webhooks';
import { REFUND_COLUMNS, type RefundRecord } from './accept-refund';

/**
 * Returns a completed refund whose money came back to the bank, as an exception has found. The
 * refund becomes `returned`, a contra entry of today reverses its first entry, and its amount can
 * be refunded again. The callers hold the charge locked.
 */

export async function returnRefund(
  trx: Transaction,
  cause: AuditEvent['cause'],
  of: { exceptionId: string; refundId: string },
): Promise<void> {
  const { exceptionId } = of;
  const transactionId = newId('transaction');
  const returnReference = newReference();
  const returned = await trx.row<RefundRecord & { at: Date }>`
    UPDATE refunds SET status = 'returned', returned_at = settling_now(merchant_id),
      returned_by = ${of.exceptionId},
      return_transaction_id = ${transactionId}, return_reference = ${returnReference}, sequence = sequence + 1
    WHERE id = ${of.refundId} AND status = 'completed' RETURNING ${raw(REFUND_COLUMNS)}, returned_at AS at`;
  if (!returned) return;
  const { refundId, sequence, at } = returned;
  const paid = { ...returned, ownerId: returned.merchantId };
  const entry = entryOf('refund_return', { resourceId: transactionId, settledAt: at }, paid);
  await postEntries(trx, [entry]);
  await recordEvents(trx, [
    {
      resourceId: refundId,
      sequence,
      type: 'refund.returned',
      cause,
      details: { ...moneyFacts(returned), exceptionId, transactionId, returnReference },
      at,
    },
  ]);
  await freePart(trx, cause, { ...returned, at });
  await announceReturn(trx, returned);
}

/**
 * Gives the charge back the amount of a refund that did not reach the customer. If the charge's own
 * money did not stay either, that part is reversed or written off.
 */
export async function freePart(
  trx: Transaction,
  cause: AuditEvent['cause'],
  refund: RefundRecord & { at: Date },
): Promise<void> {
  const { billingRequestId, amount } = refund;
  await trx.rows`
    UPDATE billing_requests SET refunded_amount = refunded_amount - ${amount.toString()}
    WHERE id = ${billingRequestId}`;
  await settleFreedPart(trx, cause, refund);
}

async function announceReturn(trx: Executor, refund: RefundRecord): Promise<void> {
  const { refundId, reference, originalReference, amount, currency } = refund;
  const status = 'returned';
  const to = (entityId: string, sequence: number, metadata?: Metadata): Announcement => ({
    entityId,
    webhookType: 'refund.returned',
    items: [{ refundId, sequence, reference, originalReference, amount, currency, status, metadata }],
  });
  await announce(trx, [
    to(refund.merchantId, refundReturnedToMerchantSequence(refund), refund.metadata),
    to(refund.bankId, refundReturnedToBankSequence(refund)),
  ]);
}
