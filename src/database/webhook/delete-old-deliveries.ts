import { createHash } from 'node:crypto';
import type { WebhookType } from '../../domain/webhook/webhook';
import type { Executor } from '../pool/connection';
import { raw } from '../pool/statement';
import { firstIdAt } from '../identifier/new-id';
import type { Keyring } from '../keyring/keyring';
import { decryptOwn } from '../keyring/encrypt';
import { bodyPlace } from './announce-webhooks';

/**
 * Deliveries, their bodies and attempts are kept for a time and then forgotten. A receipt of what
 * asked a bank to move money stays for good: to whom, whether it arrived, and the hash of the body.
 *
 * Deliveries are the receiver's events feed as well, so `feed_horizon` says up to when some of it
 * may be gone.
 */

/** Types that ask a bank to move money. */
const ASKING: WebhookType[] = ['billing.request', 'refund.request', 'billing.credit'];

/** Most deliveries that one statement forgets: their bodies, up to 60 kB, fit into memory. */
const SWEEP = 200;

const DAY_MS = 86_400_000;

/**
 * Forgets the oldest deliveries past their time, but none that is pending. A receiver that has left
 * has pending ones for good, so a run goes on behind those that it has passed.
 *
 * @param after where the run's batch before has ended
 * @returns where this batch has ended; false without more
 */
export async function forgetDeliveries(db: Executor, keptDays: number, after = ''): Promise<string | false> {
  // Ids sort by time, so the primary key leads to the oldest. The database's clock has the last
  // word.
  const before = firstIdAt('delivery', new Date(Date.now() - keptDays * DAY_MS));
  const past = await db.rows<{ id: string; bodyEncrypted: Buffer | null }>`
    SELECT id, CASE WHEN webhook_type = ANY(${ASKING}) THEN body_encrypted END AS body_encrypted
    FROM webhook_deliveries
    WHERE id > ${after} AND id < ${before} AND status <> 'pending'
      AND created_at < clock_timestamp() - ${keptDays} * interval '1 day'
    ORDER BY id LIMIT ${raw(SWEEP)} FOR UPDATE SKIP LOCKED`;
  if (past.length === 0) return false;
  const ids = past.map(({ id }) => id);
  const hashes = past.map((one) => hashOf(db.keyring, one));
  // Since they were read, some may have been redelivered, or forgotten by another process.
  await db.rows`
    WITH past AS (
      SELECT d.id, given.hash FROM webhook_deliveries d
      JOIN unnest(${ids}::text[], ${hashes}::bytea[]) AS given (id, hash) USING (id)
      WHERE d.status <> 'pending' ORDER BY d.id FOR UPDATE OF d SKIP LOCKED
    ), attempts AS (
      DELETE FROM webhook_attempts a USING past WHERE a.delivery_id = past.id
    ), receipts AS (
      INSERT INTO webhook_receipts (delivery_id, entity_id, webhook_type, announced_at, sent, delivered_at,
      feed_read,
        body_sha256)
      SELECT d.id, d.entity_id, d.webhook_type, d.created_at, d.sent,
        (SELECT min(at) FROM webhook_attempts WHERE delivery_id = d.id AND error IS NULL),
        d.withdrawn_at IS NULL AND EXISTS (SELECT FROM webhook_endpoints w WHERE w.entity_id = d.entity_id
                AND (d.created_xid, d.event_id) <= (w.feed_read_xid, w.feed_read_event_id)), past.hash
      FROM past JOIN webhook_deliveries d USING (id) WHERE d.webhook_type = ANY(${ASKING})
    ), gone AS (
      DELETE FROM webhook_deliveries d USING past WHERE d.id = past.id RETURNING d.created_at
    )
    UPDATE feed_horizon SET passed = latest FROM (SELECT max(created_at) AS latest FROM gone) AS g
    WHERE latest > passed`;
  return past[SWEEP - 1]?.id ?? false;
}

/** Null where its key is gone, or without a body. */
function hashOf(
  ring: Keyring,
  { id, bodyEncrypted }: { id: string; bodyEncrypted: Buffer | null },
): Buffer | null {
  const body = bodyEncrypted && decryptOwn(ring, bodyEncrypted, bodyPlace(id));
  return body == null ? null : createHash('sha256').update(body).digest();
}
