import { EventEmitter, once } from 'node:events';
import type { WebhookConnector } from '../../src/activities/webhook-connector';
import { letAttemptsEnd } from '../../src/cli/attempts-under-way';
import { changeEndpoint, changeStatus } from '../../src/database/entity-control/control-entity';
import type { Database } from '../../src/database/pool/connection';
import { attemptsUnderWay, claimUnattempted } from '../../src/database/webhook/attempt-delivery';
import { readDelivery, redeliver } from '../../src/database/webhook/list-deliveries';
import {
  finishSecretRotation,
  forgetRetiredSecrets,
  newWebhookSecret,
  replaceWebhookSecret,
  rotateWebhookSecret,
} from '../../src/database/webhook/change-endpoint';
import { serviceSignature, standardWebhookSignature } from '../../src/domain/webhook/webhook-signature';
import { WEBHOOK_TYPES } from '../../src/domain/webhook/webhook';
import { asSchemaLogin, databaseOfFile } from '../support/database';
import { OPERATOR } from '../support/operator';
import { billIsAmongTheNext } from '../support/outbox';
import { webhookSender, type Received } from '../support/webhook-sender';
import { recordOutcome } from '../support/record-outcome';

/** Webhooks that must not go where they would have gone a moment ago. */

const database = databaseOfFile();
const { db } = database;
const sender = webhookSender(db);
afterEach(() => sender.closeReceivers());
afterAll(() => sender.connector.close());

/** The database, where something else happens right after the first statement. */
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
  ...sender.connector,
  async send(...request) {
    await happens();
    return sender.connector.send(...request);
  },
});

const announceTo = async (entityId: string, workflowId?: string) =>
  (await sender.announceTo([entityId], workflowId))[0] ?? '';
const set = (entityId: string, status: 'active' | 'disabled') =>
  db.transaction((trx) => changeStatus(trx, OPERATOR, entityId, status));
const move = (entityId: string, url: string | null) =>
  db.transaction((trx) => changeEndpoint(trx, OPERATOR, entityId, url));
const replaceSecret = (entityId: string, secret = newWebhookSecret()) =>
  db.transaction((trx) => replaceWebhookSecret(trx, OPERATOR, entityId, secret));

async function noticeTo(entityId: string): Promise<string> {
  const notice = await db.row<{ id: string }>`
    SELECT id FROM webhook_deliveries WHERE entity_id = ${entityId}
      AND webhook_type = 'webhook.endpoint_changed'
    ORDER BY id DESC LIMIT 1`;
  if (!notice) throw new Error('nothing was announced');
  return notice.id;
}

