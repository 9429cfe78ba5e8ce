import { createHash } from 'node:crypto';
import { Client } from 'pg';
import type { Database } from '../../../src/database/pool/connection';
import {
  findFeedPosition,
  FEED_START,
  isBeforeFeed,
  readFeed,
} from '../../../src/database/webhook/read-event-feed';
import { firstIdAt } from '../../../src/database/identifier/new-id';
import { createEntity } from '../../../src/database/entity/create-entity';
import { decrypt } from '../../../src/database/keyring/encrypt';
import { bodyPlace } from '../../../src/database/webhook/announce-webhooks';
import { announceAny } from '../../support/announce-any';
import { beginDeliveryAttempt, deliveryToAttempt } from '../../../src/database/webhook/attempt-delivery';
import { redeliver } from '../../../src/database/webhook/list-deliveries';
import { forgetDeliveries } from '../../../src/database/webhook/delete-old-deliveries';
import type { WebhookType } from '../../../src/domain/webhook/webhook';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { eventually } from '../../support/engine';
import { recordOutcome } from '../../support/record-outcome';
import { engineFacts } from '../../support/keyring';

const { keyring } = engineFacts;
let database: TestDatabase;
let db: Database;
let owner: Client;
let entityId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
  owner = new Client({ connectionString: database.url });
  await owner.connect();
  await owner.query('SET session_replication_role = replica');
});
afterAll(async () => {
  await owner.end();
  await database.drop();
});
beforeEach(async () => {
  await owner.query(`DELETE FROM webhook_deliveries; DELETE FROM webhook_attempts; DELETE FROM webhook_receipts;
    UPDATE feed_horizon SET passed = '-infinity'`);
  const made = await db.transaction((trx) =>
    createEntity(trx, { type: 'merchant', name: 'M', webhookUrl: 'https://m.example/hooks' }),
  );
  entityId = made?.entityId ?? '';
});

interface Told {
  id: string;
  eventId: string;
}

/** A webhook that was delivered at its second attempt, so many days ago; the first met silence. */
async function told(daysAgo: number, webhookType: WebhookType = 'billing.response'): Promise<Told> {
  const [id = ''] = await db.transaction((trx) =>
    announceAny(trx, [{ entityId, webhookType, items: [{ daysAgo }] }]),
  );
  const delivery = await deliveryToAttempt(db, id);
  if (delivery) await beginDeliveryAttempt(db, delivery, 0);
  const silence = { begun: true, httpStatus: null, error: 'no answer', reached: 'maybe' } as const;
  await recordOutcome(db, id, 1, silence);
  await recordOutcome(db, id, 2);
  // Time is told by the ids as well. Their order stays, so that the body still has its place.
  if (daysAgo === 0) return { id, eventId: await eventOf(id) };
  const past = newIdAt(daysAgo, id);
  await owner.query(
    `UPDATE webhook_deliveries SET id = $2, created_at = created_at - $3 * interval '1 day' WHERE id = $1`,
    [id, past, daysAgo],
  );
  await owner.query('UPDATE webhook_attempts SET delivery_id = $2 WHERE delivery_id = $1', [id, past]);
  return { id: past, eventId: past.replace('dlv', 'evt') };
}

async function eventOf(id: string): Promise<string> {
  const found = await db.row<{
    eventId: string;
  }>`SELECT event_id AS "eventId" FROM webhook_deliveries WHERE id = ${id}`;
  return found?.eventId ?? '';
}

/** The id with another time: the first ten characters are that. */
function newIdAt(daysAgo: number, id: string): string {
  return firstIdAt('delivery', new Date(Date.now() - daysAgo * 86_400_000)).slice(0, 14) + id.slice(14);
}

const left = async () => {
  const found = await db.rows<{ id: string; attempts: number }>`
    SELECT d.id, (SELECT count(*)::int FROM webhook_attempts a WHERE a.delivery_id = d.id) AS attempts
    FROM webhook_deliveries d ORDER BY d.id`;
  return found.map(({ id, attempts }) => `${id} ${attempts}`);
};

test('what is past its time goes with its attempts, and nothing else, by several at once', async () => {
  for (let n = 0; n < 12; n++) await told(31 + n);
  const young = await told(29);
  const now = await told(0);
  await Promise.all([1, 2, 3].map(() => forgetDeliveries(db, 30)));
  expect(await left()).toEqual([`${young.id} 2`, `${now.id} 2`]);
});

