import { z } from 'zod';
import { FEED_START, findFeedPosition, readFeed } from '../database/event-feed';
import type { Answer } from './answer';
import { id, pageSize } from './fields';
import type { Call } from './route';
import { invalidRequest } from './validation';

/** All that was announced to the caller, in an order in which nothing appears later before what was seen. */

export const feedQuery = z.strictObject({ after: id('event').optional(), limit: pageSize });

export async function listEvents({
  caller,
  query,
  deps,
}: Call<undefined, z.output<typeof feedQuery>, unknown>): Promise<Answer> {
  const { after, limit } = query;
  const position = after === undefined ? FEED_START : await findFeedPosition(deps.db, caller.entityId, after);
  if (!position) throw invalidRequest([{ path: 'query.after', message: 'is not one of your events' }]);
  const events = await readFeed(deps.db, deps.ring, caller.entityId, position, limit);
  return { message: events.length === 1 ? '1 event' : `${events.length} events`, data: { events } };
}
