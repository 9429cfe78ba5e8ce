import { Failure, FAILURES } from '../../domain/failures';
import type { ExceptionState, RefundStatus } from '../../domain/lifecycle';
import type { ExceptionKind, Resolution } from '../../domain/books/reconciliation-exception';
import { lockCharges } from '../agreement/agreement';
import { act, recordAuditEvent, type Actor } from '../record/audit-event';
import { judgeBookings } from '../bank-file/judge-bookings';
import { endExpected, endWrittenOff } from '../ledger/end-expected-booking';
import { claimBankTransaction } from '../ledger/claim-bank-transaction';
import type { Transaction } from '../pool/connection';
import { raw } from '../pool/statement';
import { settleCreditByWord } from '../credit/follow-credit';
import type { Row } from '../transition/transition';
import { writeTransitions } from '../transition/write-transition';
import { returnRefund } from '../refund/return-refund';
import { settleRefundByWord, takePayment, type RefundInDoubt } from '../refund/settle-by-word';
import { endExceptions, IS_BOOKED, type Finding } from '../reconciliation-exception/end-exceptions';
import { UNKNOWN_EXCEPTION } from '../reconciliation-exception/list-exceptions';
import { noteRefusedAnswer } from '../reconciliation-exception/refuse-answer';
import { reverseRest } from '../reversal/reverse-charge';
import { countWrittenOff, DEBIT_IS_BOOKED, writeOffRest } from '../reversal/write-off-charge';
import { refuseBooked } from './booked-at-bank';

/**
 * Resolves exceptions: by the bank's finding, or the operator's.
 *
 * The charge is locked first, then the exception. So if a bank and an operator resolve an exception
 * at the same time, the first counts and the second gets a conflict. The amount that the exception
 * held can be refunded from then on.
 */

export type Resolver =
  | { cause: 'bank'; bankId: string; note: string | null }
  /** With an `actor` the action has its audit event. */
  | { cause: 'operator'; note: string | null; actor?: Actor };

interface ResolvedException {
  exceptionId: string;
  state: ExceptionState;
  resolution: Resolution | null;
}

/**
 * Repeating the same finding changes nothing.
 *
 * @throws Failure not_found, also of another bank's; already_resolved (otherwise);
 *   resolution_not_allowed; booked_at_bank; exceeds_remaining (of a refund that is paid after all);
 *   duplicate_transaction_id (it belongs to something else)
 */
export async function resolveException(
  trx: Transaction,
  by: Resolver,
  exceptionId: string,
  finding: Finding,
): Promise<ResolvedException> {
  const one = await lockException(trx, exceptionId, by.cause === 'bank' ? by.bankId : null);
  const { state, bankId, writesOff } = one;
  const { resolution } = finding;
  const after = { exceptionId, state: 'resolved', resolution } as const;
  if (isSame(one, finding)) return after;
  const undoes = isUndone(one, finding);
  const paidBy = await admit(trx, { ...one, undoes }, finding).catch((error: unknown) => {
    if (!(error instanceof Failure)) throw error;
    const data = { exceptionId, state, resolution: one.resolution, ...(error.data as object | undefined) };
    throw new Failure(error.code, error.message, { data });
  });
  const { cause, note } = by;
  const writtenOff = resolution === 'written_off' ? writesOff : 0n;
  const bankTransactionId = resolution === 'reversed' ? finding.bankTransactionId : null;
  const end = { cause, note, resolution, bankTransactionId, undoes, writtenOff };
  const [ended] = await endExceptions(trx, [exceptionId], end);
  if (!ended) throw new Error(`${exceptionId} was resolved while it was locked`);
  await follow(trx, by, { ...one, resolution, undoes, paidBy, at: ended.at });
  if (one.billingRequestId !== null) await judgeBookings(trx, [one.billingRequestId]);
  if (by.cause === 'operator' && by.actor) {
    const action = { action: 'exception.resolved', entityId: bankId } as const;
    await recordAuditEvent(trx, by.actor, { ...action, before: { exceptionId, state }, after });
  }
  return after;
}

/**
 * Moves the money as the finding says. An unknown booking is about no money that the ledger counts.
 */
