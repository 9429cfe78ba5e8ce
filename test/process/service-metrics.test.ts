import type { Executor } from '../../src/database/pool/connection';
import { createMetrics } from '../../src/process/metrics';
import { measureService } from '../../src/process/service-metrics';
import { asSchemaLogin, databaseOfFile, unrecorded } from '../support/database';
import { valueOf } from '../support/metrics';
import { standingApproval, type Standing } from '../support/standing';

const test = databaseOfFile();
let standing: Standing;
beforeAll(async () => {
  standing = await standingApproval(test.db);
});

it('a batch that is not done is measured by its age, for nobody else may notice that it stands still', async () => {
  const registry = createMetrics();
  measureService(registry, test.db, 7);
  const ageOf = async (kind: string) =>
    valueOf(await registry.metrics(), `assent_upload_oldest_age_seconds{kind="${kind}"}`);
  const insert = (id: string, status: string, age: string) =>
    test.db.rows`
    INSERT INTO customer_batches (id, bank_id, total, status, created_at)
    VALUES (${id}, ${standing.bankId}, 600, ${status}, now() - ${age}::interval)`;
  await insert('bat_01', 'failed', '9 hours');
  expect(await ageOf('customer-migrations')).toBe(0);
  await insert('bat_02', 'processing', '2 hours');
  await insert('bat_03', 'processing', '1 hour');
  const seconds = (await ageOf('customer-migrations')) ?? 0;
  expect(Math.round(seconds / 3600)).toBe(2);
  expect(await ageOf('bank-files')).toBe(0);
  await asSchemaLogin(test.url, `DELETE FROM customer_batches WHERE id IN ('bat_01', 'bat_02', 'bat_03')`);
});

async function unreachedBy(db: Executor): Promise<number | undefined> {
  const registry = createMetrics();
  measureService(registry, db, 7);
  return valueOf(await registry.metrics(), 'assent_bookings_unreached{bank="",currency=""}');
}

it('bookings that no file reaches are 0 where there is none, and have no number where they cannot be read', async () => {
  expect(await unreachedBy(test.db)).toBe(0);
  const failing = { ...test.db, rows: () => Promise.reject(new Error('Postgres is slow')) };
  expect(await unreachedBy(failing)).toBeUndefined();
});

it('webhooks that wait for an attempt are measured once it was due and is not made', async () => {
  const registry = createMetrics();
  measureService(registry, test.db, 7);
  const measured = async () => {
    const text = await registry.metrics();
    const overdue = valueOf(text, 'assent_webhook_retries_overdue_seconds') ?? Number.NaN;
    return Math.round(overdue / 3600);
  };
  const insert = (id: string, entityId: string, attempts: number, due: string) =>
    test.db.rows`
    INSERT INTO webhook_deliveries (id, entity_id, webhook_type, body_encrypted, workflow_id, commit_id,
      attempts,
      next_attempt_at)
    VALUES ('dlv_' || ${id}, ${entityId}, 'webhook.test', '', 'webhook-delivery/dlv_' || ${id},
      gen_random_uuid(), ${attempts},
      now() + ${due}::interval)`;
  const { bankId, merchantId } = standing;
  // That it comes again in a while does not make it any younger.
  await insert('r0', merchantId, 0, '5 minutes');
  expect(await measured()).toBe(0);
  await asSchemaLogin(
    test.url,
    `SET session_replication_role = replica;
     UPDATE webhook_deliveries SET created_at = now() - interval '9 hours' WHERE id = 'dlv_r0'`,
  );
  expect(await measured()).toBe(9);
  // Its first attempt belongs to the workflow that announced it.
  await asSchemaLogin(
    test.url,
    `UPDATE webhook_deliveries SET workflow_id = 'recurring/s' WHERE id = 'dlv_r0'`,
  );
  expect(await measured()).toBe(0);
  await insert('r2', merchantId, 11, '20 hours');
  expect(await measured()).toBe(0);
  await insert('r3', merchantId, 2, '-3 hours');
  await insert('r4', bankId, 2, '-5 hours');
  expect(await measured()).toBe(5);
  await unrecorded(test.url, `UPDATE entities SET status = 'disabled' WHERE id = '${bankId}'`);
  expect(await measured()).toBe(3);
  // More than are read, and older than those of a receiver that is let in.
  await test.db.rows`
    INSERT INTO webhook_deliveries (id, entity_id, webhook_type, body_encrypted, workflow_id, commit_id,
      attempts,
      next_attempt_at)
    SELECT 'dlv_q' || n, ${bankId}, 'webhook.test', '', 'webhook-delivery/dlv_q' || n, gen_random_uuid(), 2,
      now()
    FROM generate_series(1, 10001) AS n`;
  expect(await measured()).toBe(3);
  await unrecorded(test.url, `UPDATE entities SET status = 'active' WHERE id = '${bankId}'`);
  // Nor does one hide another that is let in as it is.
  expect(await measured()).toBe(3);
  await asSchemaLogin(test.url, `DELETE FROM webhook_deliveries WHERE id ~ '^dlv_[qr]'`);
});
