import { createHmac } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { createWebhookActivities } from '../../src/activities/webhook';
import { createWebhookConnector } from '../../src/activities/webhook-connector';
import { rows, type Database } from '../../src/database/pool/connection';
import { changeStatus } from '../../src/database/entity-control/control-entity';
import { createEntity } from '../../src/database/entity/create-entity';
import { newId } from '../../src/database/identifier/new-id';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { decrypt, encrypt } from '../../src/database/keys/encrypt';
import { announce } from '../../src/database/webhook/announce-webhooks';
import { claimUnattempted, deliveryToAttempt } from '../../src/database/webhook/attempt-delivery';
import { redeliver } from '../../src/database/webhook/list-deliveries';
import { newWebhookSecret, setWebhookUrl } from '../../src/database/webhook/change-endpoint';
import type { DeliveryProgress } from '../../src/domain/workflow/messages';
import { createTestDatabase } from '../support/database';
import { makeDue } from '../support/due-delivery';
import { OPERATOR } from '../support/operator';

const keyring = readKeyring(makeKeyring());
const connector = createWebhookConnector({ allowPrivate: true });
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let db: Database;
let kicks = 0;
let logged: string[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
});
beforeEach(() => {
  kicks = 0;
  logged = [];
});
afterEach(closeServers);
afterAll(async () => {
  await connector.close();
  await database.drop();
});

/** An attempt that is made when it is due. */
async function attemptInTime(id: string, made = activities()) {
  await makeDue(db, id);
  return made.attemptDelivery(id);
}

const logLine = (...line: unknown[]) => logged.push(JSON.stringify(line));

const activities = (config: { WEBHOOK_RETRY_S?: number[]; WEBHOOK_TIMEOUT_S?: number } = {}) =>
  createWebhookActivities({
    db,
    keyring,
    connector,
    config: { NETWORK_TIMEZONE: 'Africa/Lagos', WEBHOOK_RETRY_S: [5, 30], WEBHOOK_TIMEOUT_S: 10, ...config },
    relay: { kick: () => kicks++ },
    log: { info: logLine, warn: logLine },
    measure: () => undefined,
  });

interface Received {
  headers: IncomingHttpHeaders;
  body: string;
}
const servers: Server[] = [];

async function closeServers() {
  await Promise.all(
    servers.splice(0).map(
      (server) =>
        new Promise((resolve) => {
          server.close(resolve);
          server.closeAllConnections();
        }),
    ),
  );
}

