import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApiClient } from '../../examples/demo/api-client';
import { rows } from '../../src/database/pool/connection';
import { createEntity } from '../../src/database/entity/create-entity';
import { makeKeyring } from '../../src/database/keys/keyring';
import { agreement, Cast } from '../support/cast';
import { createCli } from '../support/cli';
import { eventually, startEngine, type TestEngine } from '../support/engine';

/** Webhooks that wait: for a receiver that is disabled, or is silent. None is lost by it. */

let engine: TestEngine;
let cast: Cast;
let cli: ReturnType<typeof createCli>;
const servers: Server[] = [];

beforeAll(async () => {
  engine = await startEngine({ WEBHOOK_RETRY_S: '1,1,2,4,8,16', WEBHOOK_TIMEOUT_S: '4' });
  cast = new Cast(engine);
  cli = createCli({ url: engine.database.url, keys: engine.environment['ASSENT_KEYS'] ?? makeKeyring() });
});
afterAll(async () => {
  for (const server of servers) server.close().closeAllConnections();
  await cast.leave();
  await engine.stop();
});

type Answer = (response: ServerResponse) => void;
const status =
  (code: number): Answer =>
  (response) =>
    response.writeHead(code, { connection: 'close' }).end();

/** A receiver that answers as it is told at the moment, and knows of which deliveries it heard. */
async function receiver(answer: Answer) {
  const heard: string[] = [];
  const it = { url: '', heard, answer };
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      heard.push(String(request.headers['x-service-delivery']));
      it.answer(response);
    });
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  it.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return it;
}

async function bankAt(url: string): Promise<{ entityId: string; api: ApiClient }> {
  const { entityId, ...identity } = await engine.createEntity('bank', 'Harbour Bank');
  const api = new ApiClient(engine.apiUrl, identity);
  await api.put('/v1/webhooks/endpoint', { url });
  return { entityId, api };
}

async function sendTest(api: ApiClient): Promise<string> {
  const { status: code, body } = await api.post('/v1/webhooks/endpoint/test', undefined);
  expect(code).toBe(202);
  return String(body.data['deliveryId']);
}

interface State {
  status: string;
  attempts: number;
}

async function stateOf(deliveryId: string): Promise<State> {
  const [found] = await rows<State>(
    engine.database.db,
    `SELECT status, attempts FROM webhook_deliveries WHERE id = :deliveryId`,
    { deliveryId },
  );
  if (!found) throw new Error(`there is no delivery ${deliveryId}`);
  return found;
}

const set = async (act: 'disable' | 'enable', entityId: string) => {
  const { code, err } = await cli.run('entity', act, entityId, '--reason', 'as tried');
  expect([code, err]).toEqual([0, '']);
};
const attempted = (deliveryId: string, times: number) =>
  eventually(async () => (await stateOf(deliveryId)).attempts >= times);
async function isDelivered(deliveryId: string): Promise<State> {
  let state: State | undefined;
  await eventually(async () => {
    state = await stateOf(deliveryId);
    return state.status === 'delivered';
  });
  return state ?? stateOf(deliveryId);
}

