import { rows, type Database } from '../../src/database/pool/connection';
import { createEntity } from '../../src/database/entity/create-entity';
import { newId } from '../../src/database/identifier/new-id';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { decrypt } from '../../src/database/keys/encrypt';
import { announce, type Announcement } from '../../src/database/webhook/announce-webhooks';
import {
  awaitPlace,
  beginAttempt,
  claimUnattempted,
  deliveryToAttempt,
  handOver,
  openDelivery,
  recordAttempt,
  type Attempt,
} from '../../src/database/webhook/attempt-delivery';
import { redeliver } from '../../src/database/webhook/list-deliveries';
import { setWebhookUrl } from '../../src/database/webhook/change-endpoint';
import { serviceSignature } from '../../src/domain/webhook/webhook-signature';
import { workflowIds } from '../../src/domain/workflow/workflow-id';
import { createTestDatabase } from '../support/database';

const keyring = readKeyring(makeKeyring());
const LEASE_MS = 60_000;
const RETRY = { maxAttempts: 3, retryInMs: 5_000 };
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let db: Database;

beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
});
afterAll(() => database.drop());

async function entity(type: 'bank' | 'merchant', webhookUrl?: string) {
  const made = await db.transaction((trx) => createEntity(trx, keyring, { type, name: type, webhookUrl }));
  if (!made) throw new Error('not made');
  return made;
}

const tell = (...announcements: Announcement[]) =>
  db.transaction((trx) => announce(trx, keyring, announcements));

/** A delivery announced to a bank of its own, by a workflow of its own. */
async function pending() {
  const bank = await entity('bank', 'http://bank.test/');
  const workflowId = workflowIds.billingRequest(newId('billingRequest'));
  const [id = ''] = await tell({
    entityId: bank.entityId,
    webhookType: 'billing.request',
    workflowId,
    items: [{}],
  });
  return { id, workflowId, bank };
}

const starts = (deliveryId: string) =>
  rows<{ start: object }>(db, `SELECT start FROM outbox WHERE workflow_id = :id`, {
    id: workflowIds.webhookDelivery(deliveryId),
  });

const failure = (deliveryId: string, n: number, more: Partial<Attempt> = {}): Attempt => ({
  deliveryId,
  n,
  begun: false,
  nextAttemptAt: null,
  reached: 'yes',
  durationMs: 7,
  httpStatus: 500,
  error: 'HTTP 500',
  responseHead: 'oh no',
  ...more,
});
const success = (deliveryId: string, n: number) =>
  failure(deliveryId, n, { httpStatus: 200, error: null, responseHead: 'thanks' });

async function attemptsOf(deliveryId: string) {
  return rows<{ n: number; error: string | null }>(
    db,
    `SELECT n, error FROM webhook_attempts WHERE delivery_id = :deliveryId ORDER BY n`,
    { deliveryId },
  );
}

async function failingSince(entityId: string): Promise<Date | null | undefined> {
  const [found] = await rows<{ since: Date | null }>(
    db,
    `SELECT failing_since AS since FROM webhook_endpoints WHERE entity_id = :entityId`,
    { entityId },
  );
  return found?.since;
}