/** A receiver that answers as told, after it has read the body. */
async function receiver(answer: (response: ServerResponse, received: Received) => void) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const one = { headers: request.headers, body: Buffer.concat(chunks).toString('utf8') };
      received.push(one);
      answer(response, one);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks?key=s3cret`, received };
}

const taken = (response: ServerResponse) => response.end('thanks');
const broken = (response: ServerResponse) => response.writeHead(503).end('down');

async function bankAt(webhookUrl: string, name = 'bank') {
  const made = await db.transaction((trx) => createEntity(trx, keyring, { type: 'bank', name, webhookUrl }));
  if (!made) throw new Error('not made');
  return made;
}

/** Announces to each bank; with `workflow` left out, to delivery workflows. */
const announceTo = (entityIds: string[], workflowId?: string) =>
  db.transaction((trx) =>
    announce(
      trx,
      keyring,
      entityIds.map((entityId) => ({
        entityId,
        webhookType: 'billing.request' as const,
        batchId: newId('batch'),
        ...(workflowId !== undefined && { workflowId }),
        items: [{ amount: 0.3, customerEmail: 'ada@example.com', description: 'Café "№ 1" \u2028 €' }],
      })),
    ),
  );

async function attemptsOf(deliveryId: string) {
  const attempts = await rows<{
    n: number;
    httpStatus: number | null;
    error: string | null;
    head: Buffer | null;
  }>(
    db,
    `SELECT n, http_status AS "httpStatus", error, response_head_encrypted AS head FROM webhook_attempts
     WHERE delivery_id = :deliveryId ORDER BY n`,
    { deliveryId },
  );
  return attempts.map(({ head, ...one }) => ({
    ...one,
    head: head && decrypt(keyring, head, `webhook_attempts.response_head_encrypted:${deliveryId}/${one.n}`),
  }));
}

/** All that is in any table, as a dump has it. */
async function dump(): Promise<string> {
  const tables = await rows<{ name: string }>(
    db,
    `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables
     WHERE table_schema = 'public' AND table_type = 'BASE TABLE'
       AND has_table_privilege(format('%I.%I', table_schema, table_name), 'SELECT')`,
  );
  const lines = await Promise.all(
    tables.map(({ name }) => rows<{ line: string }>(db, `SELECT one::text AS line FROM ${name} AS one`)),
  );
  return lines
    .flat()
    .map(({ line }) => line)
    .join('\n');
}

const hmac = (secret: string, text: string) => createHmac('sha256', secret).update(text).digest('hex');

describe('a webhook as its receiver sees it', () => {
  it('is verified by any Standard Webhooks library, and by an HMAC over the bytes without `signature`', async () => {
    const { url, received } = await receiver(taken);
    const bank = await bankAt(url);
    const [deliveryId] = await announceTo([bank.entityId], 'billing-request/a');
    expect(await activities().deliverFirstAttempts('billing-request/a')).toMatchObject({
      delivered: 1,
      failed: 0,
      handedOver: 0,
    });

    const [{ headers, body }] = received as [Received];
    expect(() =>
      new Webhook(bank.webhookSecret).verify(body, headers as Record<string, string>),
    ).not.toThrow();
    expect(headers['x-service-signature']).toBe(hmac(bank.webhookSecret, body));
    const { signature } = JSON.parse(body) as { signature: string };
    expect(signature).toBe(hmac(bank.webhookSecret, body.replace(`,"signature":"${signature}"`, '')));
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'Assent/1',
      'x-service-event': 'billing.request',
      'x-service-delivery': deliveryId,
      'webhook-id': deliveryId,
    });
  });

  it('comes once, also where another worker asks for it while it is on its way', async () => {
    const { url, received } = await receiver((response) => setTimeout(() => taken(response), 200));
    const bank = await bankAt(url);
    await announceTo([bank.entityId], 'billing-request/twice');
    const worker = activities();
    const both = await Promise.all([1, 2].map(() => worker.deliverFirstAttempts('billing-request/twice')));
    expect(both.map(({ delivered }) => delivered)).toEqual([1, 0]);
    expect(received).toHaveLength(1);
  });

  it('comes once, also where two workers tell of the same', async () => {
    const { url, received } = await receiver((response) => setTimeout(() => taken(response), 200));
    const bank = await bankAt(url);
    await announceTo([bank.entityId], 'billing-request/workers');
    const workers = [activities(), activities()];
    const told = await Promise.all(
      workers.map((worker) => worker.deliverFirstAttempts('billing-request/workers')),
    );
    expect(told.map(({ delivered, handedOver }) => delivered + handedOver)).toEqual(
      expect.arrayContaining([0, 1]),
    );
    expect(received).toHaveLength(1);
  });

  it('of a worker that died over it goes on in a workflow, which waits until it may be made again', async () => {
    const { url, received } = await receiver(taken);
    const bank = await bankAt(url);
    const [id = ''] = await announceTo([bank.entityId], 'billing-request/died');
    await claimUnattempted(db, 'billing-request/died', 3_000);
    expect(await activities().deliverFirstAttempts('billing-request/died')).toMatchObject({ handedOver: 1 });
    expect(received).toEqual([]);
    expect(
      await rows(db, `SELECT 1 FROM outbox WHERE workflow_id = 'webhook-delivery/' || :id`, { id }),
    ).toHaveLength(1);
  });

  it('is byte for byte the same each time, under the same id', async () => {
    let answers = 0;
    const { url, received } = await receiver((response) =>
      ++answers < 3 ? broken(response) : taken(response),
    );
    const bank = await bankAt(url);
    const [id = ''] = await announceTo([bank.entityId], 'billing-request/b');
    await activities().deliverFirstAttempts('billing-request/b');
    expect(await attemptInTime(id)).toMatchObject({ status: 'pending', attempts: 2 });
    expect(await attemptInTime(id)).toEqual({ status: 'delivered', attempts: 3 });
    expect(received).toHaveLength(3);
    expect(new Set(received.map(({ body }) => body)).size).toBe(1);
    expect(new Set(received.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([id]));
    expect(await attemptsOf(id)).toEqual([
      { n: 1, httpStatus: 503, error: 'HTTP 503', head: 'down' },
      { n: 2, httpStatus: 503, error: 'HTTP 503', head: 'down' },
      { n: 3, httpStatus: 200, error: null, head: 'thanks' },
    ]);
  });

  it('is signed with both secrets while they are rotated, its own signature with the old one', async () => {
    const { url, received } = await receiver(taken);
    const bank = await bankAt(url);
    const newSecret = newWebhookSecret();
    await rows(
      db,
      `UPDATE webhook_endpoints SET previous_secret_encrypted = secret_encrypted, secret_encrypted = :secret,
         previous_secret_until = clock_timestamp() + interval '1 day' WHERE entity_id = :entityId`,
      {
        entityId: bank.entityId,
        secret: encrypt(keyring, newSecret, `webhook_endpoints.secret:${bank.entityId}`),
      },
    );
    const ids = await announceTo([bank.entityId, bank.entityId], 'billing-request/c');
    const [id = '', later = ''] = ids;
    await activities().attemptDelivery(id);
    await rows(
      db,
      `UPDATE webhook_endpoints SET previous_secret_until = clock_timestamp() WHERE entity_id = :id`,
      {
        id: bank.entityId,
      },
    );
    await activities().attemptDelivery(later);

    const [during, after] = received as [Received, Received];
    const verify = (secret: string, { body, headers }: Received) =>
      new Webhook(secret).verify(body, headers as Record<string, string>);
    expect(() => verify(bank.webhookSecret, during)).not.toThrow();
    expect(() => verify(newSecret, during)).not.toThrow();
    expect(during.headers['x-service-signature']).toBe(hmac(bank.webhookSecret, during.body));

    expect(() => verify(bank.webhookSecret, after)).toThrow('No matching signature');
    expect(() => verify(newSecret, after)).not.toThrow();
    expect(after.headers['x-service-signature']).toBe(hmac(newSecret, after.body));
  });

  it('goes to where the receiver wants it now', async () => {
    const { url, received } = await receiver(taken);
    const bank = await bankAt('http://127.0.0.1:1/');
    const [id = ''] = await announceTo([bank.entityId]);
    expect(await activities().attemptDelivery(id)).toMatchObject({ status: 'pending' });
    await setWebhookUrl(db, bank.entityId, null);
    expect(await attemptInTime(id)).toMatchObject({ status: 'pending' });
    await setWebhookUrl(db, bank.entityId, url);
    expect(await attemptInTime(id)).toMatchObject({ status: 'delivered' });
    expect(received).toHaveLength(1);
    expect((await attemptsOf(id)).map(({ error }) => error)).toEqual([
      'connection refused',
      'no URL is set',
      null,
    ]);
  });
});

describe('first attempts', () => {
  it('that fail go on as workflows; those of a receiver known to be failing are not made', async () => {
    const down = await receiver(broken);
    const up = await receiver(taken);
    const [failing, healthy] = [await bankAt(down.url, 'Harbour'), await bankAt(up.url, 'Palm')];
    const workflowId = 'billing-batch/d';
    await announceTo([failing.entityId, healthy.entityId], workflowId);
    const first = activities();
    const { told, ...counts } = await first.deliverFirstAttempts(workflowId);
    expect(counts).toEqual({ delivered: 1, failed: 1, handedOver: 0 });
    const [failed] = await rows<{ id: string }>(
      db,
      `SELECT id FROM webhook_deliveries WHERE entity_id = :id AND attempts = 1`,
      { id: failing.entityId },
    );
    expect(new Set(told)).toEqual(
      new Set([
        'billing.request delivered at attempt 1 to Palm.',
        `billing.request failed at attempt 1 (answered 503) to Harbour: see webhook-delivery/${failed?.id}.`,
      ]),
    );
    expect(kicks).toBe(1);

    // Announced before it was known to be failing, attempted after.
    const [left = ''] = await announceTo([healthy.entityId], workflowId);
    await rows(db, `UPDATE webhook_endpoints SET failing_since = now() WHERE entity_id = :id`, {
      id: healthy.entityId,
    });
    expect(await first.deliverFirstAttempts(workflowId)).toMatchObject({
      delivered: 0,
      failed: 0,
      handedOver: 1,
    });
    expect(up.received).toHaveLength(1);
    expect(
      await rows(db, `SELECT 1 FROM outbox WHERE workflow_id = :id`, { id: `webhook-delivery/${left}` }),
    ).toHaveLength(1);
    // Run again, as after a crash, there is nothing left to do.
    expect(await first.deliverFirstAttempts(workflowId)).toMatchObject({
      delivered: 0,
      failed: 0,
      handedOver: 0,
    });
    expect(kicks).toBe(2);
  });

  it('are cut off when their time is over, and that counts as a failure', async () => {
    const { url } = await receiver(() => undefined);
    const bank = await bankAt(url);
    const [id = ''] = await announceTo([bank.entityId], 'billing-request/e');
    const cut = activities({ WEBHOOK_TIMEOUT_S: 0.05 });
    expect(await cut.deliverFirstAttempts('billing-request/e')).toMatchObject({ failed: 1 });
    expect(await attemptsOf(id)).toMatchObject([{ n: 1, httpStatus: null, error: 'no answer within 50 ms' }]);
  });

  it('to a receiver that does not answer hold up nobody else', async () => {
    const held: ServerResponse[] = [];
    const dead = await receiver((response) => held.push(response));
    const healthy = await receiver((response) => {
      taken(response);
      // Only now does the other one answer: were anybody waiting for it, it would be cut off.
      if (healthy.received.length === 20) for (const one of held) broken(one);
    });
    const deadBank = await bankAt(dead.url);
    const banks: string[] = [];
    for (let i = 0; i < 20; i++) banks.push((await bankAt(healthy.url)).entityId);
    const [deadId = ''] = await announceTo([deadBank.entityId, ...banks], 'billing-batch/f');
    expect(await activities().deliverFirstAttempts('billing-batch/f')).toMatchObject({
      delivered: 20,
      failed: 1,
      handedOver: 0,
    });
    expect(await attemptsOf(deadId)).toMatchObject([{ httpStatus: 503 }]);
  });

  it('that cannot be made at all, for a key is missing, go to workflows and leave the workflow in peace', async () => {
    const { url, received } = await receiver(taken);
    const [bank, other] = [await bankAt(url), await bankAt(url)];
    const [id = ''] = await announceTo([bank.entityId, other.entityId], 'billing-batch/h');
    await rows(db, `UPDATE webhook_endpoints SET secret_encrypted = :encrypted WHERE entity_id = :entityId`, {
      entityId: bank.entityId,
      encrypted: encrypt(
        readKeyring(makeKeyring()),
        bank.webhookSecret,
        `webhook_endpoints.secret:${bank.entityId}`,
      ),
    });
    expect(await activities().deliverFirstAttempts('billing-batch/h')).toMatchObject({
      delivered: 1,
      failed: 0,
      handedOver: 1,
    });
    expect(received).toHaveLength(1);
    await expect(activities().attemptDelivery(id)).rejects.toThrow('ASSENT_KEYS lacks the key');
  });

  it('end within seconds however many receivers are dead; what is left goes to workflows', async () => {
    const dead = await receiver(() => undefined);
    const banks: string[] = [];
    for (let i = 0; i < 40; i++) banks.push((await bankAt(dead.url)).entityId);
    const ids = await announceTo(banks, 'billing-batch/g');
    const counts = await activities().deliverFirstAttempts('billing-batch/g');
    // One round of ten takes the whole 2 s.
    expect(counts).toMatchObject({ delivered: 0, failed: 10, handedOver: 30 });
    expect(
      await rows(db, `SELECT 1 FROM outbox WHERE workflow_id = ANY(:ids)`, {
        ids: ids.map((id) => `webhook-delivery/${id}`),
      }),
    ).toHaveLength(40);
  });
});

describe('a provider whose merchants’ receivers are silent', () => {
  it.each([
    ['21 of them on three origins', 21, 3],
    ['60 of them, each on an origin of its own', 60, 60],
  ])(
    'holds its own places alone, with %s: what a bank or a merchant beside them waits for goes out',
    async (_, shops, origins) => {
      const provider = await db.transaction((trx) =>
        createEntity(trx, keyring, { type: 'provider', name: 'provider' }),
      );
      let heard = 0;
      const full = new EventEmitter();
      const silent = await Promise.all(
        Array.from({ length: origins }, () =>
          receiver(() => {
            if (++heard === 20) full.emit('full');
          }),
        ),
      );
      const merchants = await db.transaction(async (trx) => {
        const made: string[] = [];
        // An origin alone has eight places.
        for (let n = 0; n < shops; n++) {
          const webhookUrl = silent[n % origins]?.url;
          const one = {
            type: 'merchant',
            name: `shop ${n}`,
            providerId: provider?.entityId,
            webhookUrl,
          } as const;
          made.push((await createEntity(trx, keyring, one))?.entityId ?? '');
        }
        return made;
      });
      // A first attempt would be cut off while the others are looked at.
      await rows(db, `UPDATE webhook_endpoints SET failing_since = now() WHERE entity_id = ANY(:merchants)`, {
        merchants,
      });
      const worker = activities();
      const isFull = once(full, 'full');
      const ids = await announceTo(merchants);
      const attempts = ids.map((id) => worker.attemptDelivery(id));
      await isFull;
      const sentAway = await Promise.race(attempts);
      expect(sentAway).toMatchObject({ status: 'pending', why: 'no attempt could be begun', attempts: 0 });

      let shopAnswers = broken;
      const [bankUp, shopUp] = [await receiver(taken), await receiver((response) => shopAnswers(response))];
      const shop = await db.transaction((trx) =>
        createEntity(trx, keyring, {
          type: 'merchant',
          name: 'shop that answers',
          providerId: provider?.entityId,
          webhookUrl: shopUp.url,
        }),
      );
      const [ofBank = '', ofShop = ''] = await announceTo([
        (await bankAt(bankUp.url)).entityId,
        shop?.entityId ?? '',
      ]);
      expect(await worker.attemptDelivery(ofBank)).toMatchObject({ status: 'delivered' });
      expect(await worker.attemptDelivery(ofShop)).toMatchObject({ status: 'pending', attempts: 1 });
      shopAnswers = taken;
      expect(await attemptInTime(ofShop, worker)).toMatchObject({ status: 'delivered', attempts: 2 });
      expect(heard).toBe(20);
      await closeServers();
      await Promise.all(attempts);
    },
  );
});

const askAgain = (entityId: string, id: string) => db.transaction((trx) => redeliver(trx, entityId, id));

describe('an attempt of a delivery workflow', () => {
  it('that is the first is cut off as soon as others, and the next ones have their full time', async () => {
    const { url } = await receiver(() => undefined);
    const bank = await bankAt(url);
    const made = activities({ WEBHOOK_TIMEOUT_S: 2.5 });
    const [first = ''] = await announceTo([bank.entityId]);
    expect(await made.attemptDelivery(first)).toMatchObject({ why: 'no answer within 2 s', attempts: 1 });
    expect(await attemptInTime(first, made)).toMatchObject({ why: 'no answer within 2.5 s', attempts: 2 });
    // Its receiver fails by now.
    const [second = ''] = await announceTo([bank.entityId]);
    expect(await made.attemptDelivery(second)).toMatchObject({ why: 'no answer within 2.5 s', attempts: 1 });
  });

  it('is followed by the next after the time in the table, give or take a fifth', async () => {
    const { url } = await receiver(broken);
    const bank = await bankAt(url);
    const [id = ''] = await announceTo([bank.entityId]);
    const made = activities();
    for (const [attempts, s] of [
      [1, 5],
      [2, 30],
    ] as const) {
      const result = await attemptInTime(id, made);
      expect(result).toMatchObject({ status: 'pending', why: 'answered 503', attempts, maxAttempts: 3 });
      const { retryInMs } = result as DeliveryProgress;
      expect(retryInMs).toBeGreaterThanOrEqual(s * 800);
      expect(retryInMs).toBeLessThanOrEqual(s * 1200);
    }
    expect(await attemptInTime(id, made)).toEqual({
      status: 'failed',
      webhookType: 'billing.request',
      attempts: 3,
      why: 'answered 503',
    });
    expect(await deliveryToAttempt(db, id)).toMatchObject({ status: 'failed' });
  });

  it('is not made before it is due, however often its workflow is woken, unless it is asked for', async () => {
    const { url, received } = await receiver(broken);
    const bank = await bankAt(url);
    const [id = ''] = await announceTo([bank.entityId], 'billing-request/woken');
    // Longer than the test takes.
    const made = activities({ WEBHOOK_RETRY_S: [3_600, 3_600] });
    await made.deliverFirstAttempts('billing-request/woken');
    for (let i = 0; i < 12; i++) {
      const result = await made.attemptDelivery(id);
      expect(result).toMatchObject({ status: 'pending', why: 'answered 503', attempts: 1, maxAttempts: 3 });
      const { retryInMs } = result as DeliveryProgress;
      expect(retryInMs).toBeGreaterThan(0);
      expect(retryInMs).toBeLessThanOrEqual(4_320_000);
    }
    expect(received).toHaveLength(1);
    await askAgain(bank.entityId, id);
    expect(await activities().attemptDelivery(id)).toMatchObject({ status: 'pending', attempts: 2 });
    expect(received).toHaveLength(2);
  });

  it('sends nothing once the delivery has ended', async () => {
    const { url, received } = await receiver(taken);
    const bank = await bankAt(url);
    const [id = ''] = await announceTo([bank.entityId]);
    await activities().attemptDelivery(id);
    expect(await activities().attemptDelivery(id)).toEqual({ status: 'delivered', attempts: 1 });
    expect(received).toHaveLength(1);
  });

  it('made twice at once is one attempt, and the receiver sees one', async () => {
    const held: ServerResponse[] = [];
    const { url, received } = await receiver((response) => held.push(response));
    const bank = await bankAt(url);
    const [id = ''] = await announceTo([bank.entityId]);
    const both = [activities().attemptDelivery(id), activities().attemptDelivery(id)];
    // Who comes second ends while the first is on its way.
    expect(await Promise.race(both)).toMatchObject({ attempts: 0 });
    while (held.length < 1) await new Promise((resolve) => setImmediate(resolve));
    for (const response of held) broken(response);
    const results = await Promise.all(both);
    expect(results.map(({ attempts }) => attempts)).toEqual(expect.arrayContaining([0, 1]));
    expect(received).toHaveLength(1);
    expect(await attemptsOf(id)).toHaveLength(1);
  });

  it('that another worker makes is waited for, and not made beside it', async () => {
    const { url, received } = await receiver(taken);
    const bank = await bankAt(url);
    const [id = ''] = await announceTo([bank.entityId], 'billing-request/claimed');
    await claimUnattempted(db, 'billing-request/claimed', 60_000);
    const result = await activities().attemptDelivery(id);
    expect(result).toMatchObject({ status: 'pending', attempts: 0 });
    expect((result as DeliveryProgress).retryInMs).toBeGreaterThan(50_000);
    expect(received).toEqual([]);
  });

  it('finds no place at a receiver that holds eight already, and does not count', async () => {
    const held: ServerResponse[] = [];
    let back = false;
    const dead = await receiver((response) => (back ? taken(response) : held.push(response)));
    const up = await receiver(taken);
    const [deadBank, healthyBank] = [await bankAt(dead.url), await bankAt(up.url)];
    const made = activities();
    const ids = await announceTo(Array.from({ length: 9 }, () => deadBank.entityId));
    const inFlight = ids.slice(0, 8).map((id) => made.attemptDelivery(id));
    while (held.length < 8) await new Promise((resolve) => setImmediate(resolve));

    const ninth = ids[8] ?? '';
    expect(await made.attemptDelivery(ninth)).toMatchObject({ status: 'pending', attempts: 0 });
    expect(await attemptsOf(ninth)).toEqual([]);
    const [healthyId = ''] = await announceTo([healthyBank.entityId]);
    expect(await made.attemptDelivery(healthyId)).toMatchObject({ status: 'delivered' });

    back = true;
    for (const response of held) taken(response);
    await Promise.all(inFlight);
    expect(await attemptInTime(ninth, made)).toEqual({ status: 'delivered', attempts: 1 });
  });

  it('that found no place keeps its turn however often it is woken, and comes at once when asked for', async () => {
    const held: ServerResponse[] = [];
    const { url } = await receiver((response) => held.push(response));
    const bank = await bankAt(url);
    // Its attempts have their full time.
    await rows(db, 'UPDATE webhook_endpoints SET failing_since = now() WHERE entity_id = :entityId', {
      entityId: bank.entityId,
    });
    const made = activities({ WEBHOOK_TIMEOUT_S: 60 });
    const ids = await announceTo(Array.from({ length: 10 }, () => bank.entityId));
    const inFlight = ids.slice(0, 8).map((id) => made.attemptDelivery(id));
    while (held.length < 8) await new Promise((resolve) => setImmediate(resolve));
    const [asked = '', released = ''] = ids.slice(8);
    const waitMs = async (id: string) => ((await made.attemptDelivery(id)) as DeliveryProgress).retryInMs;
    for (const [id, turnMs] of [
      [asked, 7_500],
      [released, 15_000],
    ] as const) {
      for (let i = 0; i < 6; i++) expect(await waitMs(id)).toBeLessThanOrEqual(turnMs);
    }
    const later = `UPDATE webhook_deliveries SET next_attempt_at = next_attempt_at + interval '1 hour' WHERE id = ANY(:ids)`;
    await rows(db, later, { ids });
    expect(await made.attemptDelivery(asked)).toMatchObject({
      status: 'pending',
      why: 'no attempt could be begun',
      attempts: 0,
    });

    for (const response of held.splice(0)) taken(response);
    await Promise.all(inFlight);
    await askAgain(bank.entityId, asked);
    const again = made.attemptDelivery(asked);
    while (held.length < 1) await new Promise((resolve) => setImmediate(resolve));
    for (const response of held.splice(0)) taken(response);
    expect(await again).toEqual({ status: 'delivered', attempts: 1 });

    for (const status of ['disabled', 'active'] as const)
      await db.transaction((trx) => changeStatus(trx, keyring, OPERATOR, bank.entityId, status));
    const freed = made.attemptDelivery(released);
    while (held.length < 1) await new Promise((resolve) => setImmediate(resolve));
    for (const response of held.splice(0)) taken(response);
    expect(await freed).toEqual({ status: 'delivered', attempts: 1 });
  });
});

describe('a delivery that is asked for again', () => {
  it('goes out byte for byte as before, under the same id, also after a 200', async () => {
    const { url, received } = await receiver(taken);
    const bank = await bankAt(url);
    const [id = ''] = await announceTo([bank.entityId]);
    await activities().attemptDelivery(id);
    await askAgain(bank.entityId, id);
    expect(await activities().attemptDelivery(id)).toEqual({ status: 'delivered', attempts: 2 });

    const [first, second] = received as [Received, Received];
    expect(second.body).toBe(first.body);
    expect(second.headers['x-service-delivery']).toBe(id);
    expect(second.headers['x-service-signature']).toBe(first.headers['x-service-signature']);
    expect(() =>
      new Webhook(bank.webhookSecret).verify(second.body, second.headers as Record<string, string>),
    ).not.toThrow();
  });

  it('has the table of retries before it once more, from its beginning', async () => {
    const { url } = await receiver(broken);
    const bank = await bankAt(url);
    const [id = ''] = await announceTo([bank.entityId]);
    const made = activities();
    for (let n = 1; n <= 3; n++) await attemptInTime(id, made);
    expect(await made.attemptDelivery(id)).toMatchObject({ status: 'failed', attempts: 3 });

    await askAgain(bank.entityId, id);
    const first = await made.attemptDelivery(id);
    expect(first).toMatchObject({ status: 'pending', attempts: 4, maxAttempts: 6 });
    const { retryInMs } = first as DeliveryProgress;
    expect(retryInMs).toBeGreaterThanOrEqual(4_000);
    expect(retryInMs).toBeLessThanOrEqual(6_000);
    expect(await attemptInTime(id, made)).toMatchObject({ status: 'pending', attempts: 5 });
    expect(await attemptInTime(id, made)).toMatchObject({ status: 'failed', attempts: 6 });
  });

  it('while its last attempt is under way is not ended by that attempt’s failure', async () => {
    const held: ServerResponse[] = [];
    const slow = await receiver((response) => held.push(response));
    const bank = await bankAt(slow.url);
    const [id = ''] = await announceTo([bank.entityId]);
    const made = activities({ WEBHOOK_RETRY_S: [5] });
    const first = made.attemptDelivery(id);
    while (held.length < 1) await new Promise((resolve) => setImmediate(resolve));
    for (const response of held.splice(0)) broken(response);
    await first;

    const last = attemptInTime(id, made);
    while (held.length < 1) await new Promise((resolve) => setImmediate(resolve));
    await askAgain(bank.entityId, id);
    for (const response of held.splice(0)) broken(response);
    // Its receiver may have been mended just then: the wish is for an attempt after it.
    expect(await last).toMatchObject({ status: 'pending', attempts: 2, maxAttempts: 3, retryInMs: 0 });
  });

  it('several times before it is sent is sent once', async () => {
    const { url, received } = await receiver(taken);
    const bank = await bankAt(url);
    const [id = ''] = await announceTo([bank.entityId]);
    await activities().attemptDelivery(id);
    await Promise.all(Array.from({ length: 5 }, () => askAgain(bank.entityId, id)));
    for (let i = 0; i < 5; i++) {
      expect(await activities().attemptDelivery(id)).toEqual({ status: 'delivered', attempts: 2 });
    }
    expect(received).toHaveLength(2);
  });
});

describe('a receiver that answers what it was told', () => {
  it('leaves nothing of it in clear in the database', async () => {
    const { url } = await receiver((response, { body }) => response.writeHead(500).end(body));
    const bank = await bankAt(url);
    const [first = ''] = await announceTo([bank.entityId], 'billing-request/echo');
    await activities().deliverFirstAttempts('billing-request/echo');
    await attemptInTime(first);

    const told = await attemptsOf(first);
    expect(told.map(({ head }) => head?.includes('ada@example.com'))).toEqual([true, true]);
    const stored = await dump();
    expect(stored).toContain(first);
    expect(stored).not.toContain('ada@example.com');
    expect(stored).not.toContain(Buffer.from('ada@example.com').toString('hex'));
  });
});

describe('the log of an attempt', () => {
  it('has ids and outcome, and neither the body nor where it went', async () => {
    const { url } = await receiver(broken);
    const bank = await bankAt(url);
    const [id = ''] = await announceTo([bank.entityId]);
    await activities().attemptDelivery(id);
    expect(logged).toHaveLength(1);
    expect(logged[0]).toContain(id);
    expect(logged[0]).toContain(bank.entityId);
    for (const secret of ['ada@example.com', 'hooks', 's3cret', '127.0.0.1', 'down', bank.webhookSecret]) {
      expect(logged[0]).not.toContain(secret);
    }
    const [stored] = await rows<{ body: Buffer }>(
      db,
      `SELECT body_encrypted AS body FROM webhook_deliveries WHERE id = :id`,
      { id },
    );
    expect(
      decrypt(keyring, stored?.body ?? Buffer.alloc(0), `webhook_deliveries.body_encrypted:${id}`),
    ).toContain('ada@example.com');
  });
});