async function follow(
  trx: Transaction,
  { cause }: Resolver,
  ended: ExceptionToResolve & { resolution: Resolution; undoes: boolean; paidBy: string | null; at: Date },
): Promise<void> {
  const { exceptionId, billingRequestId, refundId, kind, resolution, undoes, at } = ended;
  if (billingRequestId === null) return;
  const isWrittenOff = resolution === 'written_off';
  if (isWrittenOff) await endWrittenOff(trx, exceptionId, ended.standsForIt);
  if (undoes) {
    await (refundId === null
      ? reverseRest(trx, cause, { exceptionId, billingRequestId, refundId })
      : returnRefund(trx, cause, { exceptionId, refundId }));
    if (resolution === 'no_money_moved') await endExpected(trx, exceptionId);
  } else if (refundId !== null) {
    if (ended.paidBy !== null || isUnanswered(ended))
      await settleRefundByWord(trx, cause, refundId, ended.paidBy);
    await countWrittenOff(trx, billingRequestId);
  } else if (isWrittenOff) {
    await writeOffRest(trx, { resourceId: exceptionId, billingRequestId, at });
  } else if (resolution === 'no_difference' && kind === 'credit_undelivered') {
    await settleCreditByWord(trx, billingRequestId);
  }
}

interface ExceptionToResolve extends ResolvedException {
  kind: ExceptionKind;
  bankId: string;
  /** In doubt. */
  amount: bigint;
  currency: string;
  /** The refund's amount, or else the charge's, as the ledger has it; null without a charge. */
  atStake: bigint | null;
  stakeCurrency: string | null;
  billingRequestId: string | null;
  refundId: string | null;
  refundStatus: RefundStatus | null;
  assignee: string | null;
  reversalId: string | null;
  /** The bank's id of the refund's transfer. */
  transferId: string | null;
  /** There is a first answer that may stand. */
  canBeConfirmed: boolean;
  /** Its charge has succeeded, or its refund is completed, by the debit or transfer in doubt. */
  standsForIt: boolean;
  writesOff: bigint;
}

/**
 * SQL: whether an exception `x` is about another debit or transfer than the one that counts. Its
 * bank booked it beside that, or named only other ids. A decline beneath an earlier exception of a
 * charge counts as well, unless the bank has withdrawn it.
 */
const IS_OF_ANOTHER = `(
  x.kind = 'unknown_here' OR (x.refund_id IS NULL AND ${IS_BOOKED})
  OR (x.kind = 'amount_differs' AND x.bank_transaction_id <> r.bank_transaction_id) IS TRUE
  OR x.kind IN ('conflicting_answer', 'refund_conflict', 'duplicate_transaction_id') AND NOT EXISTS (
    SELECT FROM reconciliation_exceptions o JOIN exception_answers a ON a.exception_id = o.id
    WHERE o.billing_request_id = x.billing_request_id AND o.refund_id IS NOT DISTINCT FROM x.refund_id
      AND CASE WHEN a.says IN ('declined', 'rejected')
        THEN o.id = x.id OR (x.refund_id IS NULL AND o.resolution <> 'confirmed')
        ELSE o.id = x.id AND a.bank_transaction_id
          = CASE WHEN r.id IS NULL THEN b.bank_transaction_id ELSE r.bank_transaction_id END
        END))`;

/**
 * SQL: minor units that a charge's bank no longer owes once an exception `x` is written off. They
 * are all that the bank denies or has not booked, what a booking lacks, or what the bank took back
 * of it. A credit that the payee's bank lacks lets the payer's bank off nothing, for it has its
 * debit.
 */
const WRITES_OFF = `(CASE
  WHEN x.refund_id IS NOT NULL THEN 0
  WHEN ${DEBIT_IS_BOOKED} THEN CASE
    WHEN (x.kind, x.direction, x.booked_currency) = ('amount_differs', 'credit', x.currency)
    THEN least(x.amount, x.booked_amount) ELSE 0 END
  WHEN (x.kind = 'missing_at_bank' AND x.bank_transaction_id IS NOT NULL)
    OR EXISTS (SELECT FROM exception_answers a WHERE a.exception_id = x.id AND a.says = 'declined') THEN x.amount
  WHEN x.kind = 'amount_differs' AND x.booked_currency = x.currency AND x.direction = 'debit'
    THEN greatest(0, x.amount - x.booked_amount)
  WHEN x.kind = 'amount_differs' THEN x.amount
  ELSE 0 END)::bigint`;

