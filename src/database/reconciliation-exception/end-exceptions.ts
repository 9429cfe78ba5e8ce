import type { ExceptionKind, Resolution } from '../../domain/books/reconciliation-exception';
import type { Cause } from '../../domain/words/timeline';
import { lockCharges } from '../agreement/agreement';
import { alignSpending } from '../agreement/spending-limit';
import type { Executor } from '../pool/connection';
import { raw } from '../pool/statement';
import type { Row } from '../transition/transition';
import { workflowIds } from '../../domain/workflow/workflow-id';
import { enqueueSignals } from '../outbox';
import { openUndelivered } from './open-exceptions';
import { writeExceptions } from './write-exceptions';

/**
 * Ends exceptions. `endExplained` and `endMatchedException` move no money; `resolve-exception.ts`
 * may. The callers hold agreements and charges locked.
 */

export interface Finding {
  resolution: Resolution;
  /** The bank's id of its reversal, or of a refund's transfer that is confirmed; null if none. */
  bankTransactionId: string | null;
}

interface End extends Finding {
  cause: Cause;
  note?: string | null;
  /** The money of the charge or refund did not stay. */
  undoes: boolean;
  /** Minor units that the bank owes no more. */
  writtenOff: bigint;
}

/** @returns the time of each end; an exception that had ended before has none */
export async function endExceptions(
  trx: Executor,
  exceptionIds: string[],
  { cause, note = null, undoes, writtenOff, ...finding }: End,
): Promise<{ at: Date }[]> {
  const ended = await trx.rows<Row & { kind: ExceptionKind; charge: string | null }>`
    UPDATE reconciliation_exceptions SET state = 'resolved', resolution = ${finding.resolution},
      sequence = sequence + 1,
      resolved_at = settling_now(coalesce(merchant_id, payee_bank_id, bank_id)), undoes = ${undoes},
      written_off = ${writtenOff.toString()},
      withdrawn = withdrawn OR (${finding.resolution} = 'confirmed' AND kind IN ('missing_at_bank', 'amount_differs')),
      reversal_bank_transaction_id = ${finding.bankTransactionId},
      bank_note = CASE ${cause} WHEN 'bank' THEN ${note} ELSE bank_note END,
      operator_note = CASE ${cause} WHEN 'operator' THEN coalesce(${note}, operator_note)
        ELSE operator_note END
    WHERE id = ANY(${exceptionIds}) AND state <> 'resolved' RETURNING id, kind, sequence, resolved_at AS at,
      CASE WHEN refund_id IS NULL THEN billing_request_id END AS charge`;
  await alignSpending(
    trx,
    ended.flatMap(({ charge }) => charge ?? []),
  );
  const resolved = ended.map(({ id, sequence, at, kind }) => {
    return { id, sequence, at, details: { kind, ...finding } };
  });
  await writeExceptions(trx, resolved, { event: 'exception.resolved', cause });
  await reportAgain(trx, exceptionIds, cause);
  if (!undoes) await tellUndelivered(trx, exceptionIds);
  if (ended.some(({ kind }) => kind === 'unknown_here')) await wakeSchedules(trx, exceptionIds);
  return ended;
}

/**
 * A billing may have waited for the end, and is tried again or fails. The row of its schedule,
 * which is locked before a charge, is not: a signal too many costs a read.
 */
async function wakeSchedules(trx: Executor, exceptionIds: string[]): Promise<void> {
  const held = await trx.rows<{ workflowId: string; merchantId: string }>`
    SELECT DISTINCT '${raw(workflowIds.recurring(''))}' || i.schedule_id AS workflow_id, b.merchant_id
    FROM reconciliation_exceptions x JOIN billing_requests b ON b.id = x.billing_request_id
      JOIN billings i ON (i.schedule_id, i.n) = (b.schedule_id, b.billing_n)
    WHERE x.id = ANY(${exceptionIds}) AND x.refund_id IS NULL AND i.status IN ('pending', 'retrying')`;
  await enqueueSignals(trx, 'bankAnswered', held);
}

/**
 * Bookings that no file has are reported again by the bank's next file: the exception that has
 * ended stood in their way, or ended by the bank's word that they are made.
 */
