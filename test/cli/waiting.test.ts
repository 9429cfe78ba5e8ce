import { Client } from 'pg';
import { row, rows } from '../../src/database/connection';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { createCli } from '../support/cli';
import { createMetrics } from '../../src/metrics';
import { measureService } from '../../src/service-metrics';
import { asOwner, createTestDatabase, type TestDatabase } from '../support/database';
import { eventually } from '../support/engine';
import { valueOf } from '../support/metrics';
import { PRODUCTION } from '../support/production-database';
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

it('"outbox" shows what has waited for Temporal for a minute, of calls before the rest', async () => {
  expect(await cli.json('outbox')).toEqual({ messages: [] });
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
  const { messages } = await cli.json<{ messages: object[] }>('outbox');
  expect(messages).toHaveLength(20);
  expect(messages.slice(0, 2)).toMatchObject([
    { rank: 'call', kind: 'start', workflowId: 'billing-request/brq_1', type: 'billingRequest' },
    { rank: 'later', kind: 'signal', signal: 'termsChanged' },
  ]);
  const { out } = await cli.run('status');
  expect(out).toMatch(
    /1 message waits for Temporal, the oldest for \d{3} s; behind them 100 of webhooks and large changes, the oldest for \d{3} s/,
  );
});

it('"feed" shows the transaction that keeps the events feed from going on', async () => {
  const writer = new Client(test.url);
  await writer.connect();
  await writer.query('BEGIN; SELECT pg_current_xact_id()');
  const { pid } = (await writer.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0] ?? {};
  const { transactions } = await cli.json<{ transactions: { id: string; since: string }[] }>('feed');
  expect(transactions.find(({ id }) => id.startsWith(`${pid}-`))).toMatchObject({ prepared: false });
  await writer.query('ROLLBACK');
  await writer.end();
});

it('"database transactions" names one that holds what all need, and "end" ends it on record', async () => {
  const [holder, waiter] = [new Client(test.url), new Client(test.url)];
  holder.on('error', () => undefined);
  await Promise.all([holder.connect(), waiter.connect()]);
  await holder.query(`BEGIN; LOCK TABLE entities`);
  const { pid } = (await holder.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0] ?? {};
  const waits = waiter.query('SELECT count(*) FROM entities');
  const held = async () => {
    const { transactions } = await cli.json<{ transactions: { id: string }[] }>('database', 'transactions');
    return transactions.find(({ id }) => id.startsWith(`${pid}-`));
  };
  await eventually(async () => (await held()) !== undefined);
  expect(await held()).toMatchObject({ waiting: 1, prepared: false });
  const id = (await held())?.id ?? '';
  await cli.json('database', 'end', id, '--reason', 'a forgotten session');
  await expect(waits).resolves.toMatchObject({ rowCount: 1 });
  await waiter.end();
  expect(await lastAct()).toMatchObject({ action: 'transaction.ended', reason: 'a forgotten session' });
  expect(await cli.run('database', 'end', id, '--reason', 'again')).toMatchObject({
    code: 1,
    err: expect.stringMatching(/there is no open transaction/) as string,
  });
});

/** A session with a transaction that writes, and the id by which that is listed. */
async function listedSession() {
  const session = new Client(test.url);
  session.on('error', () => undefined);
  await session.connect();
  await session.query('BEGIN; SELECT pg_current_xact_id()');
  const { pid } = (await session.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0] ?? {};
  const { transactions } = await cli.json<{ transactions: { id: string }[] }>('feed');
  const id = transactions.find((one) => one.id.startsWith(String(pid)))?.id ?? '';
  return { session, pid, id };
}

it('"end" says by which URLs a login is given that may end what another has begun', async () => {
  const login = `clerk_${new URL(test.url).pathname.slice(1)}`;
  await asOwner(test.url, `CREATE ROLE "${login}" LOGIN PASSWORD 'w'`);
  const clerk = Object.assign(new URL(test.url), { username: login, password: 'w' }).href;
  const endAs = (more: Record<string, string>, id: string) =>
    createCli({ url: clerk, keys, more }).run('database', 'end', id, '--reason', 'ticket 12');
  const { session, id } = await listedSession();
  const refused = await endAs({ DATABASE_OWNER_URL: clerk }, id);
  expect(refused.code).toBe(1);
  // Those that it names, set to a superuser's, do it.
  const named = refused.err.match(/DATABASE_(OWNER_)?URL/g) ?? [];
  const given = Object.fromEntries(named.map((name) => [name, test.url]));
  const beside = createCli({ url: '', keys, more: { DATABASE_URL: '', ...given } });
  expect(await beside.run('database', 'end', id, '--reason', 'ticket 12')).toMatchObject({ code: 0 });
  await session.end().catch(() => undefined);
  await asOwner(test.url, `DROP ROLE "${login}"`);
});

it.each<[string, RegExp, () => Record<string, string>]>([
  ['another zone', /NETWORK_TIMEZONE: is Europe\/Berlin/, () => ({ NETWORK_TIMEZONE: 'Europe/Berlin' })],
  ['another mode', /ASSENT_MODE: is production/, () => PRODUCTION],
  [
    'a database without a record',
    /"postgres" is none of an installation.* correct DATABASE_OWNER_URL/,
    () => ({ DATABASE_OWNER_URL: Object.assign(new URL(test.url), { pathname: '/postgres' }).href }),
  ],
])('"end" ends nothing that %s keeps it from recording', async (_, words, more) => {
  const { session, id } = await listedSession();
  const wrong = createCli({ url: test.url, keys, more: { DATABASE_OWNER_URL: test.url, ...more() } });
  expect(await wrong.run('database', 'end', id, '--reason', 'ticket 12')).toMatchObject({
    code: 1,
    err: expect.stringMatching(words) as string,
  });
  await expect(session.query('COMMIT')).resolves.toMatchObject({ command: 'COMMIT' });
  await session.end();
});

