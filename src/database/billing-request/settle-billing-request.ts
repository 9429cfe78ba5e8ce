import type { BankAnswer } from '../../domain/charge';
import { Failure } from '../../domain/failures';
import type { BillingRequestStatus } from '../../domain/lifecycle';
import { withoutAmounts } from '../../domain/spending-limit';
import { judgeBookings } from '../bank-file/judge-bookings';
import {
  lockAgreementsOf,
  lockAgreementsWhere,
  openAgreements,
  type Agreement,
} from '../agreement/agreement';
import {
  close,
  ENDED_COLUMNS,
  judgeClosed,
  OUTCOME_COLUMNS,
  type ClosedBy,
  type Ended,
  type Outcome,
} from './close-billing-requests';
import type { Executor, Transaction } from '../pool/connection';
import { windowPassed } from '../clock/window-passed';
import { raw, sql } from '../pool/statement';
import { limitsOf } from '../agreement/spending-limit';
import { applyDecision, type NewDecision } from '../decision/apply-decision';
import { endDuplicates, endExplained } from '../reconciliation-exception/end-exceptions';
import { refuseAnswer } from '../reconciliation-exception/refuse-answer';
import { closeExpiredRequests } from './close-expired-requests';

/**
 * Takes banks' answers to charges. `close-expired-requests.ts` has the end of the window,
 * `cancel-billing-request.ts` the merchant's cancellation.
 *
 * Each end asks the same row whether its window has passed (`windowPassed`). Of two racing ends,
 * one finds the row pending on its side of that moment. The other finds no row.
 */

/** The response to the bank: the true status, and whether its answer caused it. */
type AnswerResult = {
  billingRequestId: string;
  /** The answer named a transaction that belongs to something else. */
  duplicate: boolean;
} & (
  | { agreed: true; status: 'successful' | 'declined' }
  /**
   * Another answer, or the window, came first: the bank may have to reverse its debit. Pending if
   * the answer was refused for its transaction id: the bank may answer again.
   */
  | {
      agreed: false;
      status: BillingRequestStatus;
      /** The bank did not end it, nor does a decline repeat a denial. */
      late: boolean;
    }
);

type Answer = BankAnswer & { batchId?: string | undefined; metadata?: Record<string, unknown> | undefined };

/**
 * Takes a bank's answer to a charge. Repeating an answer changes nothing and is agreed to again, as
 * is a second decline. A contradicting answer, a late approval, or an answer with the id of another
 * transaction opens a reconciliation exception, for money may have moved. A late decline is only
 * noted, for it moves no money.
 *
 * @throws Failure not_found; invalid_request (a `batchId` that is not the request's)
 */
export async function answerBillingRequest(
  trx: Transaction,
  bankId: string,
  billingRequestId: string,
  answer: Answer,
): Promise<AnswerResult> {
  const asked = await lockAgreementForAnswer(trx, bankId, billingRequestId, answer);
  if (answer.batchId !== undefined && answer.batchId !== asked.batchId) {
    throw new Failure('invalid_request', 'This billing request belongs to another batch.', {
      problems: [
        { path: 'batchId', message: 'is not the batch of this billing request; leave it out or correct it' },
      ],
    });
  }
  const decided = await decide(trx, billingRequestId, answer);
  if (!decided) {
    if (asked.grants) await trx.query('ROLLBACK TO SAVEPOINT granting');
    return answerRefused(trx, asked, answer);
  }

  await close(trx, [decided], { cause: 'bank', signal: 'bankAnswered' });
  await applyToAgreement(trx, asked, answer);
  await judgeClosed(trx, [decided]);
  if (answer.outcome === 'approved') {
    await endDuplicates(trx, { billingRequestId, refundId: null });
  }
  return { billingRequestId, status: STATUS_AFTER[answer.outcome], agreed: true, duplicate: false };
}

type Asked = Omit<Outcome, 'status' | 'closedBy' | 'closedAt'> & {
  status: BillingRequestStatus;
  closedBy: ClosedBy | null;
  closedAt: Date | null;
};

