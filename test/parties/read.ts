import { type ApiClient, expected } from './client';
import type { ReceivedItem } from './received-item';

const PAGE = 100;
const LISTED_MAX = 10_000;
/** Enough that none waits for another's answer, and few enough to be answered. */
const LANES = 8;

export async function inLanes<Thing>(
  things: Iterable<Thing>,
  work: (thing: Thing) => Promise<void>,
  lanes = LANES,
): Promise<void> {
  const waiting = things[Symbol.iterator]();
  const lane = async () => {
    for (let next = waiting.next(); !next.done; next = waiting.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

export async function list(
  network: ApiClient,
  path: string,
  name: string,
): Promise<Record<string, unknown>[]> {
  const found: Record<string, unknown>[] = [];
  const and = path.includes('?') ? '&' : '?';
  for (let page = 1; found.length < LISTED_MAX; page++) {
    const data = expected(200, await network.get(`${path}${and}limit=${PAGE}&page=${page}`));
    const some = data[name] as Record<string, unknown>[];
    found.push(...some);
    if (some.length < PAGE) break;
  }
  return found;
}

/** All of a party's events, item by item. */
export async function* readFeed(network: ApiClient): AsyncGenerator<ReceivedItem> {
  let after = '';
  for (;;) {
    const data = expected(200, await network.get(`/v1/events?limit=${PAGE}${after}`));
    const events = data['events'] as { eventId: string; webhookType: string; data: ReceivedItem['item'][] }[];
    for (const { eventId, webhookType: type, data: items } of events)
      for (const item of items) yield { type, eventId, item };
    const last = events.at(-1);
    if (!last) return;
    after = `&after=${last.eventId}`;
  }
}
