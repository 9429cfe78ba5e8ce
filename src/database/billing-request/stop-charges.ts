import { windowPassed } from '../clock/window-passed';
import type { Executor } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { isUnseen, undeliveredOf, withdraw } from '../webhook/withdraw-delivery';
import {
  close,
  ENDED_COLUMNS,
  judgeClosed,
  MAY_HAVE_PAID,
  type ClosedBy,
  type Ended,
} from './close-billing-requests';

/** An open charge, which its bank may deny. */
export interface PendingCharge {
  billingRequestId: string;
  reference: string;
  amount: bigint;
  currency: string;
}

/**
 * Most charges that one call closes, oldest first: each may have a webhook of 60 kB to shorten, in
 * the time of one call. The same call again closes the next.
 */
const STOPPED_MAX = 200;
/** Charges that the answer names: a bank denies them one by one. */
const NAMED_MAX = 1_000;
/** Settings allow no window of more than 365 days: older charges of the pair have ended. */
const LONGEST_WINDOW = `interval '366 days'`;

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
  const open = sql`
    FROM (SELECT *, business_now(merchant_id) AS now FROM agreements WHERE id = ${agreementId}) AS a
      JOIN billing_requests b ON b.customer_id = a.customer_id AND b.merchant_id = a.merchant_id
    WHERE a.decision = 'deny' AND b.status = 'pending' AND NOT ${windowPassed(sql`a.now`)}
      AND b.created_at > a.now - ${raw(LONGEST_WINDOW)}
      AND (b.agreement_id = a.id OR a.blocked AND b.agreement_id IS NULL)`;
  // Charges that cannot be closed would else keep the others from their turn.
  const found = await trx.rows<{ id: string }>`
    SELECT b.id ${open} AND NOT ${raw(MAY_HAVE_PAID)} AND (b.approval_required OR ${raw(isUnseen('b.bank_delivery_id'))})
    ORDER BY b.id LIMIT ${raw(STOPPED_MAX)} FOR NO KEY UPDATE OF b`;
  const ids = found.map(({ id }) => id);
  if (ids.length > 0) await decline(trx, ids, by);
  return trx.rows<PendingCharge>`
    SELECT b.id AS billing_request_id, b.reference, b.amount::bigint, b.currency ${open}
    ORDER BY b.id LIMIT ${raw(NAMED_MAX)}`;
}

async function decline(trx: Executor, ids: string[], by: Exclude<ClosedBy, 'network'>): Promise<void> {
  const undelivered = await undeliveredOf(trx, 'charges', ids);
  const stopped = await trx.rows<Ended>`
    UPDATE billing_requests b SET
      status = 'declined', closed_by = ${by}, decline_reason = 'denied', closed_at = business_now(b.biller_id),
      sequence = b.sequence + 1
    WHERE b.id = ANY(${ids}) AND (b.approval_required OR b.id = ANY(${[...undelivered]}))
      AND NOT ${raw(MAY_HAVE_PAID)}
    RETURNING ${raw(ENDED_COLUMNS)}`;
  const stoppedIds = stopped.map(({ id }) => id);
  await withdraw(trx, 'charges', stoppedIds);
  await close(trx, stopped, { cause: by, undelivered, signal: 'cancelled', tellsPayersBank: true });
  await judgeClosed(trx, stopped);
}
