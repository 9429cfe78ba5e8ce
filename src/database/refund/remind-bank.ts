import { addBusinessDays } from '../../domain/business-day';
import { merchantProfile } from '../entity/read-parties';
import { newId } from '../identifier/new-id';
import type { Executor } from '../pool/connection';
import { raw } from '../pool/statement';
import { writeTransitions } from '../transition/write-transition';
import { openExceptions } from '../reconciliation-exception/open-exceptions';
import { question, REFUND_COLUMNS } from './accept-refund';
import { toMerchant, type Unreturned } from './settle-refund';

/** Reminders that come on successive business days; later ones come every tenth, for good. */
const DAILY_REMINDERS = 10;
/** Business days after `expectedBy` from which on a person has to look. */
const UNANSWERED_AFTER = 10;

/**
 * Asks a late bank again. The first reminder makes the refund overdue and tells the merchant; those
 * from the tenth business day on find an exception, or open it. The second of two callers finds
 * nothing to do.
 */
export async function remindBank(trx: Executor, refundId: string): Promise<void> {
  // The charge is locked before its refund, which is the order everywhere.
  await trx.rows`
    SELECT FROM billing_requests WHERE id = (SELECT billing_request_id FROM refunds WHERE id = ${refundId}) FOR UPDATE`;
  const due = await trx.row<Due>`
    SELECT business_now(r.merchant_id) AS now, r.reminders, r.expected_by, r.merchant_id, c.country,
      b.lookup_id, b.bank_transaction_id
    FROM refunds r JOIN customers c ON c.id = r.customer_id JOIN billing_requests b ON b.id = r.billing_request_id
    WHERE r.id = ${refundId} AND r.acts_at <= business_now(r.merchant_id) FOR UPDATE OF r`;
  if (!due) return;
  const merchant = await merchantProfile(trx, due.merchantId);
  const gap = due.reminders < DAILY_REMINDERS ? 1 : DAILY_REMINDERS;
  const deliveryId = newId('delivery');
  // The refund's workflow runs this, and sees an answer that comes at once.
  const reminded = await trx.oneRow<Unreturned>`
    UPDATE refunds SET overdue = true, reminders = reminders + 1, sequence = sequence + 1,
      acts_at = ${addBusinessDays(due.now, gap, due.country, trx.timeZone)},
      waiting = false, bank_delivery_ids = bank_delivery_ids || ${deliveryId}::text
    WHERE id = ${refundId} RETURNING ${raw(REFUND_COLUMNS)}`;
  const row = { id: refundId, sequence: reminded.sequence, at: due.now };
  const by = { cause: 'network', row } as const;
  const toBank = { 'refund.request': question(reminded, due, merchant, deliveryId) };
  const announces = { ...toBank, 'refund.response': toMerchant(reminded) };
  await writeTransitions(
    trx,
    due.reminders === 0
      ? { event: 'refund.overdue', ...by, announces }
      : { event: 'refund.reminded', ...by, announces: toBank },
  );
  const { billingRequestId } = reminded;
  if (due.now < addBusinessDays(due.expectedBy, UNANSWERED_AFTER, due.country, trx.timeZone)) return;
  await openExceptions(trx, 'network', [{ kind: 'unanswered', billingRequestId, refundId }]);
}

type Due = Record<'merchantId' | 'country' | 'lookupId' | 'bankTransactionId', string> & {
  now: Date;
  expectedBy: Date;
  reminders: number;
};
