import { Failure, FAILURES } from '../../domain/failures';
import type { ExceptionState } from '../../domain/lifecycle';
import type { ExceptionKind, Resolution } from '../../domain/books/reconciliation-exception';
import { recordAct, type Actor } from '../audit';
import { endExpected } from '../bank-statement/expected';
import { row, rows, type Transaction } from '../connection';
import { settleCreditByWord } from '../customer/payment-credit';
import { recordEvents } from '../event';
import type { Keyring } from '../keys/keyring';
import { returnRefund } from '../refund/return';
import { noteRefusedAnswer } from '../refused-answer';
import { announceExceptions } from './announce';
import { UNKNOWN_EXCEPTION } from './list-cases';
import { holdParts, IS_ALL_SAID } from './open-case';
import { reverseRest, writeOffRest } from './reverse-charge';

/**
 * How an exception ends: its bank says what became of the money, or the operator finds it out.
 *
 * One UPDATE decides, `WHERE state <> 'resolved'`, so of a bank and an operator who resolve it at
 * the same time one is taken, and the other is told how it ended. What it held can be refunded from
 * then on. The UPDATE also says what follows: a charge is reversed or a refund returned (`undoes`),
 * or the bank is let off an amount (`let_off`).
 */

/** Who resolves it. */
export type Resolver =
  | { cause: 'bank'; bankId: string; note: string | null }
  /** The network, where a later statement shows that there was no difference. */
  | { cause: 'operator' | 'network'; note: string | null };

const NETWORK = { cause: 'network', note: null } as const;

export interface Finding {
  resolution: Resolution;
  /** The bank's id of what took the money back; null where none was named. */
  bankTransactionId: string | null;
}

const NO_DIFFERENCE: Finding = { resolution: 'no_difference', bankTransactionId: null };

export interface ResolvedException {
  exceptionId: string;
  state: ExceptionState;
  resolution: Resolution | null;
}

/**
 * The same finding again changes nothing.
 *
 * @param timeZone of the network, for the ledger's day
 * @returns whose exception it is, and whether this changed it
 * @throws Failure not_found, also of another bank's; conflict (resolved otherwise, the resolution
 *   does not fit, or the bank's transaction belongs to something else)
 */
export async function resolveException(
  trx: Transaction,
  keyring: Keyring,
  timeZone: string,
  by: Resolver,
  exceptionId: string,
  finding: Finding,
): Promise<ResolvedException & { bankId: string; changed: boolean; before: ExceptionState }> {
  const { billingRequestId, state: before, bankId } = await lockCase(trx, by, exceptionId);
  const ended = await decide(trx, by, exceptionId, finding);
  if (!ended) return { ...(await refused(trx, exceptionId, finding)), bankId, changed: false, before };
  const { resolution, bankTransactionId } = finding;
  const { kind, sequence, at } = ended;
  const details = { kind, resolution, bankTransactionId };
  await recordEvents(trx, [
    { resourceId: exceptionId, sequence, type: 'exception.resolved', cause: by.cause, details, at },
  ]);
  await announceExceptions(trx, keyring, 'exception.resolved', [exceptionId]);
  // An exception of an unknown line is about no money that the ledger counts.
  if (billingRequestId !== null) {
    await follow(trx, keyring, timeZone, by, { exceptionId, billingRequestId, resolution, ...ended });
    await endExpected(trx, exceptionId);
    await holdParts(trx, [billingRequestId]);
  }
  return { exceptionId, state: 'resolved', resolution, bankId, changed: true, before };
}

interface Ended {
  kind: ExceptionKind;
  refundId: string | null;
  undoes: boolean;
  sequence: number;
  at: Date;
}

