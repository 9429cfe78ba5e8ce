import { createEntity } from '../../../src/database/entity/create-entity';
import { newId } from '../../../src/database/identifier/new-id';
import { decrypt } from '../../../src/database/keyring/encrypt';
import { announceAny } from '../../support/announce-any';
import {
  awaitSlot,
  beginDeliveryAttempt,
  claimUnattempted,
  deliveryToAttempt,
  handOver,
} from '../../../src/database/webhook/attempt-delivery';
import { redeliver } from '../../../src/database/webhook/list-deliveries';
import { WEBHOOK_TYPES, type WebhookType } from '../../../src/domain/webhook/webhook';
import { workflowIds } from '../../../src/domain/workflow/workflow-id';
import { databaseOfFile } from '../../support/database';
import { recordOutcome } from '../../support/record-outcome';
import { setWebhookUrl } from '../../support/recorded-change';
import { engineFacts } from '../../support/keyring';

const { keyring } = engineFacts;
const LEASE_MS = 60_000;
const { db } = databaseOfFile();

/** A delivery announced to a bank of its own, by a workflow of its own. */
async function pending() {
  const webhookUrl = 'http://bank.test/';
  const bank = await db.transaction((trx) => createEntity(trx, { type: 'bank', name: 'bank', webhookUrl }));
  const workflowId = workflowIds.billingRequest(newId('billingRequest'));
  const entityId = bank?.entityId ?? '';
  const [id = ''] = await db.transaction((trx) =>
    announceAny(trx, [{ entityId, webhookType: 'billing.request', workflowId, items: [{}] }]),
  );
  return { id, workflowId, entityId };
}

const read = async (id: string) => {
  const found = await deliveryToAttempt(db, id);
  if (!found) throw new Error('it is gone');
  return found;
};

const starts = (deliveryId: string) =>
  db.rows<{ start: { args: unknown[] } }>`
  SELECT start FROM outbox WHERE workflow_id = ${workflowIds.webhookDelivery(deliveryId)}`;

const MOST = 3;
const fail = (deliveryId: string, n: number, maxAttempts = MOST) =>
  recordOutcome(
    db,
    deliveryId,
    n,
    { httpStatus: 500, error: 'HTTP 500', responseHead: 'oh no' },
    maxAttempts,
  );
const succeed = (deliveryId: string, n: number) =>
  recordOutcome(db, deliveryId, n, { responseHead: 'thanks' }, MOST);

async function attemptsOf(deliveryId: string) {
  return db.rows<{ n: number; error: string | null; head: Buffer | null }>`
    SELECT n, error, response_head_encrypted AS head FROM webhook_attempts WHERE delivery_id = ${deliveryId}
    ORDER BY n`;
}

async function failingSince(entityId: string): Promise<Date | null | undefined> {
  const [found] = await db.rows<{ since: Date | null }>`
    SELECT failing_since AS since FROM webhook_endpoints WHERE entity_id = ${entityId}`;
  return found?.since;
}

describe('a webhook without an attempt', () => {
  it('is claimed by who names its type, and the workflow’s others stay for later', async () => {
    const { id: question, entityId, workflowId } = await pending();
    const webhookType = 'billing.closed';
    const [end] = await db.transaction((trx) =>
      announceAny(trx, [{ entityId, webhookType, workflowId, items: [{}] }]),
    );
    const claimed = async (named: readonly WebhookType[] = WEBHOOK_TYPES) =>
      (await claimUnattempted(db, workflowId, LEASE_MS, named)).map((one) => [one.id, one.claimed]);
    expect(await claimed(['billing.response'])).toEqual([]);
    expect(await claimed(['billing.closed'])).toEqual([[end, true]]);
    expect(await claimed()).toEqual([
      [question, true],
      [end, false],
    ]);
  });
});

