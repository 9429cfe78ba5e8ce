import { settleCredits } from '../../database/credit/follow-credit';
import { FEED_START, findFeedPosition, isBeforeFeed, readFeed } from '../../database/webhook/read-event-feed';
import { idAs } from '../../domain/identifier/ids';
import { counted } from '../../domain/words/counted';
import { ANYONE } from '../http/callers';
import type { QueryCall } from '../http/call';
import { section } from '../http/route';
import { invalidRequest } from '../http/validation';
import { z } from 'zod';
import { id, pageSize } from '../http/request-fields';
import { feedEvent } from '../openapi/webhook-frame';

const feedQuery = z.strictObject({
  after: id('event')
    .meta({ description: 'The last `eventId` that you have handled; the list begins after it' })
    .optional(),
  limit: pageSize,
});

const feedShown = z.strictObject({
  events: z.array(feedEvent).meta({ description: 'Oldest first; `data` is that of the webhook' }),
});

/**
 * All that was announced to the caller, in an order in which nothing appears later before what was
 * seen.
 */

async function listEvents({ caller, query, deps }: QueryCall<typeof feedQuery>) {
  const { after, limit } = query;
  const position = after === undefined ? FEED_START : await findFeedPosition(deps.db, caller.entityId, after);
  if (!position) {
    const message =
      after !== undefined && (await isBeforeFeed(deps.db, after))
        ? `is older than the ${deps.config.WEBHOOK_KEPT_DAYS} days for which events are kept: what came after it is ` +
          'no longer all here. See GET /v1/transaction-history for what you have missed, and begin again without after'
        : 'is not one of your events';
    throw invalidRequest([{ path: 'query.after', message }]);
  }
  const events = await readFeed(deps.db, caller.entityId, position, limit);
  // A bank that reads `billing.credit` in the feed knows of the money, as by a webhook.
  const credits = events.filter(({ webhookType }) => webhookType === 'billing.credit');
  if (credits.length > 0) {
    const deliveryIds = credits.map(({ eventId }) => idAs('delivery', eventId));
    await deps.db.transaction((trx) => settleCredits(trx, deliveryIds));
  }
  return { message: counted(events.length, 'events'), data: { events } };
}

export const feedRoutes = [
  section('Webhook settings')('get', '/v1/events', {
    id: 'listEvents',
    summary: 'List events',
    description:
      'All events that webhooks were sent for, in a fixed order without gaps, for example to catch up after an outage. Events withdrawn before they were sent or read here are left out. Pass the last `eventId` that you have handled as `after`, and repeat until the list is empty: a list of long events has fewer than `limit`. Events are kept for 30 days by default.',
    takes: { ...ANYONE, query: feedQuery, delivers: true },
    answers: { 200: { description: '1 event', data: feedShown } },
    handle: listEvents,
  }),
];
