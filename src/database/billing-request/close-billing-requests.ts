import { reasonForAudit } from '../../domain/charge';
import type { Metadata } from '../../domain/metadata';
import type { Limit } from '../../domain/spending-limit';
import { chargeClosedSequence, chargeEndSequence } from '../../domain/webhook/webhook-sequence';
import type { Cause } from '../../domain/words/timeline';
import { alignSpending } from '../agreement/spending-limit';
import { makePaymentId } from '../agreement/payment-id';
import { expectCredits } from '../credit/follow-credit';
import { newId } from '../identifier/new-id';
import type { Keyring } from '../keyring/keyring';
import { fileHas } from '../bank-file/find-bookings';
import { judgeBookings } from '../bank-file/judge-bookings';
import type { Executor } from '../pool/connection';
import { signalAnswered } from '../schedule/write-schedules';
import type { TypedAnnouncement, Transition } from '../transition/transition';
import { writeTransitions } from '../transition/write-transition';

/** A merchant or its provider closes a charge by cancelling it, or by giving up its agreement. */
export type ClosedBy = 'bank' | 'network' | 'merchant' | 'provider';

export interface Outcome {
  id: string;
  reference: string;
  batchId: string;
  merchantId: string | null;
  /** The merchant, or the payee's bank. */
  billerId: string;
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
  declinedLimit: Limit | null;
  bankTransactionId: string | null;
  answerAction: string | null;
  sequence: number;
  workflowId: string;
  /** The workflow is waiting, and has to be signalled at the end. */
  waiting: boolean;
  closedAt: Date;
  closedBy: ClosedBy;
  metadata: Metadata;
}

export const OUTCOME_COLUMNS = `b.id, b.reference, b.batch_id, b.merchant_id, b.biller_id, b.payee_lookup_id,
  b.customer_id, b.bank_id, b.lookup_id, b.agreement_id,
  (SELECT payment_id_key FROM agreements WHERE id = b.agreement_id) AS payment_id_key, b.schedule_id,
  b.amount, b.currency, b.status, b.decline_reason, b.declined_limit, b.bank_transaction_id, b.answer_action,
  b.sequence, b.workflow_id, b.waiting, b.closed_at, b.closed_by, b.metadata`;

/** SQL: an ended charge `b`. */
export const ENDED_COLUMNS = `${OUTCOME_COLUMNS}, ${fileHas('b', 'id')}`;

/** SQL: the bank has approved a charge `b` under an id that it had used: money may have moved. */
export const MAY_HAVE_PAID = `EXISTS (
  SELECT FROM reconciliation_exceptions x WHERE x.billing_request_id = b.id AND x.state <> 'resolved')`;

export type Ended = Outcome & {
  /** A file of the bank has lines that its end may explain. */
  isInFile: boolean;
};

/** Judges ended charges by the lines that a bank's file had of them before. */
export const judgeClosed = (trx: Executor, closed: Ended[]) =>
  judgeBookings(
    trx,
    closed.filter(({ isInFile }) => isInFile).map(({ id }) => id),
  );

interface End {
  cause: Cause;
  /** Charges that the payer's bank was not asked for, nor will be. */
  undelivered?: ReadonlySet<string>;
  /** Left out if the workflow that waits ends the charges itself. */
  signal?: 'bankAnswered' | 'cancelled';
  /** Also of an end that a bank caused: otherwise than by its answer to the charge. */
  tellsPayersBank?: true;
  /** For the events. */
  details?: Record<string, unknown>;
}