it('"end" ends one that locks what is asked first, and has it on record', async () => {
  const { session, id } = await listedSession();
  await session.query('LOCK TABLE deployment');
  await cli.json('database', 'end', id, '--reason', 'it stood in the way of all');
  expect(await lastAct()).toMatchObject({ reason: 'it stood in the way of all' });
  await expect(session.query('COMMIT')).rejects.toThrow(/not queryable|terminat/);
});

it('"end" says that what it has ended is not on record, where that fails', async () => {
  const { session, id } = await listedSession();
  await asOwner(
    test.url,
    `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''no room is left''; END';
     CREATE TRIGGER fails BEFORE INSERT ON audit_events EXECUTE FUNCTION fail()`,
  );
  expect(await cli.run('database', 'end', id, '--reason', 'ticket 12')).toMatchObject({
    code: 1,
    err: expect.stringMatching(/has ended, and is not on record: .*no room is left/) as string,
  });
  await asOwner(test.url, 'DROP TRIGGER fails ON audit_events; DROP FUNCTION fail()');
  await expect(session.query('COMMIT')).rejects.toThrow(/not queryable|terminat/);
});

it('"end" leaves what the session of a listed transaction does after it', async () => {
  const { session, pid, id } = await listedSession();
  await session.query('COMMIT; BEGIN; SELECT pg_current_xact_id()');
  for (const listed of [id, String(pid)]) {
    expect(await cli.run('database', 'end', listed, '--reason', 'a forgotten session')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/there is no open transaction/) as string,
    });
  }
  await expect(session.query('COMMIT')).resolves.toMatchObject({ command: 'COMMIT' });
  await session.end();
});

it('"end" ends a session that is in no transaction, where others wait for what it holds itself', async () => {
  const [holder, waiter] = [new Client(test.url), new Client(test.url)];
  holder.on('error', () => undefined);
  await Promise.all([holder.connect(), waiter.connect()]);
  await holder.query('SELECT pg_advisory_lock(7)');
  const { pid } = (await holder.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0] ?? {};
  const waits = waiter.query('SELECT pg_advisory_lock(7)');
  const listed = async () =>
    (
      await cli.json<{ transactions: { id: string; waiting: number }[] }>('database', 'transactions')
    ).transactions.find(({ id }) => id === `${pid}-0`);
  await eventually(async () => (await listed()) !== undefined);
  expect(await listed()).toMatchObject({ waiting: 1 });
  await cli.json('database', 'end', `${pid}-0`, '--reason', 'a dead migration');
  await expect(waits).resolves.toMatchObject({ rowCount: 1 });
  await waiter.end();
});

it('"status" names the same, where it can be had', async () => {
  const [holder, waiter] = [new Client(test.url), new Client(test.url)];
  await Promise.all([holder.connect(), waiter.connect()]);
  await holder.query(`BEGIN; LOCK TABLE devices`);
  const waits = waiter.query('SELECT count(*) FROM devices');
  await eventually(async () => /"assent database end <id>" ends one/.test((await cli.run('status')).out));
  await holder.query('COMMIT');
  await waits;
  // Those of other tests, in other databases of the server, are shown as well.
  const { transactions } = await cli.json<{ transactions: { database: string }[] }>('status');
  const own = new URL(test.url).pathname.slice(1);
  expect(transactions.filter(({ database }) => database === own)).toEqual([]);
  await Promise.all([holder.end(), waiter.end()]);
});

it('"feed" says up to when webhooks are forgotten', async () => {
  expect(await cli.json('feed')).toMatchObject({ forgottenUntil: null });
  await asOwner(test.url, `UPDATE feed_horizon SET passed = '2026-10-01T00:00:00Z'`);
  expect(await cli.json('feed')).toMatchObject({ forgottenUntil: '2026-10-01T00:00:00.000Z' });
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
      `INSERT INTO webhook_deliveries (id, event_id, entity_id, webhook_type, body_sealed, workflow_id, attempts,
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
    `INSERT INTO webhook_deliveries (id, event_id, entity_id, webhook_type, body_sealed, workflow_id, attempts,
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

it('"batches" shows which are not done, and gives one up on record', async () => {
  await rows(
    test.db,
    `INSERT INTO customer_batches (id, bank_id, total, status) VALUES ('bat_1', :bankId, 600, 'processing')`,
    { bankId: standing.bankId },
  );
  expect(await cli.json('batches', 'list')).toMatchObject({
    batches: [{ batchId: 'bat_1', bankId: standing.bankId, pagesLeft: 0 }],
  });
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

it('"books balances" shows what a party’s accounts hold, today or at the end of a day', async () => {
  expect(await cli.json('books', 'balances', standing.merchantId)).toEqual({
    balances: [{ account: 'merchant', currency: 'NGN', balance: '100' }],
  });
  expect(await cli.json('books', 'balances', standing.merchantId, '--to', '2020-01-01')).toEqual({
    balances: [],
  });
});

const lastAct = () =>
  row(
    test.db,
    `SELECT action, reason, entity_id AS "entityId", after FROM audit_events ORDER BY id DESC LIMIT 1`,
  );