describe('webhooks of a disabled entity', () => {
  it('are not sent by their workflows, by retries, or by hand, and use up no attempt', async () => {
    const { url, received } = await sender.receiver();
    const { entityId } = await sender.bankAt(url);
    // One from before, one that a workflow was about to send, and one that comes while it is
    // disabled.
    const retried = await announceTo(entityId);
    const carried = await announceTo(entityId, 'billing-batch/hold');
    await set(entityId, 'disabled');
    const later = await announceTo(entityId, 'billing-batch/later');
    expect(await sender.activities().deliverFirstAttempts('billing-batch/hold', WEBHOOK_TYPES)).toMatchObject(
      {
        delivered: 0,
        failed: 0,
        handedOver: 1,
      },
    );
    expect(await sender.startsOf(carried)).toHaveLength(1);
    expect(await sender.startsOf(later)).toHaveLength(1);
    await db.transaction((trx) => redeliver(trx, entityId, retried));
    for (const id of [retried, carried, later]) {
      expect(await sender.activities().attemptDelivery(id)).toMatchObject({
        status: 'pending',
        why: 'its receiver is disabled',
        attempts: 0,
        maxAttempts: 3,
        retryInMs: 86_400_000,
      });
      expect(await readDelivery(db, entityId, id)).toMatchObject({ status: 'pending', attempts: [] });
    }
    expect(received).toEqual([]);

    await set(entityId, 'active');
    for (const id of [retried, carried, later]) {
      expect((await sender.startsOf(id)).at(-1)).toEqual({ again: 'redeliveryRequested' });
      expect(await sender.activities().attemptDelivery(id)).toEqual({ status: 'delivered', attempts: 1 });
    }
    expect(received).toHaveLength(3);
  });

  it('do not leave once it is disabled, also where a worker has taken them in hand for a first attempt', async () => {
    const { url, received } = await sender.receiver();
    const { entityId } = await sender.bankAt(url);
    const id = await announceTo(entityId, 'billing-batch/taken');
    const disabling = sender.activities({}, { db: withMeanwhile(() => set(entityId, 'disabled')) });
    expect(await disabling.deliverFirstAttempts('billing-batch/taken', WEBHOOK_TYPES)).toMatchObject({
      delivered: 0,
      failed: 0,
      handedOver: 1,
    });
    expect(received).toEqual([]);
    // Nothing of it was sent, so nothing counts as sent.
    expect(
      await db.row`
      SELECT sent, claimed_until, status FROM webhook_deliveries WHERE id = ${id}`,
    ).toEqual({ sent: 0, claimedUntil: null, status: 'pending' });
  });

  it('are waited for where they are on their way, and not for longer than they may be', async () => {
    const { entityId } = await sender.bankAt('http://127.0.0.1:9/');
    const deliveryId = await announceTo(entityId, 'billing-batch/way');
    await claimUnattempted(db, 'billing-batch/way', 60_000, WEBHOOK_TYPES);
    expect(await attemptsUnderWay(db, entityId)).toMatchObject([{ deliveryId }]);

    let ended = false;
    const reading = new EventEmitter();
    const watched: Database = {
      ...db,
      async query(...statement) {
        reading.emit('read');
        return db.query(...statement);
      },
    };
    const waiting = letAttemptsEnd(watched, entityId).then(() => {
      ended = true;
    });
    for (let round = 1; round <= 4; round++) await once(reading, 'read');
    expect(ended).toBe(false);
    const silence = { begun: true, reached: 'maybe', httpStatus: null, error: 'silence' } as const;
    await recordOutcome(db, deliveryId, 1, silence);
    await waiting;

    // A worker that has died records nothing.
    await db.rows`
      UPDATE webhook_endpoints SET failing_since = NULL WHERE entity_id = ${entityId}`;
    await announceTo(entityId, 'billing-batch/died');
    await claimUnattempted(db, 'billing-batch/died', 300, WEBHOOK_TYPES);
    expect(await attemptsUnderWay(db, entityId)).not.toEqual([]);
    await letAttemptsEnd(db, entityId);
    expect(await attemptsUnderWay(db, entityId)).toEqual([]);
  });

  it('are all signalled, however many wait, and those of others are left alone', async () => {
    const { url } = await sender.receiver();
    const [bank, other] = [await sender.bankAt(url), await sender.bankAt(url)];
    await announceTo(other.entityId);
    await set(bank.entityId, 'disabled');
    const id = await announceTo(bank.entityId);
    await db.rows`
      INSERT INTO webhook_deliveries (id, entity_id, webhook_type, body_encrypted, workflow_id, commit_id)
      SELECT 'dlv_' || lpad(n::text, 26, '0'), entity_id, webhook_type, body_encrypted,
        'webhook-delivery/dlv_' || lpad(n::text, 26, '0'), commit_id
      FROM webhook_deliveries, generate_series(1, 2500) AS n WHERE id = ${id}`;
    await db.rows`DELETE FROM outbox`;
    await set(bank.entityId, 'active');
    expect(await db.rows`SELECT id FROM outbox`).toHaveLength(2_501);
    // None of them stands before what others ask for.
    expect(await billIsAmongTheNext(db, 1)).toBe(true);
  });
});