/** What becomes of the money. */
async function follow(
  trx: Transaction,
  keyring: Keyring,
  timeZone: string,
  { cause }: Resolver,
  ended: Ended & { exceptionId: string; billingRequestId: string; resolution: Resolution },
): Promise<void> {
  const { exceptionId, billingRequestId, refundId, resolution, at } = ended;
  if (refundId !== null) {
    if (ended.undoes) await returnRefund(trx, keyring, timeZone, cause, { exceptionId, refundId });
    return;
  }
  if (ended.undoes) {
    await reverseRest(trx, keyring, timeZone, cause, { exceptionId, billingRequestId, refundId });
  } else if (resolution === 'written_off') {
    await writeOffRest(trx, timeZone, { resourceId: exceptionId, billingRequestId, at });
  } else if (ended.kind === 'credit_undelivered' && resolution === 'no_difference') {
    await settleCreditByWord(trx, timeZone, billingRequestId);
  }
}

/** There was no difference, once the bank's next file was there. */
export async function endExceptions(
  trx: Transaction,
  keyring: Keyring,
  timeZone: string,
  exceptionIds: string[],
): Promise<void> {
  for (const id of exceptionIds) await resolveException(trx, keyring, timeZone, NETWORK, id, NO_DIFFERENCE);
}

/**
 * Ends the exception of a charge, or of a refund of it, that the bank's answer explains in full.
 * The caller holds the charge locked.
 */
export async function endExplained(
  trx: Transaction,
  keyring: Keyring,
  timeZone: string,
  by: Resolver,
  kind: ExceptionKind,
  resolution: Resolution,
  of: { billingRequestId: string; refundId: string | null },
): Promise<void> {
  const explained = await row<{ id: string }>(
    trx,
    `SELECT id FROM reconciliation_exceptions x
     WHERE billing_request_id = :billingRequestId AND refund_id IS NOT DISTINCT FROM :refundId AND kind = :kind
       AND ${IS_ALL_SAID('x')}`,
    { kind, ...of },
  );
  if (!explained) return;
  const finding = { resolution, bankTransactionId: null };
  await resolveException(trx, keyring, timeZone, by, explained.id, finding);
}

/** Ends what was opened for a used id, which was refused, once the bank has sent the right one. */
export async function endDuplicates(
  trx: Transaction,
  keyring: Keyring,
  timeZone: string,
  of: { billingRequestId: string; refundId: string | null },
): Promise<void> {
  await endExplained(trx, keyring, timeZone, NETWORK, 'duplicate_transaction_id', 'no_difference', of);
}

/**
 * The charge is locked before what is about it, as everywhere. What no charge belongs to is locked
 * by itself.
 */
async function lockCase(trx: Transaction, by: Resolver, exceptionId: string) {
  const found = await row<{ billingRequestId: string | null; bankId: string }>(
    trx,
    `SELECT billing_request_id AS "billingRequestId", bank_id AS "bankId" FROM reconciliation_exceptions
     WHERE id = :exceptionId AND bank_id = coalesce(:bankId, bank_id)`,
    { exceptionId, bankId: by.cause === 'bank' ? by.bankId : null },
  );
  if (!found) throw new Failure('not_found', UNKNOWN_EXCEPTION);
  const { billingRequestId } = found;
  await rows(trx, `SELECT FROM billing_requests WHERE id = :billingRequestId FOR UPDATE`, {
    billingRequestId,
  });
  // Read once the charge is held: until then it may have been resolved.
  const [now] = await rows<{ state: ExceptionState; owner: string | null }>(
    trx,
    `SELECT state, owner FROM reconciliation_exceptions WHERE id = :exceptionId FOR UPDATE`,
    { exceptionId },
  );
  if (!now) throw new Error(`there is no ${exceptionId}`);
  return { ...found, ...now };
}

/**
 * Whether an exception `x` speaks of another debit or transfer than the one that counts: its bank
 * has said yes alone, by other ids, or has booked a refund by another id. For a charge, a decline
 * that an earlier exception was about counts as well, unless the bank has taken it back.
 */
const IS_OF_ANOTHER = `((x.kind = 'amount_differs' AND x.bank_transaction_id <> r.bank_transaction_id) IS TRUE OR x.kind IN ('conflicting_answer', 'refund_conflict', 'duplicate_transaction_id') AND NOT EXISTS (
  SELECT FROM reconciliation_exceptions o JOIN exception_answers a ON a.exception_id = o.id
  WHERE o.billing_request_id = x.billing_request_id AND o.refund_id IS NOT DISTINCT FROM x.refund_id AND (
    (a.says IN ('declined', 'rejected') AND (o.id = x.id OR (x.refund_id IS NULL AND o.resolution <> 'confirmed')))
    OR (o.id = x.id AND a.bank_transaction_id = CASE WHEN r.id IS NULL THEN b.bank_transaction_id ELSE r.bank_transaction_id END))))`;