/** Completes every end: writes the transitions, and gives back what declined charges took. */
export async function close(trx: Executor, closed: Outcome[], end: End): Promise<void> {
  const declined = closed.flatMap(({ id, status, agreementId }) =>
    status === 'declined' && agreementId !== null ? [id] : [],
  );
  const credits = closed.filter(isCredit).map(({ id }) => ({ id, deliveryId: newId('delivery') }));
  const deliveryOf = new Map(credits.map(({ id, deliveryId }) => [id, deliveryId]));
  await Promise.all([
    writeTransitions(
      trx,
      closed.map((charge) => endOf(trx.keyring, charge, end, deliveryOf.get(charge.id))),
    ),
    alignSpending(trx, declined),
    expectCredits(trx, credits),
    ...closed.map(({ scheduleId }) => end.signal && scheduleId !== null && signalAnswered(trx, scheduleId)),
  ]);
}

/**
 * Tells both sides of an end; the payer's bank only if it did not cause it. A payee's bank is told
 * of money to credit in a webhook of its own kind.
 */
function endOf(keyring: Keyring, charge: Outcome, end: End, deliveryId = ''): Transition {
  const { id: billingRequestId, reference, amount, currency, status, declineReason, scheduleId } = charge;
  const { batchId, workflowId, bankTransactionId, declinedLimit } = charge;
  const sequence = chargeEndSequence(charge, !end.undelivered?.has(billingRequestId));
  const toBiller = { entityId: charge.billerId, batchId, workflowId };
  const item = { billingRequestId, sequence, reference, amount, currency };
  const answered = {
    ...item,
    ...payerAsBilled(keyring, charge),
    customerAction: status === 'successful' ? 'approved' : 'declined',
    status,
    declineReason,
    limit: declinedLimit ?? undefined,
    scheduleId,
    metadata: charge.merchantId === null ? undefined : charge.metadata,
  } as const;
  const response = { 'billing.response': { ...toBiller, item: answered } };
  const ended = {
    cause: end.cause,
    row: { ...charge, at: charge.closedAt },
    details: {
      ...end.details,
      declineReason: declineReason && reasonForAudit(declineReason),
      ...(declinedLimit && { limit: declinedLimit }),
    },
    wakes: end.signal && scheduleId === null ? { ...charge, signal: end.signal } : null,
  };
  if (status === 'declined') {
    const announces = { ...response, 'billing.closed': toPayersBank(charge, end) };
    return { event: 'billing_request.declined', ...ended, announces };
  }
  const entry = {
    kind: 'charge',
    paid: charge,
    booked: { identifier: bankTransactionId, billingRequestId },
  } as const;
  const debited = { event: 'billing_request.successful', ...ended, entry } as const;
  if (!isCredit(charge)) return { ...debited, announces: response };
  const { payeeLookupId: lookupID, bankId: payerBankId } = charge;
  const credit = { ...item, lookupID, payerBankId, bankTransactionId: charge.bankTransactionId };
  return { ...debited, announces: { 'billing.credit': { ...toBiller, deliveryId, item: credit } } };
}

/** A bank is told of an end that it did not cause, if it was asked at all. */
function toPayersBank(
  charge: Outcome,
  { cause, undelivered, tellsPayersBank }: End,
): TypedAnnouncement<'billing.closed'> | undefined {
  const { id: billingRequestId, reference, declineReason, bankId: entityId, batchId, workflowId } = charge;
  const isItsAnswer = cause === 'bank' && !tellsPayersBank;
  if (isItsAnswer || declineReason === null || declineReason === 'limit_reached') return undefined;
  const sequence = chargeClosedSequence(charge, !undelivered?.has(charge.id));
  const item = { billingRequestId, sequence, reference, status: 'declined', declineReason } as const;
  return { entityId, batchId, workflowId, item };
}

type Credit = Outcome & { payeeLookupId: string; bankTransactionId: string };

const isCredit = (one: Outcome): one is Credit =>
  one.payeeLookupId !== null && one.bankTransactionId !== null;

function payerAsBilled(keyring: Keyring, { agreementId, paymentIdKey, billerId, lookupId }: Outcome) {
  return agreementId !== null && paymentIdKey !== null
    ? { paymentID: makePaymentId(keyring, paymentIdKey, agreementId, billerId), lookupID: undefined }
    : { paymentID: undefined, lookupID: lookupId };
}