describe('a retry that is about to be sent', () => {
  it('does not go to where webhooks went a moment ago', async () => {
    const [old, moved] = [await sender.receiver(), await sender.receiver()];
    const { entityId } = await sender.bankAt(old.url);
    const id = await announceTo(entityId);
    const moving = sender.activities({}, { connector: connectingAfter(() => move(entityId, moved.url)) });
    expect(await moving.attemptDelivery(id)).toMatchObject({ status: 'pending', attempts: 0 });
    expect(old.received).toEqual([]);
    expect(await sender.activities().attemptDelivery(id)).toEqual({ status: 'delivered', attempts: 1 });
    expect(moved.received).toHaveLength(1);
  });

  it('is not signed with a secret that has been ended a moment ago', async () => {
    const { url, received } = await sender.receiver();
    const { entityId } = await sender.bankAt(url);
    const id = await announceTo(entityId);
    const secret = newWebhookSecret();
    const connector = connectingAfter(() => replaceSecret(entityId, secret));
    await sender.activities({}, { connector }).attemptDelivery(id);
    expect(received).toEqual([]);
    await sender.activities().attemptDelivery(id);
    const [{ headers, body } = { headers: {}, body: '' }] = received;
    expect(headers['x-service-signature']).toBe(serviceSignature(secret, body));
  });
});