/**
 * Minor units that the bank of a charge is let off where an exception `x` is written off: all that
 * it denies or has not booked, or what a booking lacks. With a credit that the payee's bank lacks
 * the payer's bank is let off nothing: it has its debit.
 */
const LETS_OFF = `(CASE
  WHEN x.refund_id IS NOT NULL THEN 0
  WHEN (x.kind = 'missing_at_bank' AND x.bank_transaction_id IS NOT NULL)
    OR EXISTS (SELECT FROM exception_answers a WHERE a.exception_id = x.id AND a.says = 'declined') THEN x.amount
  WHEN x.kind = 'amount_differs' AND x.booked_currency = x.currency AND x.direction = 'debit'
    THEN greatest(0, x.amount - x.booked_amount)
  WHEN x.kind = 'amount_differs' THEN x.amount
  ELSE 0 END)`;

/**
 * As with a charge, the statement that ends it claims the bank's transaction, and does neither
 * where it is another's.
 */
async function decide(
  trx: Transaction,
  by: Resolver,
  exceptionId: string,
  { resolution, bankTransactionId }: Finding,
): Promise<Ended | undefined> {
  return row<Ended>(
    trx,
    `WITH asked AS (
       SELECT x.id, x.bank_id, ${LETS_OFF} AS lets_off,
         (CASE WHEN x.refund_id IS NULL THEN b.status = 'successful' ELSE r.status = 'completed' END) IS TRUE
           AND NOT ${IS_OF_ANOTHER} AS stands_for_it
       FROM reconciliation_exceptions x LEFT JOIN billing_requests b ON b.id = x.billing_request_id
         LEFT JOIN refunds r ON r.id = x.refund_id
       WHERE x.id = :exceptionId AND x.state <> 'resolved' AND (:resolution <> 'confirmed' OR r.status = 'completed'
         OR EXISTS (SELECT FROM exception_answers a WHERE a.exception_id = x.id AND a.kind = 'conflicting_answer'))
       FOR UPDATE OF x),
     claimed AS (
       INSERT INTO bank_transactions (bank_id, bank_transaction_id, resource_id)
       SELECT bank_id, :bankTransactionId, id FROM asked WHERE :bankTransactionId::text IS NOT NULL
       ON CONFLICT DO NOTHING RETURNING resource_id)
     UPDATE reconciliation_exceptions x SET
       state = 'resolved', resolution = :resolution, sequence = x.sequence + 1,
       undoes = :resolution IN ('no_money_moved', 'reversed') AND asked.stands_for_it,
       let_off = CASE :resolution WHEN 'written_off' THEN asked.lets_off ELSE 0 END,
       resolved_at = settling_now(coalesce(x.merchant_id, x.payee_bank_id, x.bank_id)),
       reversal_bank_transaction_id = :bankTransactionId,
       bank_note = CASE WHEN :byBank::boolean THEN :note ELSE x.bank_note END,
       operator_note = CASE WHEN :byBank::boolean THEN x.operator_note ELSE coalesce(:note, x.operator_note) END
     FROM asked LEFT JOIN claimed ON claimed.resource_id = asked.id
     WHERE x.id = asked.id AND (:bankTransactionId::text IS NULL OR claimed.resource_id IS NOT NULL)
     RETURNING x.kind, x.refund_id AS "refundId", x.undoes, x.sequence, x.resolved_at AS at`,
    { exceptionId, resolution, bankTransactionId, byBank: by.cause === 'bank', note: by.note },
  );
}

