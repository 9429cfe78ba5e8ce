import type { WebhookType } from '../../domain/webhook';
import { row, type Executor } from '../connection';
import { firstIdAt } from '../ids';

/**
 * Deliveries, their bodies and attempts are kept for a time and then forgotten; what they spoke of
 * is kept for good, and so is which attempts may have had a bank move money, and whether it read of
 * it in its feed: one row for each delivery that asked for it. They are the receiver's events feed
 * as well, so `feed_horizon` says up to when some of it may be gone.
 */

/** By these a bank is asked to move money. Whether it was is never forgotten. */
const ASKING: WebhookType[] = ['billing.request', 'refund.request', 'billing.credit'];

/** Most deliveries that one statement forgets, so that it never holds locks for long. */
const SWEEP = 1_000;

const DAY_MS = 86_400_000;

/**
 * Forgets the oldest deliveries past their time, but none that is still to be delivered: one that
 * was asked for once more stays until that has ended.
 *
 * @returns whether there may be more
 */
export async function forgetDeliveries(db: Executor, keptDays: number): Promise<boolean> {
  const forgotten = await row<{ count: number }>(
    db,
    // Ids sort by time, so the primary key leads to the oldest. The database's clock has the last
    // word.
    `WITH past AS (
       SELECT id FROM webhook_deliveries
       WHERE id < :before AND status <> 'pending' AND created_at < clock_timestamp() - :keptDays * interval '1 day'
       ORDER BY id LIMIT :sweep FOR UPDATE SKIP LOCKED
     ), attempts AS (
       DELETE FROM webhook_attempts a USING past WHERE a.delivery_id = past.id
     ), receipts AS (
       INSERT INTO webhook_receipts (delivery_id, entity_id, webhook_type, announced_at, sent, delivered_at, unanswered_at,
         feed_read)
       SELECT d.id, d.entity_id, d.webhook_type, d.created_at, d.sent, a.delivered_at, coalesce(a.unanswered_at, '{}'),
         d.withdrawn_at IS NULL AND EXISTS (SELECT FROM webhook_endpoints w WHERE w.entity_id = d.entity_id
                 AND (d.created_xid, d.event_id) <= (w.feed_read_xid, w.feed_read_event_id))
       FROM webhook_deliveries d, LATERAL (
         SELECT min(at) FILTER (WHERE error IS NULL) AS delivered_at,
           array_agg(at ORDER BY n) FILTER (WHERE http_status IS NULL AND reached IS DISTINCT FROM 'no') AS unanswered_at
         FROM webhook_attempts WHERE delivery_id = d.id) AS a
       WHERE d.id IN (SELECT id FROM past) AND d.webhook_type = ANY(:asking)
     ), gone AS (
       DELETE FROM webhook_deliveries d USING past WHERE d.id = past.id RETURNING d.created_at
     ), horizon AS (
       UPDATE feed_horizon SET passed = latest FROM (SELECT max(created_at) AS latest FROM gone) AS g WHERE latest > passed
     )
     SELECT count(*)::int AS count FROM gone`,
    {
      asking: ASKING,
      before: firstIdAt('delivery', new Date(Date.now() - keptDays * DAY_MS)),
      keptDays,
      sweep: SWEEP,
    },
  );
  return forgotten?.count === SWEEP;
}
