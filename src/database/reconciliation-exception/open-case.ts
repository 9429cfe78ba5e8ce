import type { Direction } from '../../domain/books/bank-statement';
import { reasonForAudit } from '../../domain/charge';
import type { AnswerKind, ExceptionKind, Said } from '../../domain/books/reconciliation-exception';
import { rows, type Executor } from '../connection';
import { recordEvents, type AuditEvent } from '../event';
import { newId } from '../ids';
import { jsonOf } from '../json';
import type { Keyring } from '../keys/keyring';
import { announceExceptions } from './announce';
import { HELD } from './list-cases';

/**
 * Opens exceptions. A charge or a refund has one unresolved exception at most, which a UNIQUE index
 * decides: what goes wrong meanwhile belongs to that one, and an answer of the bank stands beneath
 * it. The callers hold the charges locked.
 */

export interface NewCase {
  kind: ExceptionKind;
  /** Null for a booking that is unknown here. */
  billingRequestId: string | null;
  /** Where it is about a refund of that charge. */
  refundId: string | null;
  booking?: CaseBooking;
}

/** A booking that a file of a bank has, or lacks. */
export interface CaseBooking {
  bankId: string;
  /** Null of a credit that the payee's bank lacks: it has an id of its own for it. */
  bankTransactionId: string | null;
  direction: Direction;
  /** The amount to be booked; null for the amount of the charge, or of the refund. */
  amount: bigint | null;
  currency: string | null;
  /** Null where the booking is missing at the bank. */
  bookedAmount: bigint | null;
  bookedCurrency: string | null;
  /** The reference of an unknown line that looks like one of ours. */
  reference: string | null;
}

/** An answer of a bank to a charge, or to a refund of it, by which money may have moved. */
export interface AnswerInDoubt {
  /** What is wrong with it. */
  kind: AnswerKind;
  billingRequestId: string;
  refundId: string | null;
  says: Said;
  bankTransactionId: string | null;
  /** Of a decline or a rejection, in the bank's words. */
  reason: string | null;
}

interface Opened {
  /** Place among the cases that were asked for. */
  n: number;
  id: string;
  at: Date;
  details: Record<string, unknown>;
}

/** Answers beneath one exception: its bank repeats itself after some dozens. */
const ANSWERS_MAX = 100;

/** Items of one webhook, as everywhere. */
const ANNOUNCED_AT_ONCE = 100;

/**
 * Opens those that are not there yet, and tells both sides. Each owner of a charge costs a lock of
 * the clock, so a caller opens a page at most.
 *
 * @param workflowId of the workflow that makes the first attempts at the webhooks, where one does
 * @returns the exceptions opened now, by their places among the cases
 */
export async function openCases(
  trx: Executor,
  keyring: Keyring,
  cause: AuditEvent['cause'],
  cases: NewCase[],
  workflowId?: string,
): Promise<Map<number, string>> {
  const opened = await insertCases(trx, cases);
  await tell(trx, keyring, cause, opened, workflowId);
  return new Map(opened.map(({ n, id }) => [n, id]));
}

/**
 * Puts an answer beneath the exception of its charge or refund, which it opens if there is none.
 */
export async function takeAnswerInDoubt(
  trx: Executor,
  keyring: Keyring,
  answer: AnswerInDoubt,
): Promise<void> {
  const [opened] = await insertCases(trx, [answer]);
  const { kind, says, bankTransactionId, reason } = answer;
  const said = { kind, outcome: says, bankTransactionId, reason: reason && reasonForAudit(reason) };
  const added = await addAnswer(trx, answer, opened !== undefined);
  if (opened) {
    await tell(trx, keyring, 'bank', [{ ...opened, details: { ...opened.details, ...said } }]);
  } else if (added) {
    const { id: resourceId, ...more } = added;
    await recordEvents(trx, [
      { resourceId, type: 'exception.updated', cause: 'bank', details: said, ...more },
    ]);
    await holdParts(trx, [answer.billingRequestId]);
  }
}