describe('an announcement', () => {
  it('has one signed envelope per receiver, in the order given', async () => {
    const bank = await entity('bank', 'http://bank.test/');
    const merchant = await entity('merchant', 'http://merchant.test/');
    const batchId = newId('batch');
    const workflowId = 'billing-request/x1';
    const ids = await tell(
      {
        entityId: merchant.entityId,
        webhookType: 'billing.response',
        batchId,
        workflowId,
        items: [{ amount: 10.5, payer: 'Zoë €' }, { amount: 2 }],
      },
      { entityId: bank.entityId, webhookType: 'billing.closed', workflowId, items: [{ sequence: 2 }] },
    );
    const deliveries = await claimUnattempted(db, workflowId, LEASE_MS);
    expect(deliveries.map((one) => one.id)).toEqual(ids);

    const [toMerchant, toBank] = deliveries.map(
      (one) => JSON.parse(openDelivery(keyring, one).body) as Record<string, unknown>,
    );
    expect(toMerchant).toEqual({
      entityId: merchant.entityId,
      entityType: 'merchant',
      webhookType: 'billing.response',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      batchId,
      data: [{ amount: 10.5, payer: 'Zoë €' }, { amount: 2 }],
      itemCount: 2,
      signature: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(toBank).toMatchObject({ entityId: bank.entityId, entityType: 'bank', itemCount: 1 });
    expect(toBank).toHaveProperty('batchId', expect.stringMatching(/^bat_/));

    const { signature, ...unsigned } = toMerchant ?? {};
    expect(signature).toBe(serviceSignature(merchant.webhookSecret, JSON.stringify(unsigned)));
  });

  it('is not written when its transaction does not commit', async () => {
    const bank = await entity('bank', 'http://bank.test/');
    const announcement = { entityId: bank.entityId, webhookType: 'webhook.test' as const, items: [{}] };
    await expect(
      db.transaction(async (trx) => {
        await announce(trx, keyring, [announcement]);
        throw new Error('rolled back');
      }),
    ).rejects.toThrow('rolled back');
    expect(
      await rows(db, `SELECT 1 FROM webhook_deliveries WHERE entity_id = :id`, { id: bank.entityId }),
    ).toEqual([]);
  });

  it('is stored encrypted, so the database holds no e-mail of a customer', async () => {
    const bank = await entity('bank', 'http://bank.test/');
    const [id = ''] = await tell({
      entityId: bank.entityId,
      webhookType: 'billing.request',
      items: [{ customerEmail: 'ada@example.com' }],
    });
    const stored = await deliveryToAttempt(db, id);
    if (!stored) throw new Error('not stored');
    expect(stored.bodyEncrypted.includes('ada@example.com')).toBe(false);
    expect(openDelivery(keyring, stored).body).toContain('ada@example.com');
  });

  it('without a workflow to announce it starts its own workflow at once', async () => {
    const merchant = await entity('merchant', 'http://merchant.test/');
    const [id = ''] = await tell({
      entityId: merchant.entityId,
      webhookType: 'webhook.test',
      items: [{ sequence: 1 }],
    });
    expect(await starts(id)).toEqual([
      {
        start: {
          type: 'webhookDelivery',
          args: [id],
          attributes: { status: 'pending', merchantId: merchant.entityId },
          summary: 'webhook.test to merchant',
        },
      },
    ]);
  });

  it('to a receiver without a URL has failed from the start, and no workflow tries it', async () => {
    const bank = await entity('bank');
    const workflowId = 'billing-request/x2';
    const [id = ''] = await tell({
      entityId: bank.entityId,
      webhookType: 'billing.request',
      workflowId,
      items: [{}],
    });
    expect(await claimUnattempted(db, workflowId, LEASE_MS)).toEqual([]);
    expect(await starts(id)).toEqual([]);
    expect(await deliveryToAttempt(db, id)).toMatchObject({ status: 'failed', attempts: 0 });
  });

  it('to a receiver known to be failing is not left to its workflowId, which would only wait', async () => {
    const { id: failed, bank, workflowId } = await pending();
    await recordAttempt(db, keyring, failure(failed, 1), RETRY);
    const [id = ''] = await tell({
      entityId: bank.entityId,
      webhookType: 'billing.closed',
      workflowId,
      items: [{}],
    });
    expect(await claimUnattempted(db, workflowId, LEASE_MS)).toEqual([]);
    expect(await starts(id)).toHaveLength(1);
  });

  it('to an entity that is not there is an error of the caller', async () => {
    const announcement = { entityId: newId('bank'), webhookType: 'webhook.test' as const, items: [] };
    await expect(tell(announcement)).rejects.toThrow('has no webhook endpoint');
  });
});

describe('an attempt', () => {
  it('that succeeds ends the delivery', async () => {
    const { id, workflowId } = await pending();
    expect(await recordAttempt(db, keyring, success(id, 1), RETRY)).toMatchObject({
      status: 'delivered',
      attempts: 1,
    });
    expect(await deliveryToAttempt(db, id)).toMatchObject({ status: 'delivered' });
    expect(await claimUnattempted(db, workflowId, LEASE_MS)).toEqual([]);
    expect(await starts(id)).toEqual([]);
  });

  it('that is the first and fails moves the delivery to a workflow of its own, which waits', async () => {
    const { id, bank } = await pending();
    expect(await recordAttempt(db, keyring, failure(id, 1), RETRY)).toMatchObject({
      status: 'pending',
      attempts: 1,
    });
    expect(await starts(id)).toEqual([
      {
        start: expect.objectContaining({
          args: [
            id,
            {
              webhookType: 'billing.request',
              why: 'answered 500',
              attempts: 1,
              maxAttempts: 3,
              // What is left of it when the answer is written.
              retryInMs: expect.closeTo(RETRY.retryInMs, -4) as number,
            },
          ],
          attributes: { status: 'pending', bankId: bank.entityId },
        }) as object,
      },
    ]);
  });

  it('that fails later starts no second workflow', async () => {
    const { id } = await pending();
    await recordAttempt(db, keyring, failure(id, 1), RETRY);
    await recordAttempt(db, keyring, failure(id, 2), RETRY);
    expect(await starts(id)).toHaveLength(1);
  });

  it('that is the last and fails ends the delivery as failed', async () => {
    const { id } = await pending();
    await recordAttempt(db, keyring, failure(id, 1), RETRY);
    expect(await recordAttempt(db, keyring, failure(id, 2), RETRY)).toMatchObject({
      status: 'pending',
      attempts: 2,
    });
    expect(await recordAttempt(db, keyring, failure(id, 3), RETRY)).toMatchObject({
      status: 'failed',
      attempts: 3,
    });
    expect(await deliveryToAttempt(db, id)).toMatchObject({ status: 'failed' });
  });

  it('answered with 410 ends the delivery at once, also the first', async () => {
    const { id } = await pending();
    const gone = failure(id, 1, { httpStatus: 410, error: 'HTTP 410' });
    expect(await recordAttempt(db, keyring, gone, RETRY)).toMatchObject({ status: 'failed', attempts: 1 });
    expect(await starts(id)).toEqual([]);
  });

  it('sets and clears the mark of a failing receiver, and keeps the time it began', async () => {
    const { id, bank } = await pending();
    expect(await failingSince(bank.entityId)).toBeNull();
    await recordAttempt(db, keyring, failure(id, 1), RETRY);
    const since = await failingSince(bank.entityId);
    expect(since).toBeInstanceOf(Object);
    await recordAttempt(db, keyring, failure(id, 2), RETRY);
    expect(await failingSince(bank.entityId)).toEqual(since);
    await recordAttempt(db, keyring, success(id, 3), RETRY);
    expect(await failingSince(bank.entityId)).toBeNull();
  });

  it('made by several workers at once is one attempt per number, however they race', async () => {
    const { id } = await pending();
    await Promise.all(Array.from({ length: 6 }, () => recordAttempt(db, keyring, failure(id, 1), RETRY)));
    expect(await attemptsOf(id)).toEqual([{ n: 1, error: 'HTTP 500' }]);
    expect(await starts(id)).toHaveLength(1);
    await Promise.all(Array.from({ length: 6 }, () => recordAttempt(db, keyring, failure(id, 2), RETRY)));
    expect(await attemptsOf(id)).toHaveLength(2);
  });

  it('that succeeded is kept although another worker recorded its failure first', async () => {
    const { id } = await pending();
    await Promise.all([
      recordAttempt(db, keyring, failure(id, 1), RETRY),
      recordAttempt(db, keyring, success(id, 1), RETRY),
      recordAttempt(db, keyring, failure(id, 1), RETRY),
    ]);
    expect(await deliveryToAttempt(db, id)).toMatchObject({ status: 'delivered' });
    expect((await attemptsOf(id)).filter((one) => one.error === null)).toHaveLength(1);
  });

  it('that succeeded has no answer kept where its number was taken: it would not open under the next', async () => {
    const { id } = await pending();
    await recordAttempt(db, keyring, failure(id, 1), RETRY);
    await recordAttempt(db, keyring, success(id, 1), RETRY);
    const heads = await rows<{ n: number; head: Buffer | null }>(
      db,
      `SELECT n, response_head_encrypted AS head FROM webhook_attempts WHERE delivery_id = :id ORDER BY n`,
      { id },
    );
    expect(heads).toEqual([
      { n: 1, head: expect.any(Buffer) as Buffer },
      { n: 2, head: null },
    ]);
    const head = heads[0]?.head ?? Buffer.alloc(0);
    expect(decrypt(keyring, head, `webhook_attempts.response_head_encrypted:${id}/1`)).toBe('oh no');
  });

  it('that comes after the end changes nothing, unless it succeeds', async () => {
    const { id } = await pending();
    await recordAttempt(db, keyring, success(id, 1), RETRY);
    expect(await recordAttempt(db, keyring, failure(id, 2), RETRY)).toMatchObject({
      status: 'delivered',
      attempts: 1,
    });

    const other = await pending();
    await recordAttempt(db, keyring, failure(other.id, 1), { ...RETRY, maxAttempts: 1 });
    expect(await recordAttempt(db, keyring, success(other.id, 1), RETRY)).toMatchObject({
      status: 'delivered',
    });
  });
});

describe('a first attempt', () => {
  it('belongs to one worker, until the time is over in which it must be recorded', async () => {
    const { id, workflowId } = await pending();
    const claims = await Promise.all(
      Array.from({ length: 4 }, () => claimUnattempted(db, workflowId, LEASE_MS)),
    );
    expect(claims.flat().filter(({ claimed }) => claimed)).toHaveLength(1);
    const stored = await deliveryToAttempt(db, id);
    expect(stored && (await beginAttempt(db, stored, LEASE_MS))).toBe(false);

    const other = await pending();
    expect(await claimUnattempted(db, other.workflowId, 0)).toMatchObject([{ claimed: true }]);
    // Its worker has died.
    expect(await claimUnattempted(db, other.workflowId, LEASE_MS)).toMatchObject([{ claimed: true }]);
  });

  it('to a receiver known to be failing is nobody’s', async () => {
    const { workflowId, bank } = await pending();
    await rows(db, `UPDATE webhook_endpoints SET failing_since = clock_timestamp() WHERE entity_id = :id`, {
      id: bank.entityId,
    });
    expect(await claimUnattempted(db, workflowId, LEASE_MS)).toMatchObject([
      { claimed: false, failing: true },
    ]);
  });
});

describe('when a first attempt comes that found no place', () => {
  it('is written once, and over no wish, no attempt and no retry that came meanwhile', async () => {
    const { id, bank } = await pending();
    const read = async () => {
      const found = await deliveryToAttempt(db, id);
      if (!found) throw new Error('it is gone');
      return found;
    };
    const before = await read();
    await awaitPlace(db, before, 60_000);
    const waits = await read();
    expect(waits.notDueForMs).toBeGreaterThan(30_000);
    await awaitPlace(db, before, 600_000);
    expect(await read()).toMatchObject({ nextAttemptAt: waits.nextAttemptAt });

    await db.transaction((trx) => redeliver(trx, bank.entityId, id));
    await awaitPlace(db, waits, 60_000);
    const asked = await read();
    expect(asked.notDueForMs).toBe(0);

    expect(await beginAttempt(db, asked, 60_000)).toBe(true);
    await awaitPlace(db, asked, 60_000);
    expect(await read()).toMatchObject({ nextAttemptAt: asked.nextAttemptAt });

    await rows(db, `UPDATE webhook_deliveries SET attempts = 1, claimed_until = NULL WHERE id = :id`, { id });
    await awaitPlace(db, asked, 60_000);
    expect(await read()).toMatchObject({ nextAttemptAt: asked.nextAttemptAt });
  });
});

describe('what a workflow does not attempt', () => {
  it('is handed over once, to a workflow that makes the first attempt', async () => {
    const { id, workflowId } = await pending();
    const handed = await Promise.all(
      Array.from({ length: 4 }, () =>
        db.transaction((trx) => handOver(trx, new Map([[id, false]]), workflowId)),
      ),
    );
    expect(handed.reduce((sum, one) => sum + one)).toBe(1);
    expect(await starts(id)).toEqual([{ start: expect.objectContaining({ args: [id] }) as object }]);
    expect(await claimUnattempted(db, workflowId, LEASE_MS)).toEqual([]);
  });

  it('is left alone once it has been attempted', async () => {
    const { id, workflowId } = await pending();
    await recordAttempt(db, keyring, success(id, 1), RETRY);
    expect(await db.transaction((trx) => handOver(trx, new Map([[id, false]]), workflowId))).toBe(0);
  });
});

describe('what an attempt needs', () => {
  it('has the URL and the standing of the receiver as they are now', async () => {
    const { id, bank } = await pending();
    await recordAttempt(db, keyring, failure(id, 1), RETRY);
    expect(await deliveryToAttempt(db, id)).toMatchObject({
      url: 'http://bank.test/',
      failing: true,
      attempts: 1,
    });
    await setWebhookUrl(db, bank.entityId, 'http://moved.test/');
    expect(await deliveryToAttempt(db, id)).toMatchObject({
      url: 'http://moved.test/',
      failing: false,
    });
  });

  it('is not there for an unknown delivery', async () => {
    expect(await deliveryToAttempt(db, newId('delivery'))).toBeUndefined();
  });
});