async function reportAgain(trx: Executor, exceptionIds: string[], cause: Cause): Promise<void> {
  await trx.rows`
    UPDATE expected_bookings e SET reported_in = NULL FROM reconciliation_exceptions x
    WHERE x.id = ANY(${exceptionIds}) AND e.billing_request_id = x.billing_request_id
      AND e.refund_id IS NOT DISTINCT FROM x.refund_id AND e.reported_in IS NOT NULL AND e.matched_by IS NULL
      AND (${cause} <> 'network' AND x.resolution <> 'confirmed' AND x.kind IN ('missing_at_bank', 'amount_differs')
        AND x.direction = e.direction) IS NOT TRUE`;
}

/** A credit that is overdue while another exception of its charge is open gets its own after it. */
async function tellUndelivered(trx: Executor, exceptionIds: string[]): Promise<void> {
  const overdue = await trx.rows<{ id: string }>`
    SELECT DISTINCT b.id FROM reconciliation_exceptions x
    JOIN billing_requests b ON b.id = x.billing_request_id
    WHERE x.id = ANY(${exceptionIds}) AND b.credit_overdue AND NOT b.credit_settled AND NOT EXISTS (
      SELECT FROM reconciliation_exceptions o
      WHERE o.billing_request_id = b.id AND o.kind = 'credit_undelivered')`;
  await openUndelivered(trx, overdue);
}

/** SQL: whether an exception `x` has only answers in doubt of its own kind. */
export const IS_ALL_SAID = `(x.state <> 'resolved' AND NOT EXISTS (
  SELECT FROM exception_answers a WHERE a.exception_id = x.id AND a.kind <> x.kind))`;

/** SQL: whether its bank’s files have a standing booking of an exception `x`. */
export const IS_BOOKED = `EXISTS (
  SELECT FROM extra_bookings e WHERE e.billing_request_id = x.billing_request_id
    AND e.refund_id IS NOT DISTINCT FROM x.refund_id AND e.stands)`;

/**
 * Ends exceptions that rows or an answer explain: no money moves.
 *
 * @param bankTransactionId of the line that took a booking back, if one did
 */
export async function endWithoutMoney(
  trx: Executor,
  cause: 'bank' | 'network',
  exceptions: { id: string }[],
  resolution: Resolution,
  bankTransactionId: string | null = null,
): Promise<void> {
  // Each charge that settles passes here, and hardly any has an exception.
  if (exceptions.length === 0) return;
  const ids = exceptions.map(({ id }) => id);
  await endExceptions(trx, ids, { cause, resolution, bankTransactionId, undoes: false, writtenOff: 0n });
}

/**
 * Ends exceptions of charges, or of one refund, that a later event explains in full, unless their
 * bank's files show otherwise.
 */
export async function endExplained(
  trx: Executor,
  cause: 'bank' | 'network',
  explained: {
    kind: ExceptionKind;
    resolution: Resolution;
    billingRequestIds: string[];
    refundId?: string | null;
    /** The kind of answers beneath it that are explained, too. */
    beneath?: ExceptionKind;
  },
): Promise<void> {
  const { kind, resolution, billingRequestIds, refundId = null, beneath = kind } = explained;
  const found = await trx.rows<{ id: string }>`
    SELECT id FROM reconciliation_exceptions x
    WHERE billing_request_id = ANY(${billingRequestIds}) AND refund_id IS NOT DISTINCT FROM ${refundId}
      AND kind = ${kind} AND state <> 'resolved' AND NOT EXISTS (
        SELECT FROM exception_answers a WHERE a.exception_id = x.id AND a.kind NOT IN (x.kind, ${beneath}))
      AND NOT ${raw(IS_BOOKED)}`;
  await endWithoutMoney(trx, cause, found, resolution);
}

export async function endDuplicates(
  trx: Executor,
  { billingRequestId, refundId }: { billingRequestId: string; refundId: string | null },
): Promise<void> {
  await endExplained(trx, 'network', {
    kind: 'duplicate_transaction_id',
    resolution: 'no_difference',
    billingRequestIds: [billingRequestId],
    refundId,
  });
}

/** Ends an exception that the bank's next file explains. Locks the charge. */
export async function endMatchedException(
  trx: Executor,
  { id, billingRequestId }: { id: string; billingRequestId: string },
): Promise<void> {
  await lockCharges(trx, [billingRequestId]);
  const free = await trx.rows<{ id: string }>`
    SELECT id FROM reconciliation_exceptions x WHERE id = ${id} AND NOT ${raw(IS_BOOKED)}`;
  await endWithoutMoney(trx, 'network', free, 'no_difference');
}
