import { newId } from '../../../src/database/identifier/new-id';
import { announce } from '../../../src/database/webhook/announce-webhooks';
import { deliveryToAttempt, openDelivery } from '../../../src/database/webhook/attempt-delivery';
import type { Role } from '../../../src/domain/entity';
import { enter, send, serveApi, type Party, type ServedApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { eventually } from '../../support/engine';

let database: TestDatabase;
let api: ServedApi;
beforeAll(async () => {
  database = await createTestDatabase();
  api = await serveApi(database.db, { settings: { RATE_LIMIT_CALLER: '1000/1000' } });
});
afterAll(async () => {
  await api.close();
  await database.drop();
});

interface FeedEvent {
  eventId: string;
  webhookType: string;
  timestamp: string;
  data: Record<string, unknown>[];
}

/** One event each, in this order; returns their delivery ids. */
async function tell(party: Party, ...texts: string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const text of texts) {
    const announced = await database.db.transaction((trx) =>
      announce(trx, api.deps.ring, [
        {
          entityId: party.entityId,
          webhookType: 'webhook.test',
          batchId: newId('batch'),
          items: [
            { text, sequence: 2 },
            { text: 'and more', sequence: 7 },
          ],
        },
      ]),
    );
    ids.push(...announced);
  }
  return ids;
}

async function read(party: Party, query = ''): Promise<FeedEvent[]> {
  const { status, body } = await party.send('GET', `/v1/events${query}`);
  expect(status).toBe(200);
  return body.data?.['events'] as FeedEvent[];
}

/** Other tests, in other databases of the server, may hold the feed back for a moment. */
async function readAll(party: Party, count: number): Promise<FeedEvent[]> {
  let events: FeedEvent[] = [];
  await eventually(async () => (events = await read(party, '?limit=100')).length >= count);
  return events;
}

const textOf = ({ data }: FeedEvent) => data[0]?.['text'];

it.each<Role>(['bank', 'merchant', 'provider'])(
  'a %s finds in its feed what its webhooks carried',
  async (role) => {
    const [party, other] = await Promise.all([enter(api, role), enter(api, role)]);
    const ids = await tell(party, 'one', 'Café "№ 2" €');
    await tell(other, 'of another');

    const events = await readAll(party, 2);
    const bodies = await Promise.all(
      ids.map(async (id) => {
        const delivery = await deliveryToAttempt(database.db, id);
        const body = delivery && openDelivery(api.deps.ring, delivery).body;
        return JSON.parse(body ?? '') as Record<string, unknown>;
      }),
    );
    expect(events).toEqual(
      bodies.map(({ webhookType, timestamp, data }) => ({
        eventId: expect.stringMatching(/^evt_[0-9a-z]{26}$/) as string,
        webhookType,
        timestamp,
        data,
      })),
    );
    const shown = await party.send('GET', `/v1/webhooks/deliveries/${ids[1]}`);
    expect(shown.body.data).toMatchObject({ eventId: events[1]?.eventId });
  },
);

it('goes on after the last event seen, until a page is empty', async () => {
  const party = await enter(api, 'merchant');
  await tell(party, 'a', 'b', 'c');
  const [first, second, third] = await readAll(party, 3);
  expect((await read(party, '?limit=2')).map(textOf)).toEqual(['a', 'b']);
  expect(await read(party, `?limit=2&after=${second?.eventId}`)).toEqual([third]);
  expect(await read(party, `?after=${first?.eventId}`)).toEqual([second, third]);
  expect(await read(party, `?after=${third?.eventId}`)).toEqual([]);
});

it('has twenty events on a page unless asked for another number', async () => {
  const party = await enter(api, 'merchant');
  await tell(party, ...Array.from({ length: 25 }, (_, i) => String(i)));
  expect(await readAll(party, 25)).toHaveLength(25);
  expect((await read(party)).map(textOf)).toEqual(Array.from({ length: 20 }, (_, i) => String(i)));
});

it('after an event of somebody else, or of nobody, is a 400 that cannot tell them apart', async () => {
  const [party, other] = await Promise.all([enter(api, 'merchant'), enter(api, 'merchant')]);
  await tell(other, 'not yours');
  const [theirs] = await readAll(other, 1);
  const answers = await Promise.all(
    [theirs?.eventId, newId('event'), 'evt_1', newId('delivery')].map((after) =>
      party.send('GET', `/v1/events?after=${after}`),
    ),
  );
  for (const { status, body } of answers) {
    expect(status).toBe(400);
    expect(body).toEqual(answers[0]?.body);
    expect(body.errors).toEqual([{ path: 'query.after', message: 'is not one of your events' }]);
  }
});

it.each([
  ['limit=0', 'query.limit'],
  ['limit=101', 'query.limit'],
  ['limit=ten', 'query.limit'],
  ['page=2', 'query.page'],
  ['limit=1&limit=2', 'query.limit'],
])('with %s is a 400 that says what is wrong', async (query, path) => {
  const party = await enter(api, 'merchant');
  expect(await party.send('GET', `/v1/events?${query}`)).toMatchObject({
    status: 400,
    body: { errors: [{ path }] },
  });
});

it('is refused without a token', async () => {
  expect(await send(api.url, 'GET', '/v1/events')).toMatchObject({ status: 401 });
});

it('tells a reader that has been away for too long what to do', async () => {
  const party = await enter(api, 'merchant');
  await tell(party, 'one');
  const [last] = await readAll(party, 1);
  // As when the network has forgotten up to now.
  await database.db.query('UPDATE feed_horizon SET passed = clock_timestamp()');
  try {
    const { status, body } = await party.send('GET', `/v1/events?after=${last?.eventId}`);
    expect(status).toBe(400);
    expect(body.message).toContain('older than the 30 days');
    expect(body.message).toContain('/v1/transaction-history');
  } finally {
    await database.db.query(`UPDATE feed_horizon SET passed = '-infinity'`);
  }
});
