import type { Step } from '../../domain/words/timeline';
import type { Executor } from '../pool/connection';
import { customPlan } from '../pool/statement';
import { readBodies } from '../webhook/read-body';
import { idsInBody } from './find-subject';

/** The webhooks of a timeline: announcements, attempts, and receipts of forgotten webhooks. */

/**
 * Webhooks about the given ids that the events' transactions announced, and webhooks that charges,
 * refunds and intents name. Each comes with its announcing transaction, oldest first.
 */
export async function readDeliveries(
  db: Executor,
  of: {
    ids: Set<string>;
    parties: string[];
    commitIds: string[];
    batchIds: Set<string>;
    certain: string[];
    limit: number;
  },
): Promise<(Step<'webhook'> & { commitId: string })[]> {
  const { parties: entityIds, commitIds, certain, limit } = of;
  const found = await customPlan(db).rows<
    Omit<Step<'webhook'>, 'what'> & { commitId: string; batchId: string }
  >`
    SELECT d.created_at AS at, d.commit_id, d.id AS delivery_id, d.batch_id, d.webhook_type,
      d.entity_id AS receiver_id, d.status, d.attempts, d.workflow_id,
      d.withdrawn_at IS NOT NULL AS withdrawn, w.url IS NOT NULL AS has_url,
      (d.created_xid, d.event_id) <= (w.feed_read_xid, w.feed_read_event_id) AS read_in_feed
    FROM webhook_deliveries d JOIN webhook_endpoints w ON w.entity_id = d.entity_id
    WHERE d.id IN (
      SELECT a.id FROM unnest(${commitIds}::uuid[]) AS t (id),
        LATERAL (SELECT id FROM webhook_deliveries
                 WHERE commit_id = t.id AND entity_id = ANY(${entityIds}) LIMIT ${limit}) AS a
      UNION SELECT unnest(${certain}::text[]))
    ORDER BY d.event_id DESC LIMIT ${limit}`;
  const isSure = ({ deliveryId, batchId }: { deliveryId: string; batchId: string }) =>
    of.batchIds.has(batchId) || certain.includes(deliveryId);
  const unsure = found.filter((one) => !isSure(one)).map(({ deliveryId }) => deliveryId);
  const bodies = await readBodies(db, unsure);
  const ours = new Set(
    bodies.filter((one) => idsInBody(db.keyring, one).some((id) => of.ids.has(id))).map(({ id }) => id),
  );
  return found
    .toReversed()
    .filter((one) => isSure(one) || ours.has(one.deliveryId))
    .map((one) => {
      const { batchId: _, ...announced } = one;
      return { ...announced, what: 'webhook' as const };
    });
}

/** The latest attempts, oldest first. */
export async function readAttempts(
  db: Executor,
  deliveryIds: string[],
  limit: number,
): Promise<Step<'attempt'>[]> {
  const latest = await customPlan(db).rows<Step<'attempt'>>`
    SELECT a.at, 'attempt' AS what, a.delivery_id, d.webhook_type,
      d.entity_id AS receiver_id, a.n, a.http_status, a.error, a.duration_ms
    FROM webhook_attempts a JOIN webhook_deliveries d ON d.id = a.delivery_id
    WHERE a.delivery_id = ANY(${deliveryIds}) ORDER BY a.at DESC, a.n DESC LIMIT ${limit}`;
  return latest.toReversed();
}

/** Receipts of forgotten webhooks that asked for money to be moved. */
export async function readReceipts(db: Executor, deliveryIds: string[]): Promise<Step<'receipt'>[]> {
  return db.rows<Step<'receipt'>>`
    SELECT announced_at AS at, 'receipt' AS what, delivery_id, webhook_type,
      entity_id AS receiver_id, sent AS attempts, delivered_at,
      encode(body_sha256, 'hex') AS body_sha256
    FROM webhook_receipts WHERE delivery_id = ANY(${deliveryIds})`;
}
