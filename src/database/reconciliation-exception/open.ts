import type { ExceptionKind } from '../../domain/books/reconciliation-exception';
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
 * - of a refund its amount, where the bank tells of one transfer more than is counted
 *   (`holdRefunds`). Transfers with different ids count each. An id that was refused, as it belongs
 *   to something else, is no transfer of its own: together with one that the bank names before or
 *   after it, it holds the amount once.
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
                  ELSE 0 END,
             settling_now(b.owner_id)
           FROM billing_requests b LEFT JOIN refunds r ON r.id = :refundId AND r.billing_request_id = b.id
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
  for (const { id, held: heldOfCharge, sequence, at, ...about } of opened) {
    await rows(
      trx,
      `UPDATE billing_requests SET held_amount = held_amount + :held::bigint
       WHERE id = :billingRequestId AND :held::bigint > 0`,
      { billingRequestId, held: heldOfCharge.toString() },
    );
    const heldOfRefund = await holdRefunds(trx, refundId === null ? [] : [refundId]);
    const held = heldOfRefund.find((one) => one.id === id)?.held ?? heldOfCharge;
    const details = { ...about, held };
    const type = sequence === 1 ? 'exception.opened' : 'exception.updated';
    const { outcome, bankTransactionId } = facts;
    await recordEvents(trx, [
      { resourceId: id, sequence, type, cause, details: { ...details, outcome, bankTransactionId }, at },
    ]);
  }
  return joined.length > 0 ? undefined : opened[0]?.id;
}

/**
 * Keeps out of what is left of a charge what its bank may have sent back with its refunds and is
 * not counted:
 *
 * - the amount for each transfer that its bank tells of in doubt;
 * - what a statement has booked with another amount: beyond the refund, where the booking is the
 *   one that is counted, or a transfer in doubt; else all of it, up to the amount. Of a pending
 *   refund one booking may yet be counted: that with which the most is held;
 * - for an id that was refused, once and only where the refund is rejected or returned, what these
 *   two leave of the amount.
 *
 * All amounts held are set anew whenever one of these is opened or resolved, and when a refund
 * ends: they depend on each other. If a transfer turns out never to have happened, the refused id
 * that it accounted for is in doubt again. The caller holds the charges locked.
 *
 * @returns the exceptions that hold another amount than before
 */
export async function holdRefunds(
  trx: Executor,
  refundIds: string[],
): Promise<{ id: string; held: bigint }[]> {
  if (refundIds.length === 0) return [];
  return rows(
    trx,
    `WITH open AS (
       SELECT x.*, r.status, r.bank_transaction_id AS settled_by, x.kind = 'refund_conflict' AND x.outcome = 'completed' AS transfer,
         CASE WHEN x.direction = 'credit' AND x.booked_currency = x.currency THEN x.booked_amount ELSE x.amount END AS booked
       FROM refunds r JOIN reconciliation_exceptions x ON x.billing_request_id = r.billing_request_id AND x.refund_id = r.id
       WHERE r.id = ANY(:refundIds) AND x.state <> 'resolved'
         AND x.kind IN ('refund_conflict', 'duplicate_transaction_id', 'amount_differs')),
     weighed AS (
       SELECT *, bool_or(transfer) OVER (PARTITION BY refund_id, bank_transaction_id) OR coalesce(bank_transaction_id = CASE status
           WHEN 'completed' THEN settled_by
           WHEN 'pending' THEN first_value(bank_transaction_id) OVER (PARTITION BY refund_id
             ORDER BY kind <> 'amount_differs', least(amount, booked) - least(amount, greatest(0, booked - amount)), id)
         END, false) AS counted
       FROM open),
     moved AS (
       SELECT *, CASE
         WHEN transfer THEN amount
         WHEN kind = 'amount_differs' THEN least(amount, greatest(0, booked - CASE WHEN counted THEN amount ELSE 0 END))
         ELSE 0 END AS moved
       FROM weighed),
     due AS (
       SELECT id, held AS before, CASE
         WHEN status IN ('rejected', 'returned') AND id = min(id) FILTER (WHERE kind = 'duplicate_transaction_id') OVER (PARTITION BY refund_id)
           THEN greatest(0, amount - sum(moved) OVER (PARTITION BY refund_id))::bigint
         ELSE moved END AS held
       FROM moved),
     changed AS (
       UPDATE reconciliation_exceptions x SET held = due.held FROM due WHERE x.id = due.id AND due.before <> due.held
       RETURNING x.id, x.held, x.billing_request_id, x.held - due.before AS more),
     summed AS (
       UPDATE billing_requests b SET held_amount = b.held_amount + c.more
       FROM (SELECT billing_request_id, sum(more) AS more FROM changed GROUP BY 1) AS c WHERE b.id = c.billing_request_id)
     SELECT id, held FROM changed`,
    { refundIds },
  );
}