/** It was resolved before, so or otherwise; or what is found does not fit. */
async function refused(trx: Transaction, exceptionId: string, finding: Finding): Promise<ResolvedException> {
  const stands = await row<ResolvedException & { reversalId: string | null }>(
    trx,
    `SELECT id AS "exceptionId", state, resolution, reversal_bank_transaction_id AS "reversalId"
     FROM reconciliation_exceptions WHERE id = :exceptionId`,
    { exceptionId },
  );
  if (!stands) throw new Error(`there is no ${exceptionId}`);
  const { reversalId, ...data } = stands;
  if (data.state === 'resolved') {
    if (data.resolution === finding.resolution && reversalId === finding.bankTransactionId) return data;
    const message = `The exception is resolved already: ${data.resolution}.`;
    throw new Failure('already_resolved', message, { data });
  }
  throw finding.resolution === 'confirmed'
    ? new Failure(
        'resolution_not_allowed',
        'Only a conflicting answer, or one to a refund that is completed, can be confirmed.',
        { data },
      )
    : new Failure(
        'duplicate_transaction_id',
        'This bankTransactionId belongs to another transaction of yours: send that of the reversal.',
        { data },
      );
}

/**
 * Takes the bank's word. A word that is not taken is on record: whoever looks into it later sees
 * what the bank has said, when, and why it did not count.
 *
 * @returns the failure where it is not taken, for the caller to throw once this is committed
 * @throws Failure not_found, also of another bank's
 */
export async function takeBanksAnswer(
  trx: Transaction,
  keyring: Keyring,
  timeZone: string,
  by: { bankId: string; note: string | null },
  exceptionId: string,
  finding: Finding,
): Promise<ResolvedException | Failure> {
  try {
    return await resolveException(trx, keyring, timeZone, { cause: 'bank', ...by }, exceptionId, finding);
  } catch (failure) {
    if (!(failure instanceof Failure) || FAILURES[failure.code].status !== 409) throw failure;
    const { resolution: answer, bankTransactionId } = finding;
    // The exception is locked by then.
    await noteRefusedAnswer(trx, 'exception', exceptionId, {
      answer,
      bankTransactionId,
      why: failure.message,
    });
    return failure;
  }
}

/** As `resolveException`, with a record of the operator's act. */
export async function resolveAsOperator(
  trx: Transaction,
  keyring: Keyring,
  timeZone: string,
  by: Actor,
  exceptionId: string,
  finding: Finding,
): Promise<ResolvedException> {
  const resolver = { cause: 'operator', note: by.reason } as const;
  const { bankId, changed, before, ...after } = await resolveException(
    trx,
    keyring,
    timeZone,
    resolver,
    exceptionId,
    finding,
  );
  if (changed) {
    const act = { action: 'exception.resolved', entityId: bankId } as const;
    await recordAct(trx, by, { ...act, before: { exceptionId, state: before }, after });
  }
  return after;
}

/**
 * Takes the exception, or takes it over: from then on the operator looks into it.
 *
 * @throws Failure not_found; already_resolved
 */
export async function takeAsOperator(trx: Transaction, by: Actor, exceptionId: string): Promise<void> {
  const { actor: owner, reason: note } = by;
  const { bankId, ...before } = await lockCase(trx, { cause: 'operator', note }, exceptionId);
  if (before.state === 'resolved')
    throw new Failure('already_resolved', 'The exception is resolved already.');
  if (before.owner === owner) return;
  const taken = await rows<{ sequence: number; at: Date }>(
    trx,
    `UPDATE reconciliation_exceptions SET state = 'investigating', owner = :owner, sequence = sequence + 1,
       operator_note = coalesce(:note, operator_note)
     WHERE id = :exceptionId
     RETURNING sequence, business_now(coalesce(merchant_id, payee_bank_id, bank_id)) AS at`,
    { exceptionId, owner, note },
  );
  const type = 'exception.investigating';
  await recordEvents(
    trx,
    taken.map((now) => ({ resourceId: exceptionId, type, cause: 'operator', ...now })),
  );
  await recordAct(trx, by, {
    action: 'exception.taken',
    entityId: bankId,
    before: { exceptionId, state: before.state, owner: before.owner },
    after: { exceptionId, state: 'investigating', owner },
  });
}
