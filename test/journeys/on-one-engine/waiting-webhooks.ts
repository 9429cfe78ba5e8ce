import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApiClient } from '../../parties/client';
import { letAttemptsEnd } from '../../../src/cli/attempts-under-way';
import { createEntity } from '../../../src/database/entity/create-entity';
import { changeStatus } from '../../../src/database/entity-control/control-entity';
import type { Transaction } from '../../../src/database/pool/connection';
import { announceAny } from '../../support/announce-any';
import { agreement, Cast } from '../../support/cast';
import { eventually } from '../../support/engine';
import { OPERATOR } from '../../support/operator';
import { engine } from './engine';

type Answer = (response: ServerResponse) => void;
const status =
  (code: number): Answer =>
  (response) =>
    response.writeHead(code, { connection: 'close' }).end();

async function bankAt(url: string): Promise<{ entityId: string; api: ApiClient }> {
  const { entityId, ...identity } = await engine.createEntity('bank', 'Harbour Bank');
  const api = new ApiClient([engine.apiUrl], identity);
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
  const [found] = await engine.database.db
    .rows<State>`SELECT status, attempts FROM webhook_deliveries WHERE id = ${deliveryId}`;
  if (!found) throw new Error(`there is no delivery ${deliveryId}`);
  return found;
}

/** As the operator's command does it, which waits for the attempts that are under way. */
async function set(to: 'disabled' | 'active', entityId: string): Promise<void> {
  const { db } = engine.database;
  await db.transaction((trx) => changeStatus(trx, OPERATOR, entityId, to));
  if (to === 'disabled') await letAttemptsEnd(db, entityId);
}

const attempted = (deliveryId: string, times: number) =>
  eventually(async () => (await stateOf(deliveryId)).attempts >= times);
const isDelivered = (deliveryId: string) =>
  eventually(async () => (await stateOf(deliveryId)).status === 'delivered');

/** Webhooks that wait: for a receiver that is disabled, or is silent. None is lost by it. */
describe('webhooks that wait', () => {
  let cast: Cast;
  const servers: Server[] = [];

  beforeAll(() => {
    cast = new Cast(engine);
  });
  afterAll(async () => {
    for (const server of servers) server.close().closeAllConnections();
    await cast.leave();
  });

  /** A receiver that answers as it is told, and knows the deliveries that it heard. */
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

  test('for a disabled receiver after a first attempt has failed in passing is not sent, and arrives once it is enabled', async () => {
    const up = await receiver(status(200));
    const [bank, merchant] = await Promise.all([cast.bank(), cast.merchant()]);
    await agreement(bank, merchant, bank.customers[0]);
    const own = await receiver(status(500));
    await bank.api.put('/v1/webhooks/endpoint', { url: own.url });
    await merchant.charge({ lookupIDs: [bank.customers[0].lookupID] }, 30);
    await eventually(() => Promise.resolve(own.heard.length > 0));
    // The notice of the changed endpoint goes to the old one.
    const deliveryId = own.heard[0] ?? '';
    await attempted(deliveryId, 1);
    await set('disabled', bank.entityId);
    own.answer = status(200);
    const before = own.heard.length;
    // Another delivery shows what its workflow would do at its next attempt.
    const other = await bankAt(up.url);
    await isDelivered(await sendTest(other.api));
    expect(own.heard.slice(before)).toEqual([]);
    await set('active', bank.entityId);
    await isDelivered(deliveryId);
  });

  test('for 30 silent merchants of one provider keep nobody’s charges and webhooks waiting', async () => {
    const { db } = engine.database;
    const { entityId: providerId } = await engine.createEntity('provider', 'Northwind Payments');
    const enter = async (trx: Transaction, name: string, webhookUrl: string) => {
      const merchant = { type: 'merchant' as const, name, providerId, webhookUrl };
      const made = await createEntity(trx, merchant);
      if (!made) throw new Error(`${name} is taken`);
      return made;
    };
    const healthy = await receiver(status(500));
    const sibling = new ApiClient(
      [engine.apiUrl],
      await db.transaction((trx) => enter(trx, 'Shop that answers', healthy.url)),
    );
    const [bank, merchant] = await Promise.all([cast.bank(), cast.merchant()]);
    const paymentID = await agreement(bank, merchant, bank.customers[0]);

    const silent = await Promise.all(Array.from({ length: 30 }, () => receiver(() => undefined)));
    await db.transaction(async (trx) => {
      for (const { url } of silent) {
        const { entityId } = await enter(trx, 'Shop that is silent', url);
        const webhook = () => ({
          entityId,
          webhookType: 'billing.response' as const,
          items: [{ sequence: 1 }],
        });
        await announceAny(trx, Array.from({ length: 4 }, webhook));
      }
    });
    const ofSibling = await sendTest(sibling);
    const { billingRequestId } = await merchant.charge({ paymentIDs: [paymentID] }, 30);
    await merchant.hears('billing.response', billingRequestId);
    await attempted(ofSibling, 1);
    healthy.answer = status(200);
    await isDelivered(ofSibling);
  });
});
