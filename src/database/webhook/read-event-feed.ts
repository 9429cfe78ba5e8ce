import type { WebhookType } from '../../domain/webhook/webhook';
import { idAs } from '../../domain/identifier/ids';
import type { Database, Executor } from '../pool/connection';
import { raw } from '../pool/statement';
import { firstIdAt } from '../identifier/new-id';
import { decrypt } from '../keyring/encrypt';
import { PAGE_BYTES } from '../query/list-page';
import { bodyPlace } from './announce-webhooks';

/**
 * The events feed: everything that was announced to an entity for as long as it is kept, in one
 * order without gaps.
 *
 * Transactions commit in another order than they begin. So an event may appear later with an
 * earlier time or id than one that was read. So the order is by the transaction's number, and a
 * reader gets only what was written by transactions older than the oldest one still open.
 *
 * One long writing transaction on the same server holds every feed back; nothing is lost, and
 * webhooks go out meanwhile. `openDatabase` has Postgres end a statement, or a pause between two,
 * after 10 s.
 */
export interface FeedEvent {
  eventId: string;
  webhookType: WebhookType;
  /** As the webhook has it: RFC 3339, UTC. */
  timestamp: string;
  data: Record<string, unknown>[];
}

/** The place of an event in its entity's order. */
interface FeedPosition {
  /** The number of the transaction that wrote it, an unsigned 64-bit integer in decimal. */
  xid: string;
  eventId: string;
}

/** Transactions are numbered from 3: this is before the first event. */
export const FEED_START: FeedPosition = { xid: '0', eventId: '' };

/**
 * No webhook from this moment on has been forgotten. The feed's order may differ from the order of
 * time by as long as a transaction lasts: less than a minute.
 */
export const FEED_HORIZON = `(SELECT passed + interval '1 minute' FROM feed_horizon)`;

/** Undefined where the entity has no such event, or what came after it is no longer all there. */
export async function findFeedPosition(
  db: Executor,
  entityId: string,
  eventId: string,
): Promise<FeedPosition | undefined> {
  return db.row<FeedPosition>`
    SELECT created_xid::text AS xid, event_id FROM webhook_deliveries
    WHERE id = ${idAs('delivery', eventId)} AND entity_id = ${entityId} AND created_at > ${raw(FEED_HORIZON)}`;
}

/** Whether an event of this id, whosever, is from before what is kept of all feeds. */
export async function isBeforeFeed(db: Executor, eventId: string): Promise<boolean> {
  const horizon = await db.row<{ at: Date | number }>`SELECT ${raw(FEED_HORIZON)} AS at`;
  // Nothing has been forgotten yet: Postgres' -infinity, which is no Date.
  return horizon?.at instanceof Date && eventId < firstIdAt('event', horizon.at);
}

/**
 * The entity's next events after a position, at most `limit`. Fewer say nothing, as long events end
 * a page early: an empty page is the end for now.
 *
 * The same statement records how far the entity has read, before it gets anything: a bank may act
 * on what it has read. It locks the endpoint first. So a webhook withdrawn at that moment is either
 * given and counts as read, or is not given.
 *
 * @throws KeyringError where the ring lacks a key that a body was encrypted with
 */
export async function readFeed(
  db: Database,
  entityId: string,
  after: FeedPosition,
  limit: number,
): Promise<FeedEvent[]> {
  const found = await db.transaction(async (trx) => {
    const [, page] = await Promise.all([
      trx.rows`
        SELECT FROM webhook_endpoints WHERE entity_id = ${entityId} FOR NO KEY UPDATE`,
      readPage(trx, entityId, after, limit),
    ]);
    return page;
  });
  return found.map(({ id, eventId, bodyEncrypted }) => {
    const body = JSON.parse(decrypt(db.keyring, bodyEncrypted, bodyPlace(id))) as Omit<FeedEvent, 'eventId'>;
    return { eventId, webhookType: body.webhookType, timestamp: body.timestamp, data: body.data };
  });
}

async function readPage(trx: Executor, entityId: string, after: FeedPosition, limit: number) {
  return trx.rows<{ id: string; eventId: string; bodyEncrypted: Buffer }>`
    WITH page AS MATERIALIZED (
      SELECT * FROM (
        SELECT id, created_xid, event_id, body_encrypted,
          sum(octet_length(body_encrypted)) OVER (ORDER BY created_xid, event_id) AS bytes
        FROM webhook_deliveries
        WHERE entity_id = ${entityId} AND (created_xid, event_id) > (${after.xid}::xid8, ${after.eventId})
          ${raw(after === FEED_START ? `AND created_at > ${FEED_HORIZON}` : '')}
          AND created_xid < pg_snapshot_xmin(pg_current_snapshot()) AND withdrawn_at IS NULL
        ORDER BY created_xid, event_id LIMIT ${limit}) AS next
      WHERE bytes - octet_length(body_encrypted) < ${raw(PAGE_BYTES)}
    ), progress AS (
      UPDATE webhook_endpoints w SET feed_read_xid = last.created_xid, feed_read_event_id = last.event_id
      FROM (SELECT created_xid, event_id FROM page ORDER BY created_xid DESC, event_id DESC LIMIT 1) AS last
      WHERE w.entity_id = ${entityId}
        AND (w.feed_read_xid, w.feed_read_event_id) < (last.created_xid, last.event_id)
    )
    SELECT id, event_id, body_encrypted FROM page ORDER BY created_xid, event_id`;
}
