import { entryOf } from '../../domain/books/ledger';
import type { Executor, Transaction } from '../pool/connection';
import { raw, sql, type Fragment } from '../pool/statement';
import { postEntries } from '../ledger/post-entries';
import { enqueueSignals } from '../outbox';
import { endExplained } from '../reconciliation-exception/end-exceptions';
import { openUndelivered } from '../reconciliation-exception/open-exceptions';
import { writeTransitions } from '../transition/write-transition';
import { withdraw } from '../webhook/withdraw-delivery';

/**
 * The credit of a payment between customers: the payee's bank learns that there is money to credit.
 *
 * The payer has been debited, so a credit never expires. It is done once `billing.credit` was
 * delivered, or read in the events feed. Until then the charge's workflow watches it; after a day
 * it is overdue, and an exception.
 */

/**
 * By then the webhook was tried ten times, a bank that was down for a night is back, and the payee
 * misses the money.
 */
const OVERDUE_AFTER = '24 hours';

/** SQL over a billing request `b`: its payee's bank was told, by webhook or in the events feed. */
const CREDITED = `(
  b.credit_settled
  OR EXISTS (SELECT FROM webhook_deliveries d JOIN webhook_endpoints w ON w.entity_id = d.entity_id
          WHERE d.id = b.credit_delivery_id
            AND ((d.created_xid, d.event_id) <= (w.feed_read_xid, w.feed_read_event_id)
                 OR EXISTS (SELECT FROM webhook_attempts a WHERE a.delivery_id = d.id AND a.error IS NULL)))
  OR EXISTS (SELECT FROM webhook_receipts r WHERE r.delivery_id = b.credit_delivery_id
             AND (r.delivered_at IS NOT NULL OR r.feed_read)))`;

/** SQL over a billing request `b`: its workflow has to wait for the credit, or settle it. */
export const CREDIT_WAITS = `(b.credit_due_at IS NOT NULL AND NOT b.credit_settled AND (NOT b.credit_overdue OR ${CREDITED}))`;

/** @param credits charges, each with the webhook that tells the payee's bank */
export async function expectCredits(
  trx: Executor,
  credits: { id: string; deliveryId: string }[],
): Promise<void> {
  if (credits.length === 0) return;
  const ids = credits.map(({ id }) => id);
  const deliveryIds = credits.map(({ deliveryId }) => deliveryId);
  await trx.rows`
    UPDATE billing_requests b SET credit_delivery_id = c.delivery_id,
      credit_due_at = b.closed_at + ${OVERDUE_AFTER}::interval
    FROM unnest(${ids}::text[], ${deliveryIds}::text[]) AS c (id, delivery_id)
    WHERE b.id = c.id`;
}

/**
 * Settles credits that a process delivered before it died, and opens an exception for each overdue
 * credit. The second of two callers finds nothing to do.
 *
 * It judges by a read after it has locked the charges. A delivery meanwhile settles its credit
 * before or after; a statement begun before the delivery would not see it.
 */
export async function followCredits(trx: Transaction, billingRequestIds: string[]): Promise<void> {
  await trx.rows`
    SELECT id FROM billing_requests WHERE id = ANY(${billingRequestIds}) ORDER BY id FOR NO KEY UPDATE`;
  const delivered = await trx.rows<{ id: string }>`
    SELECT b.credit_delivery_id AS id FROM billing_requests b
    WHERE b.id = ANY(${billingRequestIds}) AND b.credit_due_at IS NOT NULL AND NOT b.credit_settled
      AND ${raw(CREDITED)}`;
  if (delivered.length > 0)
    await resolveCredits(
      trx,
      delivered.map(({ id }) => id),
    );
  const overdue = await trx.rows<{ id: string; sequence: number; at: Date }>`
    UPDATE billing_requests b SET credit_overdue = true, sequence = b.sequence + 1
    WHERE b.id = ANY(${billingRequestIds}) AND business_now(b.biller_id) >= b.credit_due_at
      AND NOT b.credit_overdue AND NOT ${raw(CREDITED)}
    RETURNING b.id, b.sequence, business_now(b.biller_id) AS at`;
  await writeTransitions(
    trx,
    overdue.map((row) => ({ event: 'billing_request.credit_overdue', cause: 'network', row })),
  );
  await openUndelivered(trx, overdue);
}

interface Credited {
  id: string;
  reference: string;
  workflowId: string;
  overdue: boolean;
  amount: bigint;
  currency: string;
  bankId: string;
  merchantId: null;
  billerId: string;
  at: Date;
}

