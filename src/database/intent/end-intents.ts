import type { CustomerDecision, IntentStatus } from '../../domain/lifecycle';
import type { Metadata } from '../../domain/metadata';
import { intentClosedSequence } from '../../domain/webhook/webhook-sequence';
import { lockAgreementsWhere } from '../agreement/agreement';
import { windowPassed } from '../clock/window-passed';
import type { Executor } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import type { Cause } from '../../domain/words/timeline';
import type { Keyring } from '../keyring/keyring';
import { groupBy } from '../../domain/group';
import type { Transition } from '../transition/transition';
import { writeTransitions } from '../transition/write-transition';
import { makePaymentId } from '../agreement/payment-id';
import type { StoredLimits } from '../agreement/spending-limit';
import { withdraw } from '../webhook/withdraw-delivery';

/**
 * An ended intent: answered, expired, or superseded by the merchant's next one.
 *
 * As with charges, the answer and the window are one UPDATE each on the same row, over opposite
 * halves of time.
 */
export interface EndedIntent {
  id: string;
  reference: string;
  agreementId: string;
  merchantId: string;
  customerId: string;
  bankId: string;
  lookupId: string;
  batchId: string;
  currency: string;
  status: Exclude<IntentStatus, 'pending'>;
  reason: 'denied' | 'suspended' | 'blocked' | 'expired' | null;
  customerDecision: CustomerDecision | null;
  limits: StoredLimits | null;
  blockMerchant: boolean;
  paymentIdKey: string;
  sequence: number;
  workflowId: string;
  /** The workflow is waiting, and has to be signalled. */
  waiting: boolean;
  closedAt: Date;
  metadata: Metadata;
}

export const ENDED_COLUMNS = `i.id, i.reference, i.agreement_id, i.merchant_id, i.customer_id, i.bank_id,
  i.lookup_id, i.batch_id, i.currency, i.status, i.reason, i.customer_decision,
  to_jsonb(i.limits) AS limits, i.block_merchant,
  (SELECT payment_id_key FROM agreements WHERE id = i.agreement_id) AS payment_id_key, i.sequence,
  i.workflow_id, i.waiting, i.closed_at, i.metadata`;

interface End {
  cause: Cause;
  /** Left out if the workflow that waits ends the intent itself. */
  signal?: 'bankAnswered' | 'intentClosed';
}

/** Completes every end: tells the merchant, and the bank if it did not answer. */
export async function endIntents(trx: Executor, ended: EndedIntent[], end: End): Promise<void> {
  if (ended.length === 0) return;
  // The question is withdrawn if the bank does not have it yet. A superseded intent is announced
  // all the same: the merchant has called, and the sequence numbers give the order.
  const over = end.cause === 'bank' ? [] : ended.filter(({ status }) => status !== 'superseded');
  const undelivered = await withdraw(
    trx,
    'intents',
    over.map(({ id }) => id),
  );
  const asked = groupBy(ended, askedBy);
  await writeTransitions(
    trx,
    ended.map((intent) => {
      const sequence = intentClosedSequence(!undelivered.has(intent.id));
      // A bank's intents share one webhook, which the first intent's workflow carries.
      const { workflowId } = asked.get(askedBy(intent))?.[0] ?? intent;
      return endOf(trx.keyring, intent, end, { sequence, workflowId });
    }),
  );
}

/**
 * Declines an intent whose window has passed. The second of two callers finds nothing to do.
 *
 * @returns whether it ended now
 */
export async function closeExpiredIntent(trx: Executor, intentId: string): Promise<boolean> {
  const asked = sql`a.id = (SELECT agreement_id FROM intents WHERE id = ${intentId})`;
  await lockAgreementsWhere(trx, asked);
  const ended = await trx.rows<EndedIntent>`
    UPDATE intents i SET status = 'declined', reason = 'expired', closed_at = business_now(i.merchant_id),
      sequence = i.sequence + 1
    WHERE i.id = ${intentId} AND i.status = 'pending' AND ${windowPassed(sql`business_now(i.merchant_id)`)}
    RETURNING ${raw(ENDED_COLUMNS)}`;
  await endIntents(trx, ended, { cause: 'network' });
  return ended.length > 0;
}

const askedBy = ({ batchId, bankId }: EndedIntent) => `${batchId} ${bankId}`;

/** @param toBank the number of the bank's webhook, and the workflow that carries it */
function endOf(
  keyring: Keyring,
  intent: EndedIntent,
  { cause, signal }: End,
  toBank: { sequence: number; workflowId: string },
): Transition {
  const { id: intentId, reference, lookupId: lookupID, status, reason, customerDecision } = intent;
  const { agreementId, merchantId, bankId, batchId, workflowId, customerId, currency, metadata } = intent;
  const item = { intentId, sequence: 1, reference, lookupID, reason };
  const paymentID =
    status === 'approved' ? makePaymentId(keyring, intent.paymentIdKey, agreementId, merchantId) : undefined;
  const customerAction = status === 'approved' ? 'approved' : 'declined';
  const ended = {
    cause,
    row: { id: intentId, sequence: intent.sequence, at: intent.closedAt },
    details: { reason, customerDecision },
    wakes: signal ? { ...intent, signal } : null,
  };
  const answer = {
    ...item,
    customerId,
    status,
    customerDecision,
    customerAction,
    currency,
    paymentID,
    metadata,
  } as const;
  const response = { entityId: merchantId, batchId, workflowId, item: answer };
  const announces = { 'billing.intent.response': response };
  if (status === 'approved') return { event: 'intent.approved', ...ended, announces };
  const end = { ...item, sequence: toBank.sequence, status };
  const closed = { entityId: bankId, batchId, workflowId: toBank.workflowId, item: end };
  const both = { ...announces, 'billing.intent.closed': cause === 'bank' ? undefined : closed };
  return { event: `intent.${status}`, ...ended, announces: both };
}
