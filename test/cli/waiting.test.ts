import { Client } from 'pg';
import { row, rows } from '../../src/database/pool/connection';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { createCli } from '../support/cli';
import { createMetrics } from '../../src/process/metrics';
import { measureService } from '../../src/process/service-metrics';
import { asOwner, createTestDatabase, type TestDatabase } from '../support/database';
import { eventually } from '../support/engine';
import { valueOf } from '../support/metrics';
import { charge } from '../support/settled';
import { standingApproval, type Standing } from '../support/standing';

/** What an operator asks, and does, where SQL by hand was asked for before. */

const keys = makeKeyring();
const keyring = readKeyring(keys);

let test: TestDatabase;
let cli: ReturnType<typeof createCli>;
let standing: Standing;
beforeAll(async () => {
  test = await createTestDatabase();
  cli = createCli({
    url: test.url,
    keys,
    more: { DATABASE_OWNER_URL: test.url, TEMPORAL_ADDRESS: '127.0.0.1:1' },
  });
  standing = await standingApproval(test.db, keyring);
});
afterAll(() => test.drop());

it('"status" says what has waited for Temporal, of calls before the rest', async () => {
  await rows(
    test.db,
    `INSERT INTO outbox (kind, workflow_id, signal, rank)
     SELECT 'signal', 'recurring/sch_' || n, 'termsChanged', 1 FROM generate_series(1, 100) AS n`,
  );
  await rows(
    test.db,
    `INSERT INTO outbox (kind, workflow_id, start) VALUES ('start', 'billing-request/brq_1', '{"type": "billingRequest"}')`,
  );
  await asOwner(test.url, `UPDATE outbox SET created_at = created_at - interval '2 minutes'`);
  const { out } = await cli.run('status');
  expect(out).toMatch(
    /1 message waits for Temporal, the oldest for \d{3} s; behind them 100 of webhooks and large changes, the oldest for \d{3} s/,
  );
});

it('"status" names a transaction that holds what others need', async () => {
  const [holder, waiter] = [new Client(test.url), new Client(test.url)];
  await Promise.all([holder.connect(), waiter.connect()]);
  await holder.query(`BEGIN; LOCK TABLE devices`);
  const waits = waiter.query('SELECT count(*) FROM devices');
  const { pid } = (await holder.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0] ?? {};
  const named = async () =>
    (await cli.json<{ transactions: { id: string; waiting: number }[] }>('status')).transactions;
  await eventually(async () => (await named()).some((one) => one.id === String(pid) && one.waiting === 1));
  expect((await cli.run('status')).out).toMatch(/says how to end one/);
  await holder.query('COMMIT');
  await waits;
  // Those of other tests, in other databases of the server, are shown as well.
  const { transactions } = await cli.json<{ transactions: { database: string }[] }>('status');
  const own = new URL(test.url).pathname.slice(1);
  expect(transactions.filter(({ database }) => database === own)).toEqual([]);
  await Promise.all([holder.end(), waiter.end()]);
});

it('a batch that is not done is measured by its age, for nobody else may notice that it stands still', async () => {
  const registry = createMetrics();
  measureService(registry, test.db);
  const ageOf = async (kind: string) =>
    valueOf(await registry.metrics(), `assent_upload_oldest_age_seconds{kind="${kind}"}`);
  const insert = (id: string, status: string, age: string) =>
    rows(
      test.db,
      `INSERT INTO customer_batches (id, bank_id, total, status, created_at)
       VALUES (:id, :bankId, 600, :status, now() - :age::interval)`,
      { id, bankId: standing.bankId, status, age },
    );
  await insert('bat_01', 'failed', '9 hours');
  expect(await ageOf('customer-migrations')).toBe(0);
  await insert('bat_02', 'processing', '2 hours');
  await insert('bat_03', 'processing', '1 hour');
  const seconds = (await ageOf('customer-migrations')) ?? 0;
  expect(Math.round(seconds / 3600)).toBe(2);
  expect(await ageOf('bank-statements')).toBe(0);
  await asOwner(test.url, `DELETE FROM customer_batches WHERE id IN ('bat_01', 'bat_02', 'bat_03')`);
});

