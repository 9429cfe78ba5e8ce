import { reasonForAudit } from '../../domain/charge';
import type { Direction } from '../../domain/books/bank-file';
import type { Cause } from '../../domain/words/timeline';
import type { AnswerKind, ExceptionKind, Said } from '../../domain/books/reconciliation-exception';
import { alignSpending } from '../agreement/spending-limit';
import type { Executor } from '../pool/connection';
import { raw } from '../pool/statement';
import { newId } from '../identifier/new-id';
import { recordsOf } from '../pool/json';
import type { Row } from '../transition/transition';
import { writeTransitions } from '../transition/write-transition';
import { writeExceptions, type ChangedException } from './write-exceptions';

/**
 * Opens exceptions. A charge or a refund has at most one unresolved exception, which a UNIQUE index
 * decides. Later faults belong to that exception, and the bank's answers go beneath it. The callers
 * hold agreements and charges locked.
 */

/** A booking that a bank's file has, or that its files lack. */
export interface BookingInDoubt {
  bankId: string;
  /** Null for a credit that the payee's bank lacks: that bank has an id of its own for it. */
  bankTransactionId: string | null;
  direction: Direction;
  /** The amount to be booked; left out for the amount of the charge, or of the refund. */
  amount?: bigint | null;
  currency?: string | null;
  /** Null if the booking is missing at the bank. */
  bookedAmount: bigint | null;
  bookedCurrency: string | null;
  /** The reference of an unknown line that looks like a reference of ours. */
  reference: string | null;
  /** The day of an unknown line, as the bank wrote it. */
  bookedOn?: string | null;
  isReversal?: boolean | null;
  /** The file of the bank that reports it. */
  reportedIn?: string;
}

export interface NewException extends Partial<BookingInDoubt> {
  kind: ExceptionKind;
  /** Null for a booking that is unknown here. */
  billingRequestId: string | null;
  /** Set if the exception is about a refund of the charge. */
  refundId: string | null;
}

/** A bank's answer to a charge, or to a refund, by which money may have moved. */
export interface AnswerInDoubt {
  kind: AnswerKind;
  billingRequestId: string;
  refundId: string | null;
  says: Said;
  bankTransactionId: string | null;
  /** Reason of a decline or a rejection, in the bank's words. */
  reason: string | null;
}

/** Answers beneath an exception: after some dozens a bank only repeats itself. */
const ANSWERS_MAX = 100;

/**
 * Opens the exceptions that are not open yet, and tells both sides. Each biller costs a lock of its
 * clock, so a caller passes a page at most.
 *
 * @param workflowId of the workflow that makes the first attempts at the webhooks, if any does
 * @returns the exceptions opened now, by their places among those given
 */
export async function openExceptions(
  trx: Executor,
  cause: Cause,
  exceptions: NewException[],
  workflowId?: string,
): Promise<Map<number, string>> {
  const given = exceptions.map((one) => ({ ...one, id: newId('exception') }));
  const opened = await insertExceptions(trx, given);
  await writeExceptions(trx, opened, { event: 'exception.opened', cause, workflowId });
  const ids = new Set(opened.map(({ id }) => id));
  return new Map(given.flatMap(({ id }, n) => (ids.has(id) ? [[n, id] as const] : [])));
}

export async function openUndelivered(trx: Executor, charges: { id: string }[]): Promise<void> {
  const undelivered = { kind: 'credit_undelivered', refundId: null } as const;
  const exceptions = charges.map(({ id }) => ({ ...undelivered, billingRequestId: id }));
  await openExceptions(trx, 'network', exceptions);
}

/** Adds an answer to the exception of its charge or refund, which it opens if need be. */
export async function takeAnswerInDoubt(trx: Executor, answer: AnswerInDoubt): Promise<void> {
  const [opened] = await insertExceptions(trx, [{ ...answer, id: newId('exception') }]);
  const { kind, says, bankTransactionId, reason } = answer;
  const said = { kind, outcome: says, bankTransactionId, reason: reason && reasonForAudit(reason) };
  const added = await addAnswer(trx, answer, opened !== undefined);
  if (opened) {
    const details = { ...opened.details, ...said };
    await writeExceptions(trx, [{ ...opened, details }], { event: 'exception.opened', cause: 'bank' });
  } else if (added) {
    await writeTransitions(trx, { event: 'exception.updated', cause: 'bank', row: added, details: said });
  }
}