test('a body that somebody brings is known by its hash when the body itself is gone', async () => {
  const { id } = await told(0, 'billing.request');
  const { bodyEncrypted } =
    (await db.row<{
      bodyEncrypted: Buffer;
    }>`SELECT body_encrypted AS "bodyEncrypted" FROM webhook_deliveries`) ?? {};
  const body = decrypt(keyring, bodyEncrypted ?? Buffer.alloc(0), bodyPlace(id));
  const another = await told(40, 'billing.request');
  await owner.query(`UPDATE webhook_deliveries SET created_at = created_at - interval '1 day'`);
  await forgetDeliveries(db, 0);
  const hashes = await db.rows<{ id: string; hash: Buffer | null }>`
    SELECT delivery_id AS id, body_sha256 AS hash FROM webhook_receipts ORDER BY delivery_id`;
  // The other was moved to another place, where its key does not open it.
  expect(hashes).toEqual([
    { id: another.id, hash: null },
    { id, hash: createHash('sha256').update(body).digest() },
  ]);
});

test('a receipt stays for good where money may have moved by the webhook: whose, and whether it arrived', async () => {
  await told(40, 'billing.closed');
  const asking: string[] = [];
  for (const webhookType of ['billing.request', 'refund.request'] as const)
    asking.push((await told(40, webhookType)).id);
  await forgetDeliveries(db, 30);
  const receipts = await db.rows`
    SELECT delivery_id AS id, entity_id, sent, delivered_at IS NOT NULL AS delivered FROM webhook_receipts
    ORDER BY delivery_id`;
  expect(receipts).toEqual(asking.map((id) => ({ id, entityId, sent: 1, delivered: true })));
  await expect(db.query('DELETE FROM webhook_receipts')).rejects.toThrow(/permission denied/);
});

test('what is to be delivered once more stays until that has ended', async () => {
  const old = await told(40);
  await db.transaction((trx) => redeliver(trx, entityId, old.id));
  await forgetDeliveries(db, 30);
  expect(await left()).toEqual([`${old.id} 2`]);

  await recordOutcome(db, old.id, 3);
  await forgetDeliveries(db, 30);
  expect(await left()).toEqual([]);
});

test('what a receiver that has left keeps pending is passed once in a run, not with each batch', async () => {
  const { id } = await told(60);
  await owner.query(`
    INSERT INTO webhook_deliveries (id, entity_id, webhook_type, body_encrypted, workflow_id, commit_id, created_at)
      SELECT left('${id}', 20) || lpad(n::text, 10, '0'), entity_id, webhook_type, body_encrypted, workflow_id,
        commit_id, created_at
      FROM webhook_deliveries, generate_series(1, 300) AS n;
    UPDATE webhook_deliveries SET status = 'delivered', finished_at = created_at
    WHERE id > left('${id}', 20) || lpad('50', 10, '0')`);
  const passed: string[] = [];
  const explaining: Database = {
    ...db,
    async query(text, values, plan) {
      if (text.includes('ORDER BY id LIMIT')) {
        const explained = await db.transaction(async (trx) => {
          // As in a table of millions, whatever the planner knows of this one.
          await trx.query('SET LOCAL enable_seqscan = off');
          await trx.query('SET LOCAL enable_bitmapscan = off');
          return trx.query(`EXPLAIN (ANALYZE) ${text}`, values);
        });
        passed.push(/Rows Removed by Filter: \d+/.exec(JSON.stringify(explained.rows))?.[0] ?? 'none');
      }
      return db.query(text, values, plan);
    },
  };
  const first = await forgetDeliveries(explaining, 30);
  expect(await forgetDeliveries(explaining, 30, first || undefined)).toBe(false);
  expect(passed).toEqual(['Rows Removed by Filter: 50', 'none']);
  expect(await left()).toHaveLength(50);
});

test('the events feed goes on from an event that is kept, and not from one after which some are gone', async () => {
  const gone = await told(40);
  const edge = await told(35);
  await db.transaction((trx) => redeliver(trx, entityId, edge.id));
  const old = await told(32);
  const recent = await told(0);
  expect(await isBeforeFeed(db, gone.eventId)).toBe(false);
  expect(await findFeedPosition(db, entityId, edge.eventId)).toBeDefined();

  await forgetDeliveries(db, 30);
  // The edge is still there, for it is being sent once more; what came after it is not.
  expect(await findFeedPosition(db, entityId, edge.eventId)).toBeUndefined();
  for (const one of [gone, edge, old]) expect(await isBeforeFeed(db, one.eventId)).toBe(true);
  expect(await findFeedPosition(db, entityId, recent.eventId)).toBeDefined();
  expect(await isBeforeFeed(db, recent.eventId)).toBe(false);
  await eventually(async () => (await readFeed(db, entityId, FEED_START, 10)).length > 0);
  const events = await readFeed(db, entityId, FEED_START, 10);
  expect(events.map(({ eventId }) => eventId)).toEqual([recent.eventId]);
});
