import type { Metadata } from '../../domain/metadata';
import type { WebhookItem } from '../../domain/webhook/webhook-item';
import { chargeClosedSequence, chargeEndSequence } from '../../domain/webhook/webhook-sequence';
import type { Executor } from '../pool/connection';
import { raw } from '../pool/statement';
import type { AuditEvent } from '../record/event';
import { expectCredits } from '../credit/follow-credit';
import type { Keyring } from '../keyring/keyring';
import { makePaymentId } from '../agreement/payment-id';
import { announce, perBatch } from '../webhook/announce-webhooks';

/** A merchant or its provider closes a charge by cancelling it. */
export type ClosedBy = 'bank' | 'network' | 'merchant' | 'provider';

export interface Outcome {
  id: string;
  reference: string;
  batchId: string;
  merchantId: string | null;
  /** The merchant, or the payee's bank. */
  ownerId: string;
  payeeLookupId: string | null;
  customerId: string;
  bankId: string;
  lookupId: string;
  agreementId: string | null;
  paymentIdKey: string | null;
  scheduleId: string | null;
  amount: bigint;
  currency: string;
  status: 'successful' | 'declined';
  declineReason: string | null;
  bankTransactionId: string | null;
  answerAction: string | null;
  countedDay: string | null;
  countedMonth: string | null;
  sequence: number;
  workflowId: string;
  /** The workflow is waiting, and has to be signalled at the end. */
  waiting: boolean;
  closedAt: Date | null;
  closedBy: ClosedBy | null;
  metadata: Metadata;
}

export const OUTCOME_COLUMNS = `b.id, b.reference, b.batch_id, b.merchant_id, b.owner_id, b.payee_lookup_id,
  b.customer_id, b.bank_id, b.lookup_id, b.agreement_id,
  (SELECT payment_id_key FROM agreements WHERE id = b.agreement_id) AS payment_id_key, b.schedule_id,
  b.amount, b.currency, b.status, b.decline_reason, b.bank_transaction_id, b.answer_action,
  b.counted_day::text AS counted_day, b.counted_month::text AS counted_month, b.sequence, b.workflow_id,
  b.waiting, b.closed_at, b.closed_by, b.metadata`;

export async function announceDeclinedAtOnce(
  trx: Executor,
  billingRequestIds: string[],
  cause: AuditEvent['cause'],
): Promise<void> {
  const ended = await trx.rows<Outcome>`
    SELECT ${raw(OUTCOME_COLUMNS)} FROM billing_requests b WHERE b.id = ANY(${billingRequestIds})`;
  await announceOutcomes(trx, ended, cause, new Set());
}

/**
 * Tells both sides how charges ended; the payer's bank only of ends that it did not cause. A
 * payee's bank is told of money to credit in a webhook of its own kind.
 *
 * @param undelivered charges that the payer's bank was not asked for, nor will be
 */
export async function announceOutcomes(
  trx: Executor,
  closed: Outcome[],
  cause: AuditEvent['cause'],
  undelivered: ReadonlySet<string>,
): Promise<void> {
  const endSequence = (request: Outcome) => chargeEndSequence(request, !undelivered.has(request.id));
  const credits = closed.filter(isCredit);
  const credited = (request: Credit): WebhookItem<'billing.credit'> => ({
    billingRequestId: request.id,
    sequence: endSequence(request),
    reference: request.reference,
    amount: request.amount,
    currency: request.currency,
    lookupID: request.payeeLookupId,
    payerBankId: request.bankId,
    bankTransactionId: request.bankTransactionId,
  });
  const answered = (request: Outcome): WebhookItem<'billing.response'> => ({
    billingRequestId: request.id,
    sequence: endSequence(request),
    reference: request.reference,
    ...payerAsBilled(trx.keyring, request),
    amount: request.amount,
    currency: request.currency,
    customerAction: request.status === 'successful' ? 'approved' : 'declined',
    status: request.status,
    declineReason: request.declineReason,
    scheduleId: request.scheduleId,
    metadata: request.merchantId === null ? undefined : request.metadata,
  });
  const ended = (request: Unanswered): WebhookItem<'billing.closed'> => ({
    billingRequestId: request.id,
    sequence: chargeClosedSequence(request, !undelivered.has(request.id)),
    reference: request.reference,
    status: 'declined',
    declineReason: request.declineReason,
  });
  const answers = closed.filter((request) => !isCredit(request));
  // A bank is told of an end that it did not cause, if it was asked at all.
  const unanswered = cause === 'bank' ? [] : closed.filter(isUnanswered);
  const toPayeeBanks = perBatch('billing.credit', credits, 'ownerId', credited);
  const toBillers = perBatch('billing.response', answers, 'ownerId', answered);
  const toBanks = perBatch('billing.closed', unanswered, 'bankId', ended);
  const deliveryIds = await announce(trx, [...toPayeeBanks, ...toBillers, ...toBanks]);
  await expectCredits(
    trx,
    credits,
    credits.map(({ id }) => {
      const at = toPayeeBanks.findIndex(({ items }) => items.some((item) => item.billingRequestId === id));
      return deliveryIds[at] ?? '';
    }),
  );
}

type Credit = Outcome & { payeeLookupId: string; bankTransactionId: string };

const isCredit = (one: Outcome): one is Credit =>
  one.payeeLookupId !== null && one.bankTransactionId !== null;

type Unanswered = Outcome & { declineReason: string };

const isUnanswered = (one: Outcome): one is Unanswered =>
  one.declineReason !== null && one.declineReason !== 'limit_reached';

function payerAsBilled(keyring: Keyring, { agreementId, paymentIdKey, ownerId, lookupId }: Outcome) {
  return agreementId !== null && paymentIdKey !== null
    ? { paymentID: makePaymentId(keyring, paymentIdKey, agreementId, ownerId), lookupID: undefined }
    : { paymentID: undefined, lookupID: lookupId };
}