/** Locks first the agreement that the answer may change, then (by the UPDATE) the request. */
async function lockAgreementForAnswer(
  trx: Transaction,
  bankId: string,
  billingRequestId: string,
  answer: BankAnswer,
) {
  const bankTransactionId = answer.outcome === 'approved' ? answer.bankTransactionId : null;
  const [asked, [charged]] = await Promise.all([
    trx.row<Asked & { trusted: boolean | null; duplicate: boolean }>`
      SELECT ${raw(OUTCOME_COLUMNS)}, m.trust_level = 'trusted' AS trusted,
        EXISTS (SELECT FROM bank_transactions t WHERE t.bank_id = b.bank_id
                AND t.bank_transaction_id = ${bankTransactionId} AND t.resource_id <> b.id) AS duplicate
      FROM billing_requests b LEFT JOIN entities m ON m.id = b.merchant_id
      WHERE b.id = ${billingRequestId} AND b.bank_id = ${bankId}`,
    lockAgreementsWhere(
      trx,
      sql`a.id = (SELECT agreement_id FROM billing_requests WHERE id = ${billingRequestId} AND bank_id = ${bankId})`,
    ),
  ]);
  if (!asked) throw new Failure('not_found', 'There is no such billing request.');
  if (charged) return { ...asked, agreement: charged, grants: false };
  // A payment between customers has no agreement, so an answer grants none.
  const { merchantId } = asked;
  if (merchantId === null) return { ...asked, agreement: undefined, grants: false };
  const grants =
    answer.action === 'approve_recurring' &&
    asked.trusted === true &&
    asked.status === 'pending' &&
    !asked.duplicate;
  if (grants) {
    // A refused answer must not leave behind the agreement that it would have granted.
    await trx.query('SAVEPOINT granting');
    const [agreement] = await openAgreements(trx, merchantId, [asked], asked.currency);
    return { ...asked, agreement, grants };
  }
  const [agreement] = await lockAgreementsOf(trx, merchantId, [asked.customerId]);
  return { ...asked, agreement, grants };
}

const STATUS_AFTER = { approved: 'successful', declined: 'declined' } as const;

/** If two answers with one transaction id race, the first to claim the id is taken. */
async function decide(trx: Executor, billingRequestId: string, answer: Answer): Promise<Ended | undefined> {
  const { metadata } = answer;
  const approved = answer.outcome === 'approved';
  const bankTransactionId = approved ? answer.bankTransactionId : null;
  const declineReason = approved ? null : answer.declineReason;
  const bankMetadata = metadata ? JSON.stringify(metadata) : null;
  return trx.row<Ended>`
    WITH asked AS (
      SELECT id, bank_id FROM billing_requests
      WHERE id = ${billingRequestId} AND status = 'pending' AND NOT ${windowPassed(sql`business_now(biller_id)`)}
      FOR UPDATE),
    claimed AS (
      INSERT INTO bank_transactions (bank_id, bank_transaction_id, resource_id)
      SELECT bank_id, ${bankTransactionId}, id FROM asked WHERE ${bankTransactionId}::text IS NOT NULL
      ON CONFLICT DO NOTHING RETURNING resource_id)
    UPDATE billing_requests b SET
      status = ${STATUS_AFTER[answer.outcome]}, closed_by = 'bank',
      bank_transaction_id = ${bankTransactionId}, decline_reason = ${declineReason},
      answer_action = ${answer.action}, bank_metadata = ${bankMetadata}::jsonb,
      closed_at = settling_now(b.biller_id),
      sequence = b.sequence + 1
    -- Joined, not a subquery: if the row changes meanwhile, Postgres evaluates this again, and a
    -- subquery would claim again.
    FROM asked LEFT JOIN claimed ON claimed.resource_id = asked.id
    WHERE b.id = asked.id AND (${bankTransactionId}::text IS NULL OR claimed.resource_id IS NOT NULL)
    RETURNING ${raw(ENDED_COLUMNS)}`;
}