async function insertExceptions(
  trx: Executor,
  exceptions: (NewException & { id: string })[],
): Promise<ChangedException[]> {
  if (exceptions.length === 0) return [];
  const opened = await trx.rows<ChangedException>`
    INSERT INTO reconciliation_exceptions AS x (id, kind, billing_request_id, refund_id, bank_id, reference, amount,
      currency, bank_transaction_id, direction, booked_amount, booked_currency, booked_on, is_reversal,
      first_reported_in, reported_in, opened_at)
    SELECT g.id, g.kind, b.id, r.id, g.bank_id, g.reference,
      CASE g.kind WHEN 'unknown_here' THEN g.booked_amount ELSE coalesce(g.amount, r.amount, b.amount) END,
      CASE g.kind WHEN 'unknown_here' THEN g.booked_currency ELSE coalesce(g.currency, b.currency) END,
      -- A payee's bank's id is its own: both banks see the exception of the payment.
      CASE WHEN g.bank_id <> b.bank_id THEN NULL ELSE g.bank_transaction_id END, g.direction, g.booked_amount,
      g.booked_currency, g.booked_on, coalesce(g.is_reversal, false), g.reported_in,
      g.reported_in, settling_now(coalesce(b.biller_id, g.bank_id))
    FROM jsonb_to_recordset(${recordsOf(exceptions)}::jsonb) AS g (id text, kind text, billing_request_id text,
        refund_id text, bank_id text, bank_transaction_id text, direction text, amount bigint, currency text,
        booked_amount bigint, booked_currency text, reference text, booked_on date, is_reversal boolean, reported_in text)
      LEFT JOIN billing_requests b ON b.id = g.billing_request_id LEFT JOIN refunds r ON r.id = g.refund_id
    ORDER BY g.id ON CONFLICT DO NOTHING
    RETURNING x.id, x.sequence, x.opened_at AS at, jsonb_strip_nulls(jsonb_build_object('kind', x.kind,
      'bankId', x.bank_id, 'billingRequestId', x.billing_request_id, 'refundId', x.refund_id, 'amount',
      x.amount::text, 'currency', x.currency, 'bankTransactionId', x.bank_transaction_id, 'direction', x.direction,
      'bookedAmount', x.booked_amount::text, 'bookedCurrency', x.booked_currency)) AS details`;
  const charges = exceptions.flatMap((one) => (one.refundId === null && one.billingRequestId) || []);
  if (opened.length > 0) await alignSpending(trx, charges);
  return opened;
}

/** @returns the exception; undefined if it has this answer already, or too many answers */
function addAnswer(
  trx: Executor,
  { kind, billingRequestId, refundId, says, bankTransactionId }: AnswerInDoubt,
  opens: boolean,
): Promise<Row | undefined> {
  return trx.row<Row>`
    WITH added AS (
      INSERT INTO exception_answers (exception_id, says, bank_transaction_id, kind, answered_at)
      SELECT x.id, ${says}, ${bankTransactionId}, ${kind}, business_now(b.biller_id)
      FROM reconciliation_exceptions x JOIN billing_requests b ON b.id = x.billing_request_id
      WHERE b.id = ${billingRequestId} AND x.refund_id IS NOT DISTINCT FROM ${refundId} AND x.state <> 'resolved'
        AND (SELECT count(*) FROM exception_answers a WHERE a.exception_id = x.id) < ${raw(ANSWERS_MAX)}
      ON CONFLICT DO NOTHING RETURNING exception_id, answered_at)
    UPDATE reconciliation_exceptions x SET sequence = x.sequence + (NOT ${opens}::boolean)::int,
      bank_transaction_id = CASE WHEN x.direction IS NULL THEN coalesce(x.bank_transaction_id, ${bankTransactionId})
        ELSE x.bank_transaction_id END
    FROM added WHERE x.id = added.exception_id RETURNING x.id, x.sequence, added.answered_at AS at`;
}
