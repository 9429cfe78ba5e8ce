import { groupBy } from '../../domain/group';
import type { Executor } from '../pool/connection';
import { raw } from '../pool/statement';
import { bodiesWithout } from './announce-webhooks';

/**
 * Withdraws webhooks that ask a bank for something that has ended without its answer, or was
 * reversed.
 *
 * One order of locks decides whether a bank may have been told: the delivery first, then its
 * receiver's endpoint. A sender changes the delivery before it sends, and a reader of the feed
 * holds the endpoint before it reads. So each of them is either seen here, or sees this.
 */

/** `sharedBy`: the indexed column of a webhook's rows. `asksFor`: rows that it still asks for. */
const ASKED = {
  charges: {
    table: 'billing_requests',
    delivery: 'bank_delivery_id',
    receiver: 'bank_id',
    item: 'billingRequestId',
    sharedBy: 'workflow_id',
    asksFor: `o.status = 'pending'`,
  },
  intents: {
    table: 'intents',
    delivery: 'bank_delivery_id',
    receiver: 'bank_id',
    item: 'intentId',
    sharedBy: 'bank_delivery_id',
    // A superseded intent is announced all the same.
    asksFor: `o.status IN ('pending', 'superseded')`,
  },
  // A bank's answer settles one payment, so each credit has a webhook of its own.
  credits: {
    table: 'billing_requests',
    delivery: 'credit_delivery_id',
    receiver: 'biller_id',
    item: 'billingRequestId',
    sharedBy: 'id',
    asksFor: 'false',
  },
} as const;

/** SQL: not a byte of a delivery `d` was sent, and it has not been read in the feed of `w`. */
const UNSEEN = `d.sent = 0 AND d.status <> 'delivered'
  AND (d.created_xid, d.event_id) > (w.feed_read_xid, w.feed_read_event_id)`;

/** SQL: the same of a delivery by its id, as it is before the locks. */
export const isUnseen = (id: string) => `EXISTS (
  SELECT FROM webhook_deliveries d JOIN webhook_endpoints w ON w.entity_id = d.entity_id WHERE d.id = ${id} AND ${UNSEEN})`;

interface Asked {
  id: string;
  deliveryId: string;
  undelivered: boolean;
  /** The delivery asks for something else that is open or superseded. */
  isShared: boolean;
}

/**
 * Withdraws webhooks that no bank can have seen, or takes the ended items out of them. A webhook
 * that a bank may have seen is not retried once nothing in it is open: the bank would debit for
 * nothing.
 *
 * The caller holds their rows locked.
 *
 * @returns ids whose bank was never told of them, so that its next webhook about one is number 1
 */
export async function withdraw(
  trx: Executor,
  asked: keyof typeof ASKED,
  ids: string[],
): Promise<Set<string>> {
  const found = await lockDeliveries(trx, asked, ids);
  const undelivered = found.filter((one) => one.undelivered);
  await endDeliveries(
    trx,
    found.filter(({ isShared }) => !isShared),
  );
  await shortenBodies(
    trx,
    ASKED[asked].item,
    undelivered.filter(({ isShared }) => isShared),
  );
  return new Set(undelivered.map(({ id }) => id));
}

/** Ids whose bank was not told of them, nor will be before the transaction ends. */
export async function undeliveredOf(
  trx: Executor,
  asked: keyof typeof ASKED,
  ids: string[],
): Promise<Set<string>> {
  const found = await lockDeliveries(trx, asked, ids);
  return new Set(found.flatMap(({ id, undelivered }) => (undelivered ? [id] : [])));
}

async function lockDeliveries(trx: Executor, asked: keyof typeof ASKED, ids: string[]): Promise<Asked[]> {
  if (ids.length === 0) return [];
  const { table, delivery, receiver, sharedBy, asksFor } = ASKED[asked];
  // Sent together, and run in this order: the last sees all that was done before the locks.
  const [, , found] = await Promise.all([
    trx.rows`
      SELECT id FROM webhook_deliveries WHERE id IN (SELECT ${raw(delivery)} FROM ${raw(table)}
      WHERE id = ANY(${ids}))
      ORDER BY id FOR NO KEY UPDATE`,
    trx.rows`
      SELECT entity_id FROM webhook_endpoints WHERE entity_id IN (SELECT ${raw(receiver)} FROM ${raw(table)}
      WHERE id = ANY(${ids}))
      ORDER BY entity_id FOR SHARE`,
    trx.rows<Asked>`
      SELECT a.id, d.id AS delivery_id,
        ${raw(UNSEEN)} AS undelivered,
        EXISTS (SELECT FROM ${raw(table)} o
                WHERE o.${raw(sharedBy)} = a.${raw(sharedBy)} AND ${raw(asksFor)}
                  AND o.${raw(delivery)} = d.id
                  AND o.id <> ALL(${ids})) AS is_shared
      FROM ${raw(table)} a JOIN webhook_deliveries d ON d.id = a.${raw(delivery)}
      JOIN webhook_endpoints w ON w.entity_id = d.entity_id
      WHERE a.id = ANY(${ids})`,
  ]);
  return found;
}

async function endDeliveries(trx: Executor, over: Asked[]): Promise<void> {
  if (over.length === 0) return;
  const ids = over.map(({ deliveryId }) => deliveryId);
  const unseen = over.flatMap(({ deliveryId, undelivered }) => (undelivered ? [deliveryId] : []));
  await trx.rows`
    UPDATE webhook_deliveries SET status = 'failed', finished_at = coalesce(finished_at, clock_timestamp()),
      withdrawn_at = CASE WHEN id = ANY(${unseen}) THEN clock_timestamp() END
    WHERE id = ANY(${ids}) AND (status = 'pending' OR id = ANY(${unseen}))`;
}

/**
 * A sender reads the bytes after it has claimed the delivery, so no receiver has seen the old body.
 */
async function shortenBodies(trx: Executor, item: string, shared: Asked[]): Promise<void> {
  if (shared.length === 0) return;
  const ended = groupBy(shared, ({ deliveryId }) => deliveryId);
  const left = new Map([...ended].map(([deliveryId, those]) => [deliveryId, those.map(({ id }) => id)]));
  const bodies = await bodiesWithout(trx, item, left);
  const { done } = await trx.oneRow<{ done: boolean }>`
    SELECT bool_and(replace_unseen_body(id, body)) AS done
    FROM unnest(${bodies.map(({ id }) => id)}::text[], ${bodies.map(({ body }) => body)}::bytea[]) AS d (id, body)`;
  if (!done) throw new Error('a delivery has been seen under its locks');
}
