import { formatInstant } from '../../domain/calendar';
import { reasonForAudit } from '../../domain/charge';
import { Failure } from '../../domain/failures';
import type { RefundStatus } from '../../domain/lifecycle';
import type { WebhookItem } from '../../domain/webhook/webhook-item';
import { refundResponseSequence } from '../../domain/webhook/webhook-sequence';
import type { Moment } from '../../domain/workflow/moment';
import { workflowIds } from '../../domain/workflow/workflow-id';
import type { Executor, Transaction } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { fileHas } from '../bank-file/find-bookings';
import { lockCharges } from '../agreement/agreement';
import { judgeBookings } from '../bank-file/judge-bookings';
import { afterS } from '../clock/moment';
import { shownName } from '../shown-name';
import type { Cause } from '../../domain/words/timeline';
import { endDuplicates, endExplained } from '../reconciliation-exception/end-exceptions';
import { REFUND_COLUMNS, type RefundRecord } from './accept-refund';
import { freePart } from './return-refund';
import { refuseAnswer } from '../reconciliation-exception/refuse-answer';
import type { TypedAnnouncement, Transition } from '../transition/transition';
import { writeTransitions } from '../transition/write-transition';

/** Moves a refund on: by a reminder, or by the bank's answer, which alone can end it. */

export interface RefundAnswer {
  action: 'completed' | 'rejected';
  bankTransactionId: string | null;
  reason: string | null;
}

interface RefundAnswered {
  refundId: string;
  status: RefundStatus;
  /** Whether this answer, or the same one before, caused the status. */
  agreed: boolean;
  /** The answer named a transaction that belongs to something else. */
  duplicate: boolean;
}

/**
 * Takes the bank's answer. Repeating an answer changes nothing and is agreed to again, as is a
 * second rejection. A contradicting answer, or an answer with the id of another transaction, opens
 * a reconciliation exception, for money may have moved. On a returned refund only a transfer by
 * another id may have moved money; other answers are noted.
 *
 * @throws Failure not_found
 */
export async function answerRefund(
  trx: Transaction,
  bankId: string,
  refundId: string,
  answer: RefundAnswer,
): Promise<RefundAnswered> {
  const asked = await trx.row<{ billingRequestId: string }>`
    SELECT billing_request_id FROM refunds WHERE id = ${refundId} AND bank_id = ${bankId}`;
  if (!asked) throw new Failure('not_found', 'There is no such refund.');
  await lockCharges(trx, [asked.billingRequestId]);
  const ended = await end(trx, refundId, answer);
  if (!ended) return answerRefused(trx, refundId, answer);
  await writeTransitions(trx, endOf(ended, 'bank'));
  const isPaid = ended.status === 'completed';
  if (!isPaid) await freePart(trx, 'bank', ended);
  // A line that came before is its booking, so that nothing holds its exceptions open. A
  // rejected refund may raise a reversal that a file has.
  if (ended.isInFile || !isPaid) await judgeBookings(trx, [ended.billingRequestId]);
  if (isPaid) await endDuplicates(trx, ended);
  await endExplained(trx, 'bank', {
    kind: 'unanswered',
    resolution: isPaid ? 'confirmed' : 'no_money_moved',
    billingRequestIds: [ended.billingRequestId],
    refundId,
    ...(isPaid && { beneath: 'duplicate_transaction_id' }),
  });
  return { refundId, status: ended.status, agreed: true, duplicate: false };
}

export type EndedRefund = RefundRecord & {
  status: RefundAnswer['action'];
  at: Date;
  waiting: boolean;
  isInFile: boolean;
};

export function endOf(ended: EndedRefund, cause: Cause): Transition {
  const { refundId, status, rejectReason, billingRequestId, bankTransactionId: identifier } = ended;
  const answered = {
    cause,
    row: { ...ended, id: refundId },
    details: { declineReason: rejectReason && reasonForAudit(rejectReason) },
    announces: { 'refund.response': toMerchant(ended) },
    wakes: { ...ended, signal: 'bankAnswered', workflowId: workflowIds.refund(refundId) },
  } as const;
  if (status === 'rejected') return { event: 'refund.rejected', ...answered };
  const paid = { ...ended, billerId: ended.merchantId };
  const booked = { identifier, billingRequestId, refundId };
  return { event: 'refund.completed', ...answered, entry: { kind: 'refund', paid, booked } };
}

export const ENDED_COLUMNS = sql`${raw(REFUND_COLUMNS)}, closed_at AS at, waiting,
  ${raw(fileHas('refunds', 'billing_request_id'))}`;