/** How a receiver that knows one secret judges the notice, by each of its three signatures. */
async function verdict(old: { received: Received[] }, entityId: string, secret: string) {
  await sender.activities().attemptDelivery(await noticeTo(entityId));
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

const byApi = { actor: 'entity:thief', cause: 'bank', requestId: null, reason: null } as const;

/** Puts another secret in place, with the old one good for a day. */
const rotate = (entityId: string, secret = newWebhookSecret()) =>
  db.transaction((trx) => rotateWebhookSecret(trx, byApi, entityId, secret));
/** The same, with the old one ended at once. */
async function take(entityId: string, secret?: string): Promise<void> {
  await rotate(entityId, secret);
  await db.transaction((trx) => finishSecretRotation(trx, byApi, entityId));
}

describe('the old endpoint', () => {
  it('is told once that webhooks go elsewhere, with the secret of before and not a word of the new one', async () => {
    const [old, moved] = [await sender.receiver(), await sender.receiver()];
    const bank = await sender.bankAt(old.url);
    await move(bank.entityId, moved.url);
    const notice = await noticeTo(bank.entityId);
    // A later change does not change what the old endpoint is told, or how.
    await replaceSecret(bank.entityId);
    expect(await sender.activities().attemptDelivery(notice)).toEqual({ status: 'delivered', attempts: 1 });
    expect(moved.received).toEqual([]);
    const [told] = old.received;
    expect(told?.headers['x-service-event']).toBe('webhook.endpoint_changed');
    expect(told?.headers['x-service-signature']).toBe(serviceSignature(bank.webhookSecret, told?.body ?? ''));
    const body = JSON.parse(told?.body ?? '') as { data: unknown };
    expect(body.data).toEqual([{ sequence: 1, changedBy: 'operator', cleared: false }]);
    expect(told?.body).not.toContain(new URL(moved.url).host);
  });

  it.each<[string, (entityId: string) => Promise<void>]>([
    ['puts a secret of his own in place first', take],
    [
      'does so often enough to push the owner’s out, were any pushed out',
      async (entityId) => {
        for (let i = 0; i < 12; i++) await take(entityId);
      },
    ],
    [
      'puts two of his own beside it, of which the first is retired before it',
      async (entityId) => {
        await rotate(entityId);
        await rotate(entityId);
      },
    ],
    [
      'does so often enough to leave it no place, and ends it then',
      async (entityId) => {
        for (let i = 0; i < 11; i++) await rotate(entityId);
        await take(entityId);
      },
    ],
    [
      'waits until the owner’s secret has ended by itself',
      async (entityId) => {
        await rotate(entityId);
        await asSchemaLogin(
          database.url,
          `UPDATE webhook_endpoints SET previous_secret_until = clock_timestamp() - interval '1 hour'
           WHERE entity_id = '${entityId}'`,
        );
        await take(entityId);
      },
    ],
    [
      'rotates it many times at once',
      async (entityId: string) => void (await Promise.all(Array.from({ length: 8 }, () => rotate(entityId)))),
    ],
  ])('believes the notice by its owner’s secret where a thief %s', async (_, steal) => {
    const old = await sender.receiver();
    const { entityId, webhookSecret } = await sender.bankAt(old.url);
    await steal(entityId);
    await move(entityId, 'http://thief.test/');
    expect(await verdict(old, entityId, webhookSecret)).toEqual({
      standard: true,
      service: true,
      inBody: true,
    });
    expect(String(old.received.at(-1)?.headers['webhook-signature']).split(' ').length).toBeLessThan(12);
  });

  it('believes the notice by the header of the standard, where its owner has changed the secret just before', async () => {
    const old = await sender.receiver();
    const { entityId } = await sender.bankAt(old.url);
    const owners = newWebhookSecret();
    await take(entityId, owners);
    await take(entityId);
    await move(entityId, 'http://thief.test/');
    expect(await verdict(old, entityId, owners)).toMatchObject({ standard: true });
  });

  it('believes it no more by a secret that has been out of use for three days, or that the operator has ended', async () => {
    const old = await sender.receiver();
    const [bank, other] = [await sender.bankAt(old.url), await sender.bankAt(old.url)];
    await take(bank.entityId);
    await db.rows`
      WITH kept AS (DELETE FROM retired_webhook_secrets WHERE entity_id = ${bank.entityId} RETURNING *)
      INSERT INTO retired_webhook_secrets (entity_id, secret_encrypted, replaced_at, retired_at)
      SELECT entity_id, secret_encrypted, replaced_at, retired_at - interval '72 hours' FROM kept`;
    await rotate(other.entityId);
    await replaceSecret(other.entityId);
    for (const { entityId, webhookSecret } of [bank, other]) {
      await move(entityId, 'http://moved.test/');
      const nothing = { standard: false, service: false, inBody: false };
      expect(await verdict(old, entityId, webhookSecret)).toEqual(nothing);
    }
    await forgetRetiredSecrets(db);
    const ids = [bank.entityId, other.entityId];
    const kept = await db.rows`SELECT id FROM retired_webhook_secrets WHERE entity_id = ANY(${ids})`;
    expect(kept).toEqual([]);
  });

  it('is not tried again where it does not answer well, and that says nothing of the new one', async () => {
    const [old, moved] = [
      await sender.receiver((response) => response.writeHead(500).end()),
      await sender.receiver(),
    ];
    const { entityId } = await sender.bankAt(old.url);
    await move(entityId, moved.url);
    const notice = await noticeTo(entityId);
    for (let n = 0; n < 2; n++) {
      const result = await sender.activities().attemptDelivery(notice);
      expect(result).toMatchObject({ status: 'failed', attempts: 1 });
    }
    expect(old.received).toHaveLength(1);
    expect(await db.row`SELECT failing_since FROM webhook_endpoints WHERE entity_id = ${entityId}`).toEqual({
      failingSince: null,
    });

    // By hand it goes where everything goes.
    await db.transaction((trx) => redeliver(trx, entityId, notice));
    expect(await sender.activities().attemptDelivery(notice)).toEqual({ status: 'delivered', attempts: 2 });
    expect([old.received.length, moved.received.length]).toEqual([1, 1]);
  });

  it('hears of a URL that was cleared, and nothing where nothing changed or there was none', async () => {
    const old = await sender.receiver();
    const { entityId } = await sender.bankAt(old.url);
    await move(entityId, old.url);
    await expect(noticeTo(entityId)).rejects.toThrow('nothing was announced');
    await move(entityId, null);
    await sender.activities().attemptDelivery(await noticeTo(entityId));
    expect(JSON.parse(old.received[0]?.body ?? '')).toMatchObject({ data: [{ cleared: true }] });
    await move(entityId, old.url);
    const all = await db.rows`SELECT id FROM webhook_deliveries WHERE entity_id = ${entityId}`;
    expect(all).toHaveLength(1);
  });
});