describe('a webhook whose receiver is disabled, and enabled again, arrives', () => {
  test('after its first attempt has failed in passing', async () => {
    const up = await receiver(status(200));
    const merchant = await cast.merchant();
    const bank = await cast.bank();
    await agreement(bank, merchant, bank.customers[0]);
    const own = await receiver(status(500));
    await bank.api.put('/v1/webhooks/endpoint', { url: own.url });
    await merchant.charge({ lookupIDs: [bank.customers[0].lookupID] }, 30);
    await eventually(() => Promise.resolve(own.heard.length > 0));
    // The notice of the changed endpoint goes to the old one.
    const deliveryId = own.heard[0] ?? '';
    await attempted(deliveryId, 1);
    await set('disable', bank.entityId);
    own.answer = status(200);
    const before = own.heard.length;
    // Another delivery shows what its workflow would do at its next attempt.
    const other = await bankAt(up.url);
    await isDelivered(await sendTest(other.api));
    expect(own.heard.slice(before)).toEqual([]);
    await set('enable', bank.entityId);
    await isDelivered(deliveryId);
  });

  test.each([1, 2])('between its retries, after attempt %i', async (attempts) => {
    const own = await receiver(status(500));
    const { entityId, api } = await bankAt(own.url);
    const deliveryId = await sendTest(api);
    await attempted(deliveryId, attempts);
    await set('disable', entityId);
    own.answer = status(200);
    await set('enable', entityId);
    expect(await isDelivered(deliveryId)).toMatchObject({ status: 'delivered' });
  });

  test('during an attempt, which fails afterwards', async () => {
    const held: ServerResponse[] = [];
    const own = await receiver((response) => held.push(response));
    const { entityId, api } = await bankAt(own.url);
    const deliveryId = await sendTest(api);
    await eventually(() => Promise.resolve(held.length > 0));
    // The command waits for the attempt that is under way.
    const disabled = set('disable', entityId);
    await eventually(async () => {
      const found = await rows(
        engine.database.db,
        `SELECT FROM entities WHERE id = :entityId AND status = 'disabled'`,
        {
          entityId,
        },
      );
      return found.length > 0;
    });
    for (const response of held.splice(0)) status(500)(response);
    await disabled;
    own.answer = status(200);
    await set('enable', entityId);
    expect(await isDelivered(deliveryId)).toMatchObject({ status: 'delivered' });
  });

  test('while it is asked for again, which waits too', async () => {
    const own = await receiver(status(200));
    const { entityId, api } = await bankAt(own.url);
    const deliveryId = await sendTest(api);
    await isDelivered(deliveryId);
    own.answer = status(500);
    await api.post(`/v1/webhooks/deliveries/${deliveryId}/redeliver`, undefined);
    await attempted(deliveryId, 2);
    await set('disable', entityId);
    own.answer = status(200);
    const before = own.heard.length;
    await set('enable', entityId);
    expect(await isDelivered(deliveryId)).toMatchObject({ status: 'delivered' });
    expect(own.heard.length).toBeGreaterThan(before);
  });

  test('once for each of many that were announced meanwhile', async () => {
    const own = await receiver(status(500));
    const { entityId, api } = await bankAt(own.url);
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push(await sendTest(api));
    // Each of them is in another state.
    for (let round = 0; round < 3; round++) {
      await set('disable', entityId);
      await set('enable', entityId);
    }
    own.answer = status(200);
    for (const id of ids) expect(await isDelivered(id)).toMatchObject({ status: 'delivered' });
  });
});

test('30 merchants of one provider whose receivers are silent keep nobody’s charges and webhooks waiting', async () => {
  const { db } = engine.database;
  const enter = async (name: string, webhookUrl: string | undefined, providerId: string) => {
    const made = await db.transaction((trx) =>
      createEntity(trx, engine.keyring, {
        type: 'merchant',
        name,
        providerId,
        ...(webhookUrl && { webhookUrl }),
      }),
    );
    if (!made) throw new Error(`${name} is taken`);
    return new ApiClient(engine.apiUrl, made);
  };
  const { entityId: providerId } = await engine.createEntity('provider', 'Northwind Payments');
  const healthy = await receiver(status(500));
  const sibling = await enter('Shop that answers', healthy.url, providerId);
  const [bank, merchant] = await Promise.all([cast.bank(), cast.merchant()]);
  const paymentID = await agreement(bank, merchant, bank.customers[0]);

  for (let n = 0; n < 30; n++) {
    const silent = await enter(`Shop ${n}`, (await receiver(() => undefined)).url, providerId);
    for (let i = 0; i < 4; i++) await sendTest(silent);
  }
  const ofSibling = await sendTest(sibling);
  const { billingRequestId } = await merchant.charge({ paymentIDs: [paymentID] }, 30);
  await merchant.hears('billing.response', billingRequestId);
  await attempted(ofSibling, 1);
  healthy.answer = status(200);
  expect(await isDelivered(ofSibling)).toMatchObject({ status: 'delivered' });
});