/** @param bankId null for any bank @throws Failure not_found, also of another bank's */
async function lockException(
  trx: Transaction,
  exceptionId: string,
  bankId: string | null,
): Promise<ExceptionToResolve> {
  const found = await trx.row<{ charge: string | null }>`
    SELECT billing_request_id AS charge FROM reconciliation_exceptions
    WHERE id = ${exceptionId} AND bank_id = coalesce(${bankId}, bank_id)`;
  if (!found) throw new Failure('not_found', UNKNOWN_EXCEPTION);
  // Agreement and charge are locked before the exception, which is the order everywhere.
  await lockCharges(trx, [found.charge]);
  // Read once the charge is locked: until then another caller may resolve the exception.
  return trx.oneRow<ExceptionToResolve>`
    SELECT x.id AS exception_id, x.kind, x.state, x.resolution, x.bank_id, x.assignee, x.amount, x.currency,
      coalesce(r.amount, b.amount) AS at_stake, b.currency AS stake_currency,
      x.billing_request_id, x.refund_id, r.status AS refund_status, r.bank_transaction_id AS transfer_id,
      x.reversal_bank_transaction_id AS reversal_id, ${raw(WRITES_OFF)} AS writes_off,
      (r.status IN ('completed', 'rejected') OR (r.status = 'pending' AND x.kind = 'unanswered')) IS TRUE OR EXISTS (
        SELECT FROM exception_answers a WHERE a.exception_id = x.id
          AND a.kind = 'conflicting_answer') AS can_be_confirmed,
      (CASE WHEN x.refund_id IS NULL THEN b.status = 'successful' ELSE r.status = 'completed' END) IS TRUE
        AND NOT ${raw(IS_OF_ANOTHER)} AS stands_for_it
    FROM reconciliation_exceptions x LEFT JOIN billing_requests b ON b.id = x.billing_request_id
      LEFT JOIN refunds r ON r.id = x.refund_id
    WHERE x.id = ${exceptionId} FOR UPDATE OF x`;
}

/** An answer that names no transfer repeats the end by any. */
function isSame(one: ExceptionToResolve, { resolution, bankTransactionId }: Finding): boolean {
  if (one.resolution !== resolution) return false;
  if (resolution !== 'confirmed') return resolution !== 'reversed' || one.reversalId === bankTransactionId;
  return one.refundId === null || bankTransactionId === null || one.transferId === bankTransactionId;
}

/** Whether the end would say that the charge's or refund's own money did not stay. */
const isUndone = ({ standsForIt }: ExceptionToResolve, { resolution }: Finding) =>
  standsForIt && (resolution === 'no_money_moved' || resolution === 'reversed');

/** Whether the end would complete a refund that is not. */
const isPaid = (
  one: ExceptionToResolve,
  { resolution }: Finding,
): one is ExceptionToResolve & RefundInDoubt =>
  resolution === 'confirmed' && one.refundStatus !== null && one.refundStatus !== 'completed';

/**
 * The money that a bank's finding would move in the ledger, or free of a pending refund: all of
 * the refund or the charge, or nothing. Its charge stays locked.
 *
 * @throws Failure not_found, also of another bank's
 */
export async function moneyOfFinding(
  trx: Transaction,
  bankId: string,
  exceptionId: string,
  finding: Finding,
): Promise<{ amount: bigint; currency: string } | undefined> {
  const one = await lockException(trx, exceptionId, bankId);
  // A line may have booked another amount, or currency, than the ledger would move.
  const { atStake: amount, stakeCurrency: currency } = one;
  if (one.state === 'resolved' || amount === null || currency === null) return undefined;
  const moves = isUndone(one, finding) || isPaid(one, finding) || isUnanswered(one);
  return moves ? { amount, currency } : undefined;
}

const isUnanswered = ({ kind, refundStatus }: ExceptionToResolve) =>
  kind === 'unanswered' && refundStatus === 'pending';

/**
 * Changes nothing where it refuses, but for the claim of an id.
 *
 * @returns the bank's id of a refund that is paid after all
 * @throws Failure already_resolved; resolution_not_allowed; booked_at_bank; exceeds_remaining;
 *   duplicate_transaction_id
 */