it('webhooks that wait for an attempt are counted, and measured once it was due and is not made', async () => {
  const registry = createMetrics();
  measureService(registry, test.db);
  const measured = async () => {
    const text = await registry.metrics();
    const overdue = valueOf(text, 'assent_webhook_retries_overdue_seconds') ?? Number.NaN;
    return [valueOf(text, 'assent_webhook_retries_waiting'), Math.round(overdue / 3600)];
  };
  const insert = (id: string, entityId: string, attempts: number, due: string) =>
    rows(
      test.db,
      `INSERT INTO webhook_deliveries (id, event_id, entity_id, webhook_type, body_encrypted, workflow_id, attempts,
         next_attempt_at)
       VALUES ('dlv_' || :id, 'evt_' || :id, :entityId, 'webhook.test', '', 'webhook-delivery/dlv_' || :id, :attempts,
         now() + :due::interval)`,
      { id, entityId, attempts, due },
    );
  const { bankId, merchantId } = standing;
  // That it comes again in a while does not make it any younger.
  await insert('r0', merchantId, 0, '5 minutes');
  expect(await measured()).toEqual([1, 0]);
  await asOwner(
    test.url,
    `SET session_replication_role = replica;
     UPDATE webhook_deliveries SET created_at = now() - interval '9 hours' WHERE id = 'dlv_r0'`,
  );
  expect(await measured()).toEqual([1, 9]);
  // Its first attempt belongs to the workflow that announced it.
  await asOwner(test.url, `UPDATE webhook_deliveries SET workflow_id = 'recurring/s' WHERE id = 'dlv_r0'`);
  expect(await measured()).toEqual([0, 0]);
  await insert('r2', merchantId, 11, '20 hours');
  expect(await measured()).toEqual([1, 0]);
  await insert('r3', merchantId, 2, '-3 hours');
  await insert('r4', bankId, 2, '-5 hours');
  expect(await measured()).toEqual([3, 5]);
  await asOwner(test.url, `UPDATE entities SET status = 'disabled' WHERE id = '${bankId}'`);
  expect(await measured()).toEqual([2, 3]);
  // More than are read, and older than those of a receiver that is let in.
  await rows(
    test.db,
    `INSERT INTO webhook_deliveries (id, event_id, entity_id, webhook_type, body_encrypted, workflow_id, attempts,
       next_attempt_at)
     SELECT 'dlv_q' || n, 'evt_q' || n, :bankId, 'webhook.test', '', 'webhook-delivery/dlv_q' || n, 2, now()
     FROM generate_series(1, 10001) AS n`,
    { bankId },
  );
  expect(await measured()).toEqual([2, 3]);
  await asOwner(test.url, `UPDATE entities SET status = 'active' WHERE id = '${bankId}'`);
  // Nor does one hide another that is let in as it is.
  expect(await measured()).toEqual([12, 3]);
  await asOwner(test.url, `DELETE FROM webhook_deliveries WHERE id ~ '^dlv_[qr]'`);
});

it('"batches fail" gives a batch up, on record', async () => {
  await rows(
    test.db,
    `INSERT INTO customer_batches (id, bank_id, total, status) VALUES ('bat_1', :bankId, 600, 'processing')`,
    { bankId: standing.bankId },
  );
  expect(await cli.json('batches', 'fail', 'bat_1', '--reason', 'ticket 9')).toEqual({
    batchId: 'bat_1',
    status: 'failed',
  });
  expect(await cli.run('batches', 'fail', 'bat_1')).toMatchObject({ code: 1 });
  expect(await lastAct()).toMatchObject({
    action: 'batch.failed',
    reason: 'ticket 9',
    entityId: standing.bankId,
  });
});

it('"database" puts right what a dump or a copy has brought along, on record', async () => {
  await charge(test.db, keyring, standing);
  const id = () => row<{ id: string }>(test.db, `SELECT installation AS id FROM temporal_state`);
  const before = await id();
  await cli.json('database', 'copied');
  expect(await id()).not.toEqual(before);
  expect(await lastAct()).toMatchObject({ action: 'database.copied' });
  const { webhooks } = await cli.json<{ webhooks: number }>('database', 'restored');
  expect(webhooks).toBeGreaterThan(0);
  expect(await rows(test.db, `SELECT FROM webhook_deliveries WHERE created_xid <> '3'`)).toEqual([]);
  expect(await lastAct()).toMatchObject({ action: 'database.restored', after: { webhooks } });
});

const lastAct = () =>
  row(
    test.db,
    `SELECT action, reason, entity_id AS "entityId", after FROM audit_events ORDER BY id DESC LIMIT 1`,
  );
