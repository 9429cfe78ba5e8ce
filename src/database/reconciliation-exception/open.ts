import type { ExceptionKind } from '../../domain/reconciliation-exception';
import { rows, type Executor } from '../connection';
import { recordEvents, type AuditEvent } from '../event';
import { newId } from '../ids';

/** Reconciliation exceptions: each is opened once, however often its cause comes again. */

interface NewException {
  kind: ExceptionKind;
  billingRequestId: string;
  /** Where it is about a refund of that charge. */
  refundId?: string;
  /** What the bank said, where it said anything. */
  said?: {
    outcome: 'approved' | 'declined' | 'completed' | 'rejected';
    bankTransactionId: string | null;
    reason: string | null;
  };
  cause: AuditEvent['cause'];
}

interface Opened {
  id: string;
  kind: ExceptionKind;
  billingRequestId: string;
  refundId: string | null;
  amount: bigint;
  currency: string;
  held: bigint;
  sequence: number;
  at: Date;
}

const OPENED = `x.id, x.kind, x.billing_request_id AS "billingRequestId", x.refund_id AS "refundId", x.amount, x.currency,
  x.held, x.sequence`;

/**
 * Answers of its bank to one charge that wait at once for somebody to look into. Whoever looks has
 * seen enough of that bank by then; it is answered 409 all the same, and each that is resolved
 * makes room.
 */
const UNRESOLVED_MAX = 100;

/**
 * Opens an exception, unless it is open already. A late answer joins the exception of the silence
 * before it: both are one story.
 *
 * An open exception holds money, which then cannot be refunded:
 *
 * - of a successful charge all of it, unless the bank names the very debit that is counted;
 * - of a refund its amount, where the bank tells of one transfer more than is counted. Transfers
 *   with different ids count each. An id that was refused, as it belongs to something else, is no
 *   transfer of its own: together with one that the bank names before or after it, it holds the
 *   amount once.
 *
 * The caller holds the charge locked, and tells both sides (`announceExceptions`).
 *
 * @returns its id where it was opened now
 */
export async function openException(trx: Executor, exception: NewException): Promise<string | undefined> {
  const { kind, billingRequestId, refundId = null, said, cause } = exception;
  const facts = {
    kind,
    billingRequestId,
    outcome: said?.outcome ?? null,
    bankTransactionId: said?.bankTransactionId ?? null,
    reason: said?.reason ?? null,
  };
  const joined =
    kind === 'late_answer'
      ? await rows<Opened>(
          trx,
          `UPDATE reconciliation_exceptions x SET kind = :kind, outcome = :outcome,
             bank_transaction_id = :bankTransactionId, reason = :reason, sequence = x.sequence + 1
           FROM billing_requests b
           WHERE x.billing_request_id = :billingRequestId AND x.kind = 'unanswered' AND x.state <> 'resolved'
             AND b.id = x.billing_request_id
           RETURNING ${OPENED}, business_now(b.owner_id) AS at`,
          facts,
        )
      : [];
  const opened =
    joined.length > 0
      ? joined
      : await rows<Opened>(
          trx,
          `INSERT INTO reconciliation_exceptions AS x (id, kind, billing_request_id, refund_id, amount, currency, outcome,
             bank_transaction_id, reason, held, opened_at)
           SELECT :id, :kind, b.id, r.id, coalesce(r.amount, b.amount), b.currency, :outcome, :bankTransactionId, :reason,
             CASE WHEN :kind = 'conflicting_answer' AND b.status = 'successful'
                    AND b.bank_transaction_id IS DISTINCT FROM :bankTransactionId THEN b.amount
                  WHEN :kind = 'refund_conflict' AND :outcome = 'completed' AND kept.holding <= kept.transfers THEN r.amount
                  WHEN :kind = 'duplicate_transaction_id' AND r.status = 'rejected' AND kept.holding = 0 THEN r.amount
                  ELSE 0 END,
             settling_now(b.owner_id)
           FROM billing_requests b LEFT JOIN refunds r ON r.id = :refundId AND r.billing_request_id = b.id,
             LATERAL (SELECT count(*) FILTER (WHERE held > 0) AS holding,
                        count(*) FILTER (WHERE kind = 'refund_conflict' AND outcome = 'completed') AS transfers
                      FROM reconciliation_exceptions
                      WHERE billing_request_id = b.id AND refund_id = r.id AND state <> 'resolved') AS kept
           WHERE b.id = :billingRequestId AND (:kind <> 'unanswered' OR NOT EXISTS (
             SELECT FROM reconciliation_exceptions l WHERE l.billing_request_id = b.id AND l.kind = 'late_answer'))
             AND NOT EXISTS (
               SELECT FROM reconciliation_exceptions s
               WHERE s.billing_request_id = b.id AND s.refund_id IS NOT DISTINCT FROM r.id AND s.kind = :kind
                 AND s.outcome = :outcome AND s.outcome IN ('declined', 'rejected') AND s.state <> 'resolved')
             AND (:outcome::text IS NULL OR (
               SELECT count(*) FROM (SELECT FROM reconciliation_exceptions u
                                     WHERE u.billing_request_id = b.id AND u.state <> 'resolved' LIMIT ${UNRESOLVED_MAX}) AS open
               ) < ${UNRESOLVED_MAX})
           ON CONFLICT DO NOTHING RETURNING ${OPENED}, x.opened_at AS at`,
          { ...facts, id: newId('exception'), refundId },
        );
  for (const { id, held, sequence, at, ...details } of opened) {
    await rows(
      trx,
      `UPDATE billing_requests SET held_amount = held_amount + :held::bigint
       WHERE id = :billingRequestId AND :held::bigint > 0`,
      { billingRequestId, held: held.toString() },
    );
    const type = sequence === 1 ? 'exception.opened' : 'exception.updated';
    const { outcome, bankTransactionId } = facts;
    await recordEvents(trx, [
      { resourceId: id, sequence, type, cause, details: { ...details, outcome, bankTransactionId }, at },
    ]);
  }
  return joined.length > 0 ? undefined : opened[0]?.id;
}

/**
 * A refund that its bank has called completed, if only by an id that was refused, and now rejects
 * may have been paid all the same: its amount stays out of what is left. The caller holds the
 * charge locked.
 */
export async function holdRejectedRefund(trx: Executor, refundId: string): Promise<void> {
  await rows(
    trx,
    `WITH doubtful AS (
       UPDATE reconciliation_exceptions SET held = amount
       WHERE id = (SELECT min(id) FROM reconciliation_exceptions
                   WHERE billing_request_id = (SELECT billing_request_id FROM refunds WHERE id = :refundId)
                     AND refund_id = :refundId AND kind = 'duplicate_transaction_id' AND state <> 'resolved')
       RETURNING billing_request_id, held)
     UPDATE billing_requests b SET held_amount = b.held_amount + d.held FROM doubtful d WHERE b.id = d.billing_request_id`,
    { refundId },
  );
}
