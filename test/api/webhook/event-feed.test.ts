import { newId } from '../../../src/database/identifier/new-id';
import { announce } from '../../../src/database/webhook/announce-webhooks';
import { deliveryToAttempt, openDelivery } from '../../../src/database/webhook/attempt-delivery';
import { apiOfFile, enter, type Party } from '../../support/api';
import { eventually } from '../../support/engine';

const { api, database } = apiOfFile({ settings: { RATE_LIMIT_CALLER: '1000/1000' } });

interface FeedEvent {
  eventId: string;
  webhookType: string;
  timestamp: string;
  data: Record<string, unknown>[];
}

/** Announces an event with each text, in this order. @returns their delivery ids */
async function tell(party: Party, ...texts: string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const text of texts) {
    const announced = await database.db.transaction((trx) =>
      announce(trx, [
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

it('a feed has what the webhooks of its party carried, in their order', async () => {
  const [party, other] = await Promise.all([enter(api, 'bank'), enter(api, 'merchant')]);
  const ids = await tell(party, 'one', 'Café "№ 2" €');
  await tell(other, 'of another');

  const events = await readAll(party, 2);
  const bodies = await Promise.all(
    ids.map(async (id) => {
      const delivery = await deliveryToAttempt(database.db, id);
      const body = delivery && openDelivery(api.deps.db.keyring, delivery).body;
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
});

it('goes on after the last event seen, until a page is empty, twenty events at a time unless asked otherwise', async () => {
  const party = await enter(api, 'merchant');
  const texts = Array.from({ length: 25 }, (_, i) => String(i));
  await tell(party, ...texts);
  const all = await readAll(party, 25);
  expect((await read(party)).map(textOf)).toEqual(texts.slice(0, 20));
  expect(await read(party, '?limit=2')).toEqual(all.slice(0, 2));
  expect(await read(party, `?limit=2&after=${all[1]?.eventId}`)).toEqual(all.slice(2, 4));
  expect(await read(party, `?after=${all[22]?.eventId}`)).toEqual(all.slice(23));
  expect(await read(party, `?after=${all[24]?.eventId}`)).toEqual([]);
});

it('is read by GET alone: the answer to HEAD reaches nobody, and its events would count as read', async () => {
  const party = await enter(api, 'bank');
  await tell(party, 'one');
  const readUntil = () =>
    database.db.oneRow`
      SELECT feed_read_event_id AS event FROM webhook_endpoints WHERE entity_id = ${party.entityId}`;
  const before = await readUntil();
  const headers = { authorization: `Bearer ${party.token}` };
  const { status, headers: said } = await fetch(`${api.url}/v1/events`, { method: 'HEAD', headers });
  expect([status, said.get('allow')]).toEqual([405, 'GET']);
  expect(await readUntil()).toEqual(before);
  const [event] = await readAll(party, 1);
  expect(await readUntil()).toEqual({ event: event?.eventId });
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
