import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createWebhookActivities } from '../../src/activities/webhook';
import { createWebhookConnector, type WebhookConnector } from '../../src/activities/webhook-connector';
import { letAttemptsEnd } from '../../src/cli/attempts-under-way';
import { row, rows, type Database } from '../../src/database/pool/connection';
import { createEntity, type EntityCredentials } from '../../src/database/entity/create-entity';
import { changeEndpoint, changeStatus } from '../../src/database/entity-control/control-entity';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { announce } from '../../src/database/webhook/announce-webhooks';
import {
  attemptsUnderWay,
  claimUnattempted,
  recordAttempt,
} from '../../src/database/webhook/attempt-delivery';
import { readDelivery, redeliver } from '../../src/database/webhook/list-deliveries';
import {
  finishSecretRotation,
  forgetRetiredSecrets,
  newWebhookSecret,
  replaceWebhookSecret,
  rotateWebhookSecret,
} from '../../src/database/webhook/change-endpoint';
import { serviceSignature, standardWebhookSignature } from '../../src/domain/webhook/webhook-signature';
import { createTestDatabase } from '../support/database';
import { OPERATOR } from '../support/operator';
import { billIsAmongTheNext } from '../support/outbox';

const keyring = readKeyring(makeKeyring());
const connector = createWebhookConnector({ allowPrivate: true });
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let db: Database;
const servers: Server[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
});
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});
afterAll(async () => {
  await connector.close();
  await database.drop();
});

const activities = (instead: { db?: Database; connector?: WebhookConnector } = {}) =>
  createWebhookActivities({
    db,
    keyring,
    connector,
    ...instead,
    config: { NETWORK_TIMEZONE: 'Africa/Lagos', WEBHOOK_RETRY_S: [5, 30], WEBHOOK_TIMEOUT_S: 10 },
    relay: { kick: () => undefined },
    log: { info: () => undefined, warn: () => undefined },
    measure: () => undefined,
  });

/**
 * The database, where something else happens right after the first statement that is sent to it.
 */
function withMeanwhile(happens: () => Promise<unknown>): Database {
  let first = true;
  return {
    ...db,
    async query(...statement) {
      const answer = await db.query(...statement);
      if (first) {
        first = false;
        await happens();
      }
      return answer;
    },
  };
}

/** The connector, where something else happens before it connects. */
const connectingAfter = (happens: () => Promise<unknown>): WebhookConnector => ({
  ...connector,
  async send(...request) {
    await happens();
    return connector.send(...request);
  },
});