/**
 * The request was no longer open; or the transaction belongs to another resource, and the request
 * stays as it is.
 */
async function answerRefused(
  trx: Transaction,
  asked: Awaited<ReturnType<typeof lockAgreementForAnswer>>,
  answer: BankAnswer,
): Promise<AnswerResult> {
  const billingRequestId = asked.id;
  // The window may have passed before the workflow closed the request.
  await closeExpiredRequests(trx, [billingRequestId], 'by its bank');
  const found = await trx.oneRow<Asked>`
    SELECT ${raw(OUTCOME_COLUMNS)} FROM billing_requests b WHERE b.id = ${billingRequestId} FOR UPDATE OF b`;
  const { status } = found;
  const declines = answer.outcome === 'declined';
  // Late unless the bank ended the charge. A decline after a denial repeats it, whoever denied.
  const late = found.closedBy !== 'bank' && !(declines && found.declineReason === 'denied');
  const { agreed, duplicate } = await refuseAnswer(trx, {
    ...found,
    kind: late ? 'late_answer' : 'conflicting_answer',
    billingRequestId,
    refundId: null,
    says: answer.outcome,
    bankTransactionId: declines ? null : answer.bankTransactionId,
    reason: declines ? answer.declineReason : null,
    repeats: !late && sameAnswer(found, answer),
    movesNothing: late && declines,
  });
  if (declines && late) {
    const billingRequestIds = [billingRequestId];
    const explained = { kind: 'unanswered', resolution: 'no_money_moved', billingRequestIds } as const;
    await endExplained(trx, 'bank', explained);
  } else if (declines && agreed && answer.action !== found.answerAction) {
    // A repeated decline by which the customer also stops the standing approval.
    await applyToAgreement(trx, asked, answer);
  }
  await judgeBookings(trx, [billingRequestId]);
  return agreed && status !== 'pending'
    ? { billingRequestId, status, agreed, duplicate }
    : { billingRequestId, status, agreed: false, duplicate, late };
}

/** The part of an action that goes beyond this charge. */
const said = (action: string | null) =>
  action === 'approve_recurring' || action === 'suspended' ? action : '';

/** Whether the answer repeats the first. Two declines agree in any words: no money moved. */
function sameAnswer(ended: Asked, answer: BankAnswer): boolean {
  if (answer.outcome === 'declined') return ended.status === 'declined';
  return (
    said(answer.action) === said(ended.answerAction) && answer.bankTransactionId === ended.bankTransactionId
  );
}

async function applyToAgreement(
  trx: Executor,
  asked: Awaited<ReturnType<typeof lockAgreementForAnswer>>,
  answer: BankAnswer,
): Promise<void> {
  const { agreement, grants } = asked;
  if (!agreement || agreement.blocked) return;
  const suspends = answer.action === 'suspended' && agreement.decision.startsWith('approve');
  const granted = grants ? await grantOf(trx, agreement, asked.currency) : undefined;
  const decided = suspends ? ({ decision: 'suspended', blocked: false } as const) : granted;
  if (!decided) return;
  await applyDecision(trx, agreement.id, decided, 'bank');
}

/**
 * The decision that a standing approval given with a charge makes for the agreement.
 *
 * The customer has approved the charge's currency. An agreement in another currency may only have
 * been asked for, or refused since. If it is approved, it keeps all its terms: the customer was not
 * asked to give them up.
 *
 * @returns undefined if nothing changes
 */
async function grantOf(
  trx: Executor,
  { id, decision, currency }: Agreement,
  charged: string,
): Promise<NewDecision | undefined> {
  const granted = { decision: 'approve_recurring', blocked: false, withCharge: true } as const;
  if (currency === charged) return decision === 'approve_recurring' ? undefined : granted;
  if (decision.startsWith('approve')) return undefined;
  // Amounts are in the old currency, and the bank names no new ones.
  const { limits } = await limitsOf(trx, id);
  return { ...granted, terms: { currency: charged, limits: withoutAmounts(limits) } };
}