async function admit(
  trx: Transaction,
  one: ExceptionToResolve & { undoes: boolean },
  finding: Finding,
): Promise<string | null> {
  const { exceptionId, state, bankId } = one;
  const { resolution, bankTransactionId } = finding;
  if (state === 'resolved')
    throw new Failure('already_resolved', `The exception is resolved already: ${one.resolution}.`);
  const refusal = refusalOf(one, finding);
  if (refusal !== undefined) throw new Failure('resolution_not_allowed', refusal);
  const pays = isPaid(one, finding);
  await refuseBooked(trx, { ...one, resolution, pays });
  if (pays) return takePayment(trx, one, bankTransactionId);
  if (resolution !== 'reversed' || bankTransactionId === null) return null;
  const claim = { bankId, bankTransactionId, resourceId: exceptionId };
  if (!(await isTakenBack(trx, one, bankTransactionId)) && !(await claimBankTransaction(trx, claim))) {
    const message =
      'This bankTransactionId belongs to another transaction of yours: send that of the reversal.';
    throw new Failure('duplicate_transaction_id', message);
  }
  return null;
}

function refusalOf(one: ExceptionToResolve, { resolution, bankTransactionId }: Finding): string | undefined {
  const { refundStatus, transferId } = one;
  if (isUnanswered(one) && (resolution === 'reversed' || resolution === 'no_difference'))
    return 'A refund that is not answered yet is confirmed, or no money has moved, or it is written off.';
  if (resolution !== 'confirmed') return undefined;
  if (!one.canBeConfirmed)
    return 'Only a conflicting answer, or one to a refund that is completed or rejected, can be confirmed.';
  return refundStatus === 'completed' && bankTransactionId !== null && bankTransactionId !== transferId
    ? 'The refund is completed by another transaction.'
    : undefined;
}

/** A bank may take a booking back under its own id, as its file shows. */
async function isTakenBack(
  trx: Transaction,
  { billingRequestId, refundId }: ExceptionToResolve,
  bankTransactionId: string,
): Promise<boolean> {
  const line = await trx.row`
    SELECT true FROM extra_bookings WHERE billing_request_id = ${billingRequestId}
      AND refund_id IS NOT DISTINCT FROM ${refundId} AND bank_transaction_id = ${bankTransactionId}
      AND NOT differs LIMIT 1`;
  return line !== undefined;
}

/**
 * Resolves an exception as its bank says. A refused answer is kept too, so that a later
 * investigation sees what the bank said, when, and why it did not count.
 *
 * @returns the failure of a refused answer, for the caller to throw once this is committed
 * @throws Failure not_found, also of another bank's
 */
export async function takeBanksAnswer(
  trx: Transaction,
  by: { bankId: string; note: string | null },
  exceptionId: string,
  finding: Finding,
): Promise<ResolvedException | Failure> {
  try {
    return await resolveException(trx, { cause: 'bank', ...by }, exceptionId, finding);
  } catch (failure) {
    if (!(failure instanceof Failure) || FAILURES[failure.code].status !== 409) throw failure;
    const { resolution: says, bankTransactionId } = finding;
    // The exception is locked: `resolveException` throws a conflict only after the lock.
    const refused = { says, bankTransactionId, why: failure.message };
    await noteRefusedAnswer(trx, 'exception', exceptionId, refused);
    return failure;
  }
}

/**
 * Assigns the exception to the operator, also from another operator.
 *
 * @throws Failure not_found; already_resolved
 */
export async function takeAsOperator(trx: Transaction, by: Actor, exceptionId: string): Promise<void> {
  const { actor: assignee, reason: note } = by;
  const before = await lockException(trx, exceptionId, null);
  const { state, bankId } = before;
  if (state === 'resolved') throw new Failure('already_resolved', 'The exception is resolved already.');
  if (before.assignee === assignee) return;
  const change = trx.oneRow<Row>`
    UPDATE reconciliation_exceptions SET state = 'investigating', assignee = ${assignee}, sequence = sequence + 1,
      operator_note = coalesce(${note}, operator_note)
    WHERE id = ${exceptionId}
    RETURNING id, sequence, business_now(coalesce(merchant_id, payee_bank_id, bank_id)) AS at`;
  const row = await act(trx, by, change, () => ({
    action: 'exception.taken',
    entityId: bankId,
    before: { exceptionId, state, owner: before.assignee },
    after: { exceptionId, state: 'investigating', owner: assignee },
  }));
  await writeTransitions(trx, { event: 'exception.investigating', cause: 'operator', row });
}