/** Ends the refund and claims the bank's transaction in one statement, or neither. */
async function end(
  trx: Executor,
  refundId: string,
  { action, bankTransactionId, reason }: RefundAnswer,
): Promise<EndedRefund | undefined> {
  return trx.row<EndedRefund>`
    WITH asked AS (SELECT id, bank_id FROM refunds WHERE id = ${refundId} AND status = 'pending' FOR UPDATE),
    claimed AS (
      INSERT INTO bank_transactions (bank_id, bank_transaction_id, resource_id)
      SELECT bank_id, ${bankTransactionId}, id FROM asked WHERE ${bankTransactionId}::text IS NOT NULL
      ON CONFLICT DO NOTHING RETURNING resource_id)
    UPDATE refunds SET status = ${action}, bank_transaction_id = ${bankTransactionId}, reject_reason = ${reason},
      acts_at = NULL, closed_at = settling_now(merchant_id), sequence = sequence + 1
    FROM (SELECT asked.id AS ended_id FROM asked LEFT JOIN claimed ON claimed.resource_id = asked.id
          WHERE ${bankTransactionId}::text IS NULL OR claimed.resource_id IS NOT NULL) AS ended
    WHERE id = ended_id RETURNING ${ENDED_COLUMNS}`;
}

async function answerRefused(
  trx: Transaction,
  refundId: string,
  answer: RefundAnswer,
): Promise<RefundAnswered> {
  const found =
    await trx.oneRow<RefundRecord>`SELECT ${raw(REFUND_COLUMNS)} FROM refunds WHERE id = ${refundId}`;
  const { status } = found;
  const { action, bankTransactionId, reason } = answer;
  const isSame = action === 'rejected' || found.bankTransactionId === bankTransactionId;
  const refused = await refuseAnswer(trx, {
    ...found,
    kind: 'refund_conflict',
    says: action,
    bankTransactionId,
    reason,
    repeats: status === action && isSame,
    movesNothing: status === 'returned' && isSame,
  });
  await judgeBookings(trx, [found.billingRequestId]);
  return { refundId, status, ...refused };
}

export type Unreturned = RefundRecord & Pick<WebhookItem<'refund.response'>, 'status'>;

export function toMerchant(refund: Unreturned): TypedAnnouncement<'refund.response'> {
  const { refundId, reference, originalReference, amount, currency, status, overdue } = refund;
  const { merchantId: entityId, rejectReason: reason, expectedBy, metadata } = refund;
  const of = { refundId, sequence: refundResponseSequence(refund), reference, originalReference };
  const item = { ...of, amount, currency, status, overdue, reason, expectedBy, metadata };
  // The workflow of a refund that was rejected first has ended.
  return { entityId, ...(!refund.wasRejected && { workflowId: workflowIds.refund(refundId) }), item };
}

export interface RefundState extends Pick<
  RefundRecord,
  'reference' | 'amount' | 'currency' | 'status' | 'reminders' | 'rejectReason'
> {
  bankName: string;
  /** When the bank is next reminded; null once the refund has ended. */
  next: Moment | null;
  /** Seconds of business time from creation to the end; 0 for an open refund. */
  afterS: number;
}

type StateRow = Omit<RefundState, 'next'> & { inMs: number | null; at: Date | null };

const STATE = `reference, ${shownName('bank_id')} AS bank_name, amount::bigint, currency, status, reminders,
  reject_reason, acts_at AS at,
  ${afterS('refunds')},
  greatest(ceil(extract(epoch FROM acts_at - business_now(merchant_id)) * 1000), 0)::float AS in_ms`;

function stateOf({ inMs, at, ...state }: StateRow): RefundState {
  return { ...state, next: at === null || inMs === null ? null : { inMs, at: formatInstant(at) } };
}

export async function refundState(db: Executor, refundId: string): Promise<RefundState> {
  return stateOf(await db.oneRow<StateRow>`SELECT ${raw(STATE)} FROM refunds WHERE id = ${refundId}`);
}

/**
 * Marks an open refund's workflow as waiting, so that the bank's answer signals it
 * (`signalWaiting`). A refund that is due for a reminder is not marked.
 */
export async function markRefundWaiting(db: Executor, refundId: string): Promise<RefundState> {
  const sleeps = await db.row<StateRow>`
    UPDATE refunds SET waiting = true WHERE id = ${refundId} AND acts_at > business_now(merchant_id)
    RETURNING ${raw(STATE)}`;
  // Read after the UPDATE: a clock that moved before it found no waiting workflow to signal.
  const now = await refundState(db, refundId);
  return sleeps ? { ...stateOf(sleeps), next: now.next ?? stateOf(sleeps).next } : now;
}