async function insertCases(trx: Executor, cases: NewCase[]): Promise<Opened[]> {
  if (cases.length === 0) return [];
  const given = cases.map(({ booking, ...one }, n) => ({ ...one, ...booking, n, id: newId('exception') }));
  return rows<Opened>(
    trx,
    `WITH given AS MATERIALIZED (
       SELECT * FROM jsonb_to_recordset(:given::jsonb) AS g (n int, id text, kind text, "billingRequestId" text,
         "refundId" text, "bankId" text, "bankTransactionId" text, direction text, amount bigint, currency text,
         "bookedAmount" bigint, "bookedCurrency" text, reference text)),
     opened AS (
       INSERT INTO reconciliation_exceptions AS x (id, kind, billing_request_id, refund_id, bank_id, reference, amount,
         currency, bank_transaction_id, direction, booked_amount, booked_currency, opened_at)
       SELECT g.id, g.kind, b.id, r.id, g."bankId", g.reference, coalesce(g.amount, r.amount, b.amount),
         coalesce(g.currency, b.currency), g."bankTransactionId", g.direction, g."bookedAmount", g."bookedCurrency",
         settling_now(coalesce(b.owner_id, g."bankId"))
       FROM given g LEFT JOIN billing_requests b ON b.id = g."billingRequestId" LEFT JOIN refunds r ON r.id = g."refundId"
       ORDER BY g.n ON CONFLICT DO NOTHING
       RETURNING x.id, x.opened_at AS at, jsonb_strip_nulls(jsonb_build_object('kind', x.kind, 'bankId', x.bank_id,
         'billingRequestId', x.billing_request_id, 'refundId', x.refund_id, 'amount', x.amount::text, 'currency', x.currency,
         'bankTransactionId', x.bank_transaction_id, 'direction', x.direction, 'bookedAmount', x.booked_amount::text,
         'bookedCurrency', x.booked_currency)) AS details)
     SELECT g.n, opened.* FROM opened JOIN given g USING (id) ORDER BY g.n`,
    { given: jsonOf(given) },
  );
}

/** Holds what the exceptions keep from being refunded, and puts them on record and in webhooks. */
async function tell(
  trx: Executor,
  keyring: Keyring,
  cause: AuditEvent['cause'],
  opened: Opened[],
  workflowId?: string,
): Promise<void> {
  await holdParts(
    trx,
    opened.flatMap(({ details: { billingRequestId: id } }) => (typeof id === 'string' ? [id] : [])),
  );
  await recordEvents(
    trx,
    opened.map(({ id, at, details }) => ({
      resourceId: id,
      sequence: 1,
      type: 'exception.opened',
      cause,
      details,
      at,
    })),
  );
  for (let from = 0; from < opened.length; from += ANNOUNCED_AT_ONCE) {
    const ids = opened.slice(from, from + ANNOUNCED_AT_ONCE).map(({ id }) => id);
    await announceExceptions(trx, keyring, 'exception.opened', ids, workflowId);
  }
}

/** @returns the exception, unless the same stands there, or too many answers do */
async function addAnswer(
  trx: Executor,
  { kind, billingRequestId, refundId, says, bankTransactionId }: AnswerInDoubt,
  opens: boolean,
): Promise<{ id: string; sequence: number; at: Date } | undefined> {
  const [added] = await rows<{ id: string; sequence: number; at: Date }>(
    trx,
    `WITH added AS (
       INSERT INTO exception_answers (exception_id, says, bank_transaction_id, kind, answered_at)
       SELECT x.id, :says, :bankTransactionId, :kind, business_now(b.owner_id)
       FROM reconciliation_exceptions x JOIN billing_requests b ON b.id = x.billing_request_id
       WHERE b.id = :billingRequestId AND x.refund_id IS NOT DISTINCT FROM :refundId AND x.state <> 'resolved'
         AND (SELECT count(*) FROM exception_answers a WHERE a.exception_id = x.id) < ${ANSWERS_MAX}
       ON CONFLICT DO NOTHING RETURNING exception_id, answered_at)
     UPDATE reconciliation_exceptions x SET sequence = x.sequence + CASE WHEN :opens::boolean THEN 0 ELSE 1 END,
       bank_transaction_id = CASE WHEN x.direction IS NULL THEN coalesce(x.bank_transaction_id, :bankTransactionId) ELSE x.bank_transaction_id END
     FROM added WHERE x.id = added.exception_id RETURNING x.id, x.sequence, added.answered_at AS at`,
    { kind, billingRequestId, refundId, says, bankTransactionId, opens },
  );
  return added;
}

/** Whether nothing is in doubt about an exception `x` but what has opened it. */
export const IS_ALL_SAID = (x: string) => `(${x}.state <> 'resolved' AND NOT EXISTS (
  SELECT FROM exception_answers a WHERE a.exception_id = ${x}.id AND a.kind <> ${x}.kind))`;

/**
 * Sums up for each charge what its unresolved exceptions hold, as one UPDATE judges a refund.
 * Called whenever an exception begins, grows or ends, or its refund ends. The caller holds the
 * charges locked.
 */
export async function holdParts(trx: Executor, billingRequestIds: string[]): Promise<void> {
  if (billingRequestIds.length === 0) return;
  await rows(
    trx,
    `WITH due AS (
       SELECT b.id, coalesce(sum(${HELD}) FILTER (WHERE x.id IS NOT NULL), 0) AS held
       FROM billing_requests b
         LEFT JOIN reconciliation_exceptions x ON x.billing_request_id = b.id AND x.state <> 'resolved'
         LEFT JOIN refunds r ON r.id = x.refund_id
       WHERE b.id = ANY(:billingRequestIds) GROUP BY b.id)
     UPDATE billing_requests b SET held_amount = due.held FROM due WHERE b.id = due.id AND b.held_amount <> due.held`,
    { billingRequestIds },
  );
}
