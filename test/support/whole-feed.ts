import type { Database, Executor } from '../../src/database/pool/connection';
import { announce } from '../../src/database/webhook/announce-webhooks';
import { FEED_START, readFeed, type FeedEvent } from '../../src/database/webhook/read-event-feed';
import { eventually } from './engine';

/**
 * Ends when the events feed shows all that has been committed: an open transaction of another test,
 * in another database of the same server, holds every feed back.
 */
export async function wholeFeed(db: Executor): Promise<void> {
  await eventually(async () => {
    const held = await db.row<{ any: boolean }>`
      SELECT EXISTS (SELECT 1 FROM webhook_deliveries
      WHERE created_xid >= pg_snapshot_xmin(pg_current_snapshot())) AS any`;
    return held?.any === false;
  });
}

/** The charges and intents in a party's feed, with the number of each. */
export async function announcedInFeed(
  db: Database,
  entityId: string,
): Promise<[type: string, id: string, sequence: number][]> {
  const [last] = await db.transaction((trx) =>
    announce(trx, [{ entityId, webhookType: 'webhook.test', items: [{ sequence: 1, text: '' }] }]),
  );
  const shown = await db.row<{
    eventId: string;
  }>`SELECT event_id AS "eventId" FROM webhook_deliveries WHERE id = ${last}`;
  let events: FeedEvent[] = [];
  await eventually(async () => {
    events = await readFeed(db, entityId, FEED_START, 100);
    return events.at(-1)?.eventId === shown?.eventId;
  });
  return events
    .filter(({ webhookType }) => webhookType.startsWith('billing.'))
    .flatMap(({ webhookType, data }) =>
      (data as { billingRequestId?: string; intentId?: string; sequence: number }[]).map(
        ({ billingRequestId, intentId, sequence }): [string, string, number] => [
          webhookType,
          billingRequestId ?? intentId ?? '',
          sequence,
        ],
      ),
    );
}
