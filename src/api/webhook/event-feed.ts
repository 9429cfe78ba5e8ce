import { z } from 'zod';
import { settleCredits } from '../../database/customer/payment-credit';
import { FEED_START, findFeedPosition, isBeforeFeed, readFeed } from '../../database/webhook/event-feed';
import { counted } from '../../domain/words/counted';
import { id, pageSize } from '../http/fields';
import type { QueryCall } from '../http/route';
import { invalidRequest } from '../http/validation';

/**
 * All that was announced to the caller, in an order in which nothing appears later before what was
 * seen.
 */

export const feedQuery = z.strictObject({
  after: id('event')
    .meta({ description: 'The last `eventId` that you have handled; the list begins after it' })
    .optional(),
  limit: pageSize,
});

export async function listEvents({ caller, query, deps }: QueryCall<typeof feedQuery>) {
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
  const events = await readFeed(deps.db, deps.ring, caller.entityId, position, limit);
  // Who reads of money to credit has been told of it, as by a webhook.
  const credits = events.filter(({ webhookType }) => webhookType === 'billing.credit');
  if (credits.length > 0) {
    const eventIds = credits.map(({ eventId }) => eventId);
    await deps.db.transaction((trx) =>
      settleCredits(trx, deps.ring, deps.config.NETWORK_TIMEZONE, { eventIds }),
    );
  }
  return { message: counted(events.length, 'events'), data: { events } };
}
