import { windowPassed } from '../clock/window-passed';
import type { Executor } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { undeliveredOf, withdraw } from '../webhook/withdraw-delivery';
import { close, ENDED_COLUMNS, judgeClosed, type ClosedBy, type Ended } from './close-billing-requests';

/** A charge that its bank has been asked for, and that is open. */
export interface PendingCharge {
  billingRequestId: string;
  reference: string;
  amount: bigint;
  currency: string;
}

/**
 * Most charges that a denial looks at, oldest first: far more than one customer has open, and their
 * end takes seconds.
 */
const STOPPED_MAX = 10_000;
/** Charges that the answer names: a bank denies them one by one. */
const NAMED_MAX = 1_000;

/**
 * Declines the pending charges of a denied agreement that wait for their customer, or whose request
 * no bank can have seen; where it is blocked, one-time charges of the pair, too. The caller holds
 * the agreement locked, so no charge follows.
 *
 * @returns the charges that stay open, for their bank to answer; none where the agreement stands
 */
export async function stopCharges(
  trx: Executor,
  agreementId: string,
  by: Exclude<ClosedBy, 'network'>,
): Promise<PendingCharge[]> {
  const pending = await trx.rows<PendingCharge>`
    SELECT b.id AS billing_request_id, b.reference, b.amount::bigint, b.currency
    FROM agreements a JOIN billing_requests b ON b.customer_id = a.customer_id AND b.merchant_id = a.merchant_id
    WHERE a.id = ${agreementId} AND a.decision = 'deny' AND b.status = 'pending'
      AND (b.agreement_id = a.id OR a.blocked AND b.agreement_id IS NULL)
      AND NOT ${windowPassed(sql`business_now(b.biller_id)`)}
    ORDER BY b.id LIMIT ${raw(STOPPED_MAX)} FOR NO KEY UPDATE OF b`;
  if (pending.length === 0) return [];
  const pendingIds = pending.map((one) => one.billingRequestId);
  const undelivered = await undeliveredOf(trx, 'charges', pendingIds);
  const stopped = await trx.rows<Ended>`
    UPDATE billing_requests b SET
      status = 'declined', closed_by = ${by}, decline_reason = 'denied', closed_at = business_now(b.biller_id),
      sequence = b.sequence + 1
    WHERE b.id = ANY(${pendingIds}) AND (b.approval_required OR b.id = ANY(${[...undelivered]}))
      -- The bank has approved under an id that it had used: money may have moved.
      AND NOT EXISTS (SELECT FROM reconciliation_exceptions x
                      WHERE x.billing_request_id = b.id AND x.state <> 'resolved')
    RETURNING ${raw(ENDED_COLUMNS)}`;
  const stoppedIds = new Set(stopped.map((one) => one.id));
  await withdraw(trx, 'charges', [...stoppedIds]);
  await close(trx, stopped, { cause: by, undelivered, signal: 'cancelled', tellsPayersBank: true });
  await judgeClosed(trx, stopped);
  return pending.filter((one) => !stoppedIds.has(one.billingRequestId)).slice(0, NAMED_MAX);
}