/** Resolves the exceptions of delivered credits, and signals waiting workflows. Safe to repeat. */
export async function settleCredits(trx: Transaction, deliveryIds: string[]): Promise<void> {
  const credited = await resolveCredits(trx, deliveryIds);
  await enqueueSignals(
    trx,
    'creditDelivered',
    credited.filter(({ overdue }) => !overdue),
  );
}

/**
 * Settles delivered credits without a signal, for a workflow that has told the bank itself and
 * reads again.
 */
export async function resolveCredits(
  trx: Transaction,
  deliveryIds: string[],
): Promise<Pick<Credited, 'workflowId' | 'merchantId' | 'bankId' | 'overdue'>[]> {
  const credited = await settle(trx, sql`b.credit_delivery_id = ANY(${deliveryIds})`);
  await endUndelivered(trx, credited);
  return credited;
}

/** @param which SQL over a billing request `b` */
async function settle(trx: Executor, which: Fragment): Promise<Credited[]> {
  const credited = await trx.rows<Credited>`
    WITH open AS (
      SELECT b.id FROM billing_requests b WHERE ${which} AND NOT b.credit_settled
      ORDER BY b.id FOR NO KEY UPDATE)
    UPDATE billing_requests b SET credit_settled = true FROM open WHERE b.id = open.id
    RETURNING b.id, b.reference, b.workflow_id, b.credit_overdue AS overdue, b.amount, b.currency, b.bank_id,
      b.merchant_id, b.biller_id, settling_now(b.biller_id) AS at`;
  const entries = credited.map((credit) => {
    const { id, reference: identifier, at: settledAt } = credit;
    const booked = { identifier, billingRequestId: id };
    return entryOf({ kind: 'credit', resourceId: id, settledAt, paid: credit, booked });
  });
  await postEntries(trx, entries);
  return credited;
}

async function endUndelivered(trx: Executor, charges: { id: string }[]): Promise<void> {
  const billingRequestIds = charges.map(({ id }) => id);
  const undelivered = { kind: 'credit_undelivered', resolution: 'no_difference', billingRequestIds } as const;
  await endExplained(trx, 'network', undelivered);
}

/**
 * Withdraws the credit webhook of a reversed payment, so that the payee's bank does not credit its
 * customer for nothing. A webhook that the bank may have seen is sent no further, but the bank is
 * watched as before, for it may have credited.
 *
 * The caller holds the charge locked.
 *
 * @returns whether the payee's bank was never told, and never will be
 */
export async function withdrawCredit(trx: Executor, billingRequestId: string): Promise<boolean> {
  const open = await trx.row`
    SELECT id FROM billing_requests WHERE id = ${billingRequestId} AND NOT credit_settled`;
  if (!open || (await withdraw(trx, 'credits', [billingRequestId])).size === 0) return false;
  const charge = await trx.oneRow<Pick<Credited, 'workflowId' | 'bankId'>>`
    UPDATE billing_requests SET credit_delivery_id = NULL, credit_due_at = NULL, credit_overdue = false
    WHERE id = ${billingRequestId} RETURNING workflow_id, bank_id`;
  await endUndelivered(trx, [{ id: billingRequestId }]);
  // The workflow waits no more.
  await enqueueSignals(trx, 'creditDelivered', [charge]);
  return true;
}

/**
 * Settles a credit that an operator found out about by asking the payee's bank. The caller holds
 * the charge locked.
 */
export async function settleCreditByWord(trx: Executor, billingRequestId: string): Promise<void> {
  await settle(
    trx,
    sql`b.id = ${billingRequestId} AND b.credit_due_at IS NOT NULL AND b.reversed_amount < b.amount`,
  );
}

export interface Credit {
  /** `undelivered`: the webhook was given up, and can be sent again by hand. */
  status: 'pending' | 'delivered' | 'undelivered';
  overdue: boolean;
  dueBy: Date;
}

/** @returns undefined for other kinds of charges, and for those that have not succeeded */
export async function readCredit(db: Executor, billingRequestId: string): Promise<Credit | undefined> {
  return db.row<Credit>`
    SELECT credit_due_at AS due_by, overdue AND NOT credited AS overdue,
      CASE WHEN credited THEN 'delivered'
           WHEN EXISTS (SELECT FROM webhook_deliveries d
           WHERE d.id = credit_delivery_id AND d.status = 'pending')
           THEN 'pending' ELSE 'undelivered' END AS status
    FROM (SELECT b.credit_due_at, b.credit_delivery_id,
      business_now(b.biller_id) >= b.credit_due_at AS overdue,
            ${raw(CREDITED)} AS credited
          FROM billing_requests b WHERE b.id = ${billingRequestId} AND b.credit_due_at IS NOT NULL) AS c`;
}