describe('an attempt', () => {
  it('sets and clears the mark of a failing receiver, and keeps the time it began', async () => {
    const { id, entityId } = await pending();
    expect(await failingSince(entityId)).toBeNull();
    await fail(id, 1);
    const since = await failingSince(entityId);
    expect(since).not.toBeNull();
    await fail(id, 2);
    expect(await failingSince(entityId)).toEqual(since);
    expect(await read(id)).toMatchObject({ url: 'http://bank.test/', failing: true, attempts: 2 });
    await succeed(id, 3);
    expect(await failingSince(entityId)).toBeNull();
  });

  it('at a URL that was set since has not failed yet', async () => {
    const { id, entityId } = await pending();
    await fail(id, 1);
    await setWebhookUrl(db, entityId, 'http://moved.test/');
    expect(await read(id)).toMatchObject({ url: 'http://moved.test/', failing: false });
  });

  it('made by several workers at once is one attempt per number, with one workflow to go on', async () => {
    const { id } = await pending();
    await Promise.all(Array.from({ length: 6 }, () => fail(id, 1)));
    expect(await attemptsOf(id)).toMatchObject([{ n: 1, error: 'HTTP 500' }]);
    const progress = { why: 'answered 500', attempts: 1, maxAttempts: 3 };
    expect(await starts(id)).toMatchObject([{ start: { args: [id, progress] } }]);
    await Promise.all(Array.from({ length: 6 }, () => fail(id, 2)));
    expect(await attemptsOf(id)).toHaveLength(2);
    expect(await starts(id)).toHaveLength(1);
  });

  it('that succeeded is kept although another worker recorded its failure first', async () => {
    const { id } = await pending();
    await Promise.all([fail(id, 1), succeed(id, 1), fail(id, 1)]);
    expect(await read(id)).toMatchObject({ status: 'delivered' });
    expect((await attemptsOf(id)).filter((one) => one.error === null)).toHaveLength(1);
  });

  it('that succeeded ends its delivery although the retry after another worker’s failure is due by then', async () => {
    const { id } = await pending();
    const { nextAttemptAt } = await read(id);
    await fail(id, 1);
    await db.rows`
      UPDATE webhook_deliveries SET next_attempt_at = clock_timestamp() WHERE id = ${id}`;
    const late = await recordOutcome(db, id, 1, { nextAttemptAt }, MOST);
    expect(late).toMatchObject({ status: 'delivered', attempts: 2 });
  });

  it('that succeeded has no answer kept where its number was taken: it would not open under the next', async () => {
    const { id } = await pending();
    await fail(id, 1);
    await succeed(id, 1);
    const [first, second] = await attemptsOf(id);
    expect(second).toMatchObject({ n: 2, head: null });
    const place = `webhook_attempts.response_head_encrypted:${id}/1` as const;
    expect(decrypt(keyring, first?.head ?? Buffer.alloc(0), place)).toBe('oh no');
  });

  it('that comes after the end changes nothing, unless it succeeds', async () => {
    const { id } = await pending();
    await succeed(id, 1);
    expect(await fail(id, 2)).toMatchObject({ status: 'delivered', attempts: 1 });

    const other = await pending();
    await fail(other.id, 1, 1);
    expect(await succeed(other.id, 1)).toMatchObject({ status: 'delivered' });
  });
});

it('a first attempt belongs to one worker, until the time is over in which it must be recorded', async () => {
  const { id, workflowId } = await pending();
  const claims = await Promise.all(
    Array.from({ length: 4 }, () => claimUnattempted(db, workflowId, LEASE_MS, WEBHOOK_TYPES)),
  );
  expect(claims.flat().filter(({ claimed }) => claimed)).toHaveLength(1);
  expect(await beginDeliveryAttempt(db, await read(id), LEASE_MS)).toBe(false);

  const other = await pending();
  expect(await claimUnattempted(db, other.workflowId, 0, WEBHOOK_TYPES)).toMatchObject([{ claimed: true }]);
  // Its worker has died.
  expect(await claimUnattempted(db, other.workflowId, LEASE_MS, WEBHOOK_TYPES)).toMatchObject([
    { claimed: true },
  ]);
});

it('the turn of a first attempt that found no place is written once, over no wish, attempt or retry since', async () => {
  const { id, entityId } = await pending();
  const before = await read(id);
  await awaitSlot(db, before, 60_000);
  const waits = await read(id);
  expect(waits.notDueForMs).toBeGreaterThan(30_000);
  await awaitSlot(db, before, 600_000);
  expect(await read(id)).toMatchObject({ nextAttemptAt: waits.nextAttemptAt });

  await db.transaction((trx) => redeliver(trx, entityId, id));
  await awaitSlot(db, waits, 60_000);
  const asked = await read(id);
  expect(asked.notDueForMs).toBe(0);

  expect(await beginDeliveryAttempt(db, asked, 60_000)).toBe(true);
  await awaitSlot(db, asked, 60_000);
  expect(await read(id)).toMatchObject({ nextAttemptAt: asked.nextAttemptAt });

  await db.rows`
    UPDATE webhook_deliveries SET attempts = 1, claimed_until = NULL WHERE id = ${id}`;
  await awaitSlot(db, asked, 60_000);
  expect(await read(id)).toMatchObject({ nextAttemptAt: asked.nextAttemptAt });
});

it('what a workflow does not attempt is handed over once, and not at all once it was attempted', async () => {
  const hand = ({ id, workflowId }: { id: string; workflowId: string }) =>
    db.transaction((trx) => handOver(trx, new Map([[id, false]]), workflowId));
  const delivery = await pending();
  const handed = await Promise.all(Array.from({ length: 4 }, () => hand(delivery)));
  expect(handed.reduce((sum, one) => sum + one)).toBe(1);
  expect(await starts(delivery.id)).toMatchObject([{ start: { args: [delivery.id] } }]);
  expect(await claimUnattempted(db, delivery.workflowId, LEASE_MS, WEBHOOK_TYPES)).toEqual([]);

  const attempted = await pending();
  await succeed(attempted.id, 1);
  expect(await hand(attempted)).toBe(0);
});