async function receiver(status: () => number = () => 200) {
  const received: { headers: IncomingHttpHeaders; body: string }[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks).toString('utf8') });
      response.writeHead(status(), { connection: 'close' }).end();
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks?key=s3cret`, received };
}

async function bankAt(webhookUrl: string): Promise<EntityCredentials> {
  const made = await db.transaction((trx) =>
    createEntity(trx, keyring, { type: 'bank', name: 'bank', webhookUrl }),
  );
  if (!made) throw new Error('not made');
  return made;
}

async function announceTo(entityId: string, workflowId?: string): Promise<string> {
  const [id = ''] = await db.transaction((trx) =>
    announce(trx, keyring, [
      {
        entityId,
        webhookType: 'billing.request',
        ...(workflowId !== undefined && { workflowId }),
        items: [{ customerEmail: 'ada@example.com' }],
      },
    ]),
  );
  return id;
}

const set = (entityId: string, status: 'active' | 'disabled') =>
  db.transaction((trx) => changeStatus(trx, keyring, OPERATOR, entityId, status));
const move = (entityId: string, url: string | null) =>
  db.transaction((trx) => changeEndpoint(trx, keyring, OPERATOR, entityId, url));

async function startsOf(deliveryId: string): Promise<unknown[]> {
  return rows(db, `SELECT start->'again' AS again FROM outbox WHERE workflow_id = :id ORDER BY id`, {
    id: `webhook-delivery/${deliveryId}`,
  });
}

async function noticeTo(entityId: string): Promise<string> {
  const notice = await row<{ id: string }>(
    db,
    `SELECT id FROM webhook_deliveries WHERE entity_id = :entityId AND webhook_type = 'webhook.endpoint_changed'
     ORDER BY id DESC LIMIT 1`,
    { entityId },
  );
  if (!notice) throw new Error('nothing was announced');
  return notice.id;
}

describe('webhooks of a disabled entity', () => {
  it('are not sent by their workflowIds, by retries, or by hand, and use up no attempt', async () => {
    const { url, received } = await receiver();
    const bank = await bankAt(url);
    // One from before, one that a workflow was about to send, and one that comes while it is
    // disabled.
    const retried = await announceTo(bank.entityId);
    const carried = await announceTo(bank.entityId, 'billing-batch/hold');
    await set(bank.entityId, 'disabled');
    const later = await announceTo(bank.entityId, 'billing-batch/later');
    expect(await activities().deliverFirstAttempts('billing-batch/hold')).toMatchObject({
      delivered: 0,
      failed: 0,
      handedOver: 1,
    });
    expect(await startsOf(carried)).toHaveLength(1);
    expect(await startsOf(later)).toHaveLength(1);
    await db.transaction((trx) => redeliver(trx, bank.entityId, retried));
    for (const id of [retried, carried, later]) {
      const disabled = await activities().attemptDelivery(id);
      expect(disabled).toMatchObject({
        status: 'pending',
        why: 'its receiver is disabled',
        attempts: 0,
        maxAttempts: 3,
        retryInMs: 86_400_000,
      });
      expect(await readDelivery(db, bank.entityId, id)).toMatchObject({ status: 'pending', attempts: [] });
    }
    expect(received).toEqual([]);

    await set(bank.entityId, 'active');
    for (const id of [retried, carried, later]) {
      expect((await startsOf(id)).at(-1)).toEqual({ again: 'redeliveryRequested' });
      expect(await activities().attemptDelivery(id)).toEqual({ status: 'delivered', attempts: 1 });
    }
    expect(received).toHaveLength(3);
  });

  it('that failed before are sent once it is enabled, although their next attempt was not due', async () => {
    let status = 503;
    const { url, received } = await receiver(() => status);
    const bank = await bankAt(url);
    const id = await announceTo(bank.entityId);
    expect(await activities().attemptDelivery(id)).toMatchObject({ status: 'pending', attempts: 1 });
    await set(bank.entityId, 'disabled');
    await set(bank.entityId, 'active');
    status = 200;
    expect(await activities().attemptDelivery(id)).toEqual({ status: 'delivered', attempts: 2 });
    expect(received).toHaveLength(2);
  });

  it('whose first attempt failed just before wait without using up an attempt, and are sent once it is enabled', async () => {
    let status = 500;
    const { url, received } = await receiver(() => status);
    const bank = await bankAt(url);
    const id = await announceTo(bank.entityId, 'billing-batch/failed-first');
    expect(await activities().deliverFirstAttempts('billing-batch/failed-first')).toMatchObject({
      failed: 1,
    });
    await set(bank.entityId, 'disabled');
    expect(await activities().attemptDelivery(id)).toMatchObject({ why: 'its receiver is disabled' });
    await rows(db, `DELETE FROM outbox`);
    await set(bank.entityId, 'active');
    expect(await startsOf(id)).toEqual([{ again: 'redeliveryRequested' }]);
    status = 200;
    expect(await activities().attemptDelivery(id)).toEqual({ status: 'delivered', attempts: 2 });
    expect(received).toHaveLength(2);
  });

  it('do not leave once it is disabled, also where a worker has taken them in hand for a first attempt', async () => {
    const { url, received } = await receiver();
    const bank = await bankAt(url);
    const id = await announceTo(bank.entityId, 'billing-batch/taken');
    const disabling = withMeanwhile(() => set(bank.entityId, 'disabled'));
    expect(await activities({ db: disabling }).deliverFirstAttempts('billing-batch/taken')).toMatchObject({
      delivered: 0,
      failed: 0,
      handedOver: 1,
    });
    expect(received).toEqual([]);
    // Nothing of it was sent, so nothing counts as sent.
    expect(
      await row(db, `SELECT sent, claimed_until, status FROM webhook_deliveries WHERE id = :id`, { id }),
    ).toEqual({ sent: 0, claimedUntil: null, status: 'pending' });
  });

  it('are waited for where they are on their way, and not for longer than they may be', async () => {
    const bank = await bankAt('http://127.0.0.1:9/');
    const id = await announceTo(bank.entityId, 'billing-batch/way');
    await claimUnattempted(db, 'billing-batch/way', 60_000);
    const begun = await attemptsUnderWay(db, bank.entityId);
    expect(begun.map(({ deliveryId }) => deliveryId)).toEqual([id]);

    let ended = false;
    const reading = new EventEmitter();
    const watched: Database = {
      ...db,
      async query(...statement) {
        reading.emit('read');
        return db.query(...statement);
      },
    };
    const waiting = letAttemptsEnd(watched, bank.entityId).then(() => {
      ended = true;
    });
    for (let round = 1; round <= 4; round++) await once(reading, 'read');
    expect(ended).toBe(false);
    const outcome = {
      begun: true,
      nextAttemptAt: null,
      reached: 'maybe',
      httpStatus: null,
      error: 'silence',
      responseHead: null,
    } as const;
    await recordAttempt(
      db,
      keyring,
      { deliveryId: id, n: 1, durationMs: 1, ...outcome },
      { maxAttempts: 3, retryInMs: 5_000 },
    );
    await waiting;

    // A worker that has died records nothing.
    await announceTo(bank.entityId, 'billing-batch/died');
    await rows(db, `UPDATE webhook_endpoints SET failing_since = NULL WHERE entity_id = :id`, {
      id: bank.entityId,
    });
    await announceTo(bank.entityId, 'billing-batch/died');
    await claimUnattempted(db, 'billing-batch/died', 60_000);
    expect(await attemptsUnderWay(db, bank.entityId)).not.toEqual([]);
    await rows(
      db,
      `UPDATE webhook_deliveries SET claimed_until = clock_timestamp() + interval '300 ms'
       WHERE workflow_id = 'billing-batch/died' AND claimed_until IS NOT NULL`,
    );
    await letAttemptsEnd(db, bank.entityId);
    expect(await attemptsUnderWay(db, bank.entityId)).toEqual([]);
  });

  it('are all signalled, however many wait, and those of others are left alone', async () => {
    const { url } = await receiver();
    const [bank, other] = [await bankAt(url), await bankAt(url)];
    await announceTo(other.entityId);
    await set(bank.entityId, 'disabled');
    const id = await announceTo(bank.entityId);
    await rows(
      db,
      `INSERT INTO webhook_deliveries (id, event_id, entity_id, webhook_type, body_encrypted, workflow_id)
       SELECT 'dlv_' || lpad(n::text, 26, '0'), 'evt_' || lpad(n::text, 26, '0'), entity_id, webhook_type, body_encrypted,
         'webhook-delivery/dlv_' || lpad(n::text, 26, '0')
       FROM webhook_deliveries, generate_series(1, 2500) AS n WHERE id = :id`,
      { id },
    );
    await rows(db, 'DELETE FROM outbox');
    await set(bank.entityId, 'active');
    expect(await rows(db, 'SELECT id FROM outbox')).toHaveLength(2_501);
    // None of them stands before what others ask for.
    expect(await billIsAmongTheNext(db, 1)).toBe(true);
  });
});

/**
 * What a receiver that knows one secret says of the notice: by the header of the standard, by the
 * network's own, and in the body.
 */
async function verdict(old: Awaited<ReturnType<typeof receiver>>, entityId: string, secret: string) {
  await activities().attemptDelivery(await noticeTo(entityId));
  const told = old.received.at(-1);
  if (!told) throw new Error('nothing was told');
  const { headers, body } = told;
  const { signature, ...signed } = JSON.parse(body) as { signature: string };
  const signatures = String(headers['webhook-signature']).split(' ');
  const sentAtS = Number(headers['webhook-timestamp']);
  return {
    standard: signatures.includes(
      standardWebhookSignature([secret], String(headers['webhook-id']), sentAtS, body),
    ),
    service: headers['x-service-signature'] === serviceSignature(secret, body),
    inBody: signature === serviceSignature(secret, JSON.stringify(signed)),
  };
}
describe('a retry that is about to be sent', () => {
  it('does not go to where webhooks went a moment ago', async () => {
    const [old, moved] = [await receiver(), await receiver()];
    const bank = await bankAt(old.url);
    const id = await announceTo(bank.entityId);
    const moving = connectingAfter(() => move(bank.entityId, moved.url));
    expect(await activities({ connector: moving }).attemptDelivery(id)).toMatchObject({
      status: 'pending',
      attempts: 0,
    });
    expect(old.received).toEqual([]);
    expect(await activities().attemptDelivery(id)).toEqual({ status: 'delivered', attempts: 1 });
    expect(moved.received).toHaveLength(1);
  });

  it('is not signed with a secret that has been ended a moment ago', async () => {
    const { url, received } = await receiver();
    const bank = await bankAt(url);
    const id = await announceTo(bank.entityId);
    const secret = newWebhookSecret();
    const replacing = connectingAfter(() =>
      db.transaction((trx) => replaceWebhookSecret(trx, keyring, OPERATOR, bank.entityId, secret)),
    );
    await activities({ connector: replacing }).attemptDelivery(id);
    expect(received).toEqual([]);
    await activities().attemptDelivery(id);
    const [{ headers, body } = { headers: {}, body: '' }] = received;
    expect(headers['x-service-signature']).toBe(serviceSignature(secret, body));
  });
});

describe('the old endpoint', () => {
  it('is told once that webhooks go elsewhere, with the secret of before and not a word of the new one', async () => {
    const [old, moved] = [await receiver(), await receiver()];
    const bank = await bankAt(old.url);
    await move(bank.entityId, moved.url);
    const notice = await noticeTo(bank.entityId);
    // What comes after the change does not change what the old endpoint is told, or how.
    await db.transaction((trx) =>
      replaceWebhookSecret(trx, keyring, OPERATOR, bank.entityId, newWebhookSecret()),
    );
    expect(await activities().attemptDelivery(notice)).toEqual({ status: 'delivered', attempts: 1 });
    expect(moved.received).toEqual([]);
    const [told] = old.received;
    expect(told?.headers['x-service-event']).toBe('webhook.endpoint_changed');
    expect(told?.headers['x-service-signature']).toBe(serviceSignature(bank.webhookSecret, told?.body ?? ''));
    const body = JSON.parse(told?.body ?? '') as { data: unknown };
    expect(body.data).toEqual([{ sequence: 1, changedBy: 'operator', cleared: false }]);
    expect(told?.body).not.toContain(new URL(moved.url).host);
  });

  describe('believes the notice', () => {
    const byApi = { actor: 'entity:thief', cause: 'bank', requestId: null, reason: null } as const;
    const rotate = (entityId: string) =>
      db.transaction((trx) => rotateWebhookSecret(trx, keyring, byApi, entityId, newWebhookSecret()));
    const finish = (entityId: string) => db.transaction((trx) => finishSecretRotation(trx, byApi, entityId));

    const BELIEVED = { standard: true, service: true, inBody: true };

    it('where a thief has put a secret of his own in place first', async () => {
      const [old, thief] = [await receiver(), await receiver()];
      const bank = await bankAt(old.url);
      await rotate(bank.entityId);
      await finish(bank.entityId);
      await move(bank.entityId, thief.url);
      expect(await verdict(old, bank.entityId, bank.webhookSecret)).toEqual(BELIEVED);
    });

    it('where he does so often enough to push the owner’s out, were any pushed out', async () => {
      const [old, thief] = [await receiver(), await receiver()];
      const bank = await bankAt(old.url);
      for (let i = 0; i < 12; i++) {
        await rotate(bank.entityId);
        await finish(bank.entityId);
      }
      await move(bank.entityId, thief.url);
      expect(await verdict(old, bank.entityId, bank.webhookSecret)).toEqual(BELIEVED);
      expect(String(old.received.at(-1)?.headers['webhook-signature']).split(' ')).toHaveLength(11);
    });

    it('where he waits until the owner’s secret has ended by itself', async () => {
      const [old, thief] = [await receiver(), await receiver()];
      const bank = await bankAt(old.url);
      await rotate(bank.entityId);
      await rows(
        db,
        `UPDATE webhook_endpoints SET previous_secret_until = clock_timestamp() - interval '1 hour'
         WHERE entity_id = :id`,
        { id: bank.entityId },
      );
      await rotate(bank.entityId);
      await finish(bank.entityId);
      await move(bank.entityId, thief.url);
      expect(await verdict(old, bank.entityId, bank.webhookSecret)).toEqual(BELIEVED);
    });

    it('by the header of the standard, where its owner has changed the secret just before', async () => {
      const [old, thief] = [await receiver(), await receiver()];
      const bank = await bankAt(old.url);
      const owners = newWebhookSecret();
      await db.transaction((trx) => rotateWebhookSecret(trx, keyring, byApi, bank.entityId, owners));
      await finish(bank.entityId);
      await rotate(bank.entityId);
      await finish(bank.entityId);
      await move(bank.entityId, thief.url);
      expect(await verdict(old, bank.entityId, owners)).toMatchObject({ standard: true });
    });

    it('no more with a secret that has been out of use for three days, or that the operator has ended at once', async () => {
      const [old, moved] = [await receiver(), await receiver()];
      const [bank, other] = [await bankAt(old.url), await bankAt(old.url)];
      await rotate(bank.entityId);
      await finish(bank.entityId);
      await rows(
        db,
        `WITH kept AS (DELETE FROM retired_webhook_secrets WHERE entity_id = :id RETURNING *)
         INSERT INTO retired_webhook_secrets (entity_id, secret_encrypted, retired_at)
         SELECT entity_id, secret_encrypted, retired_at - interval '72 hours' FROM kept`,
        { id: bank.entityId },
      );
      await rotate(other.entityId);
      await db.transaction((trx) =>
        replaceWebhookSecret(trx, keyring, OPERATOR, other.entityId, newWebhookSecret()),
      );
      for (const { entityId, webhookSecret } of [bank, other]) {
        await move(entityId, moved.url);
        const nothing = { standard: false, service: false, inBody: false };
        expect(await verdict(old, entityId, webhookSecret)).toEqual(nothing);
      }
      await forgetRetiredSecrets(db);
      expect(
        await rows(db, `SELECT id FROM retired_webhook_secrets WHERE entity_id = ANY(:ids)`, {
          ids: [bank.entityId, other.entityId],
        }),
      ).toEqual([]);
    });
  });

  it('is not tried again where it does not answer well, and that says nothing of the new one', async () => {
    const [old, moved] = [await receiver(() => 500), await receiver()];
    const bank = await bankAt(old.url);
    await move(bank.entityId, moved.url);
    const notice = await noticeTo(bank.entityId);
    expect(await activities().attemptDelivery(notice)).toMatchObject({ status: 'failed', attempts: 1 });
    expect(await activities().attemptDelivery(notice)).toMatchObject({ status: 'failed', attempts: 1 });
    expect(old.received).toHaveLength(1);
    expect(
      await row(db, `SELECT failing_since FROM webhook_endpoints WHERE entity_id = :id`, {
        id: bank.entityId,
      }),
    ).toEqual({ failingSince: null });

    // By hand it goes where everything goes.
    await db.transaction((trx) => redeliver(trx, bank.entityId, notice));
    expect(await activities().attemptDelivery(notice)).toEqual({ status: 'delivered', attempts: 2 });
    expect([old.received.length, moved.received.length]).toEqual([1, 1]);
  });

  it('hears of a URL that was cleared, and nothing where nothing changed or there was none', async () => {
    const old = await receiver();
    const bank = await bankAt(old.url);
    await move(bank.entityId, old.url);
    await expect(noticeTo(bank.entityId)).rejects.toThrow('nothing was announced');
    await move(bank.entityId, null);
    expect(await activities().attemptDelivery(await noticeTo(bank.entityId))).toMatchObject({
      status: 'delivered',
    });
    expect(JSON.parse(old.received[0]?.body ?? '')).toMatchObject({ data: [{ cleared: true }] });
    await move(bank.entityId, old.url);
    expect(
      await rows(db, `SELECT id FROM webhook_deliveries WHERE entity_id = :id`, { id: bank.entityId }),
    ).toHaveLength(1);
  });
});
