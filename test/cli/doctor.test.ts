import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { makeKeyring } from '../../src/database/keyring/keyring';
import { missingAttributes, registration } from '../../src/temporal/register-search-attributes';
import { SEARCH_ATTRIBUTE } from '../../src/temporal/search-attribute-keys';
import { runAssent } from '../support/cli';
import { asSchemaLogin, createTestDatabase } from '../support/database';
import { eventually, startEngine, type TestEngine } from '../support/engine';
import { freePort } from '../support/free-port';
import { postingsOf } from '../support/ledger';
import {
  createProductionDatabase,
  PRODUCTION,
  type ProductionDatabase,
} from '../support/production-database';
import { answerBill, bill } from '../support/settled';
import { standingApproval } from '../support/standing';

let engine: TestEngine;
let connection: Connection;
let temporal: Client;
beforeAll(async () => {
  engine = await startEngine();
  connection = await Connection.connect({ address: engine.temporalAddress });
  temporal = new Client({ connection, namespace: engine.namespace });
});
afterAll(async () => {
  await connection.close();
  await engine.stop();
});

const assent = (words: string, settings: Record<string, string> = {}) =>
  runAssent(words.split(' '), { ...engine.environment, ...settings });

/** `found`: by the name of the check, its state and its message. */
async function doctor(settings: Record<string, string> = {}) {
  const { code, out } = await assent('doctor --json', settings);
  const { checks } = JSON.parse(out) as { checks: { name: string; state: string; message: string }[] };
  return { code, found: new Map(checks.map(({ name, state, message }) => [name, `${state}: ${message}`])) };
}

/** Works on a machine whose clock is wrong. */
async function withClockAhead<Done>(ms: number, work: () => Promise<Done>): Promise<Done> {
  const { now } = Date;
  jest.spyOn(Date, 'now').mockImplementation(() => now() + ms);
  return work().finally(() => jest.restoreAllMocks());
}

describe('assent doctor', () => {
  it('finds nothing wrong with an installation that works', async () => {
    const { code, found } = await doctor();
    expect([...found.values()].filter((one) => !one.startsWith('ok: '))).toEqual([]);
    expect([...found.keys()].join(', ')).toBe(
      'settings, postgres, clock, calendar, schema, deployment, triggers, keys, workers, outbox, temporal, namespace, search attributes, schedules',
    );
    expect(code).toBe(0);
  });

  it('says of all that is wrong at once what to do about it, and of a setting before anything else', async () => {
    const wrong = await doctor({ SETTLEMENT_WINDOW_S: 'soon' });
    expect([...wrong.found]).toEqual([['settings', expect.stringMatching(/^wrong: SETTLEMENT_WINDOW_S: /)]]);
    expect(wrong.code).toBe(1);
    const { code, found } = await doctor({
      NETWORK_TIMEZONE: 'Europe/Berlin',
      ASSENT_KEYS: makeKeyring(),
      TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}`,
    });
    expect(found.get('deployment')).toMatch(/^wrong: NETWORK_TIMEZONE: .*Set NETWORK_TIMEZONE=Africa\/Lagos/);
    expect(found.get('keys')).toMatch(/^wrong: ASSENT_KEYS /);
    expect(found.get('temporal')).toMatch(/^wrong: does not answer.*TEMPORAL_ADDRESS/);
    for (const name of ['namespace', 'search attributes', 'schedules'])
      expect(found.get(name)).toBe('unknown: not checked: see temporal first');
    expect(code).toBe(1);
  });

  it('finds a zone that Postgres reads otherwise than Node', async () => {
    // A database of its own: a process of the engine ends where the zone is not the given one.
    const own = await createTestDatabase();
    await asSchemaLogin(own.url, `UPDATE deployment SET time_zone = 'CET'`);
    const { found } = await doctor({ DATABASE_URL: own.url, NETWORK_TIMEZONE: 'CET' });
    await own.drop();
    expect(found.get('calendar')).toMatch(
      /^wrong: NETWORK_TIMEZONE: at 20\d\d-\S+Z the clocks of CET show \S+ by Node .*, but \S+ by Postgres/,
    );
    expect(found.get('deployment')).toMatch(/^ok: /);
  });

  it('says what it can while Postgres is away', async () => {
    const closed = Object.assign(new URL(engine.database.url), { port: await freePort() });
    const { code, found } = await doctor({ DATABASE_URL: closed.href });
    expect(found.get('postgres')).toMatch(/^wrong: does not answer.*DATABASE_URL/);
    expect(found.get('temporal')).toMatch(/^ok: /);
    expect(code).toBe(1);
  });

  it('looks for no worker in a Postgres that only reads, which no worker can write to', async () => {
    const own = await createTestDatabase();
    const name = new URL(own.url).pathname.slice(1);
    await asSchemaLogin(own.url, `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    const { found } = await doctor({ DATABASE_URL: own.url });
    await own.drop();
    expect(found.get('postgres')).toMatch(/^wrong: only reads, .*DATABASE_URL/);
    expect(found.get('workers')).toBe('unknown: not checked: see schema first');
  });

  it.each([
    ['ahead of', 60_000, 'wrong', 1],
    ['behind', -60_000, 'wrong', 1],
    ['ahead of', 2_500, 'ok', 0],
  ])('says of a clock that is %s that of Postgres by %i ms: %s', async (words, ahead, state, code) => {
    const examined = await withClockAhead(ahead, doctor);
    const [said, apart] =
      /^(\w+): this machine's (?:clock )?is (\d+) ms (.+?) that of Postgres/
        .exec(examined.found.get('clock') ?? '')
        ?.slice(1) ?? [];
    expect([said, examined.found.get('clock')]).toEqual([state, expect.stringContaining(words)]);
    // The time of the answer is in it as well.
    expect(Math.abs(Number(apart) - Math.abs(ahead))).toBeLessThan(2_400);
    expect(examined.code).toBe(code);
  });

  it('names the Temporal Schedules that were paused by hand', async () => {
    const schedules = ['reconcile', 'chain', 'verify', 'sweep'].map((id) => temporal.schedule.getHandle(id));
    for (const schedule of schedules) await schedule.pause();
    const { code, found } = await doctor();
    for (const schedule of schedules) await schedule.unpause();
    expect(found.get('schedules')).toBe(
      'warning: reconcile is paused, chain is paused, verify is paused, sweep is paused: unpause it in the Temporal UI; a worker that starts makes one that is missing',
    );
    expect(code).toBe(0);
  });

  it('names the search attribute that a namespace lacks, and the Schedules', async () => {
    const namespace = `doctor-${randomUUID()}`;
    await connection.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
    });
    const { bankId: _, ...others } = SEARCH_ATTRIBUTE;
    // Not all parts of the server know a new namespace at once.
    await eventually(() =>
      connection.operatorService.addSearchAttributes(registration(Object.values(others), namespace)).then(
        () => true,
        () => false,
      ),
    );
    await eventually(async () => (await missingAttributes(connection, namespace)).length === 1);
    const { code, found } = await doctor({ TEMPORAL_NAMESPACE: namespace });
    expect(found.get('search attributes')).toBe('wrong: AssentBank missing: run "assent migrate"');
    expect(found.get('schedules')).toMatch(
      /^warning: reconcile is missing, chain is missing, verify is missing, sweep is missing: /,
    );
    expect(code).toBe(1);
  });

  it('names a worker of another version, a table whose triggers were left disabled, and what enables them', async () => {
    const { url } = engine.database;
    await asSchemaLogin(
      url,
      `ALTER TABLE events DISABLE TRIGGER USER;
       INSERT INTO worker_heartbeats (worker_id, version, temporal_at, workflow_tasks, activities)
       VALUES ('left', '0.0.1', clock_timestamp(), 0, 0)`,
    );
    const { code, found } = await doctor();
    await asSchemaLogin(url, `DELETE FROM worker_heartbeats WHERE worker_id = 'left'`);
    expect(found.get('workers')).toMatch(
      /^warning: 2 workers, some of version 0\.0\.1 beside this .*: end the deploy$/,
    );
    const [, enable = ''] =
      /^wrong: some are disabled.* run (ALTER TABLE events .*)$/.exec(found.get('triggers') ?? '') ?? [];
    await asSchemaLogin(url, enable);
    expect(code).toBe(1);
    expect((await doctor()).found.get('triggers')).toBe('ok: all are enabled');
  });

  it.each([
    ['a call for half a minute', 0, '31 seconds', 'wrong: 1 message waits for Temporal, the oldest for 3', 1],
    [
      'a large change for less than an hour',
      1,
      '50 minutes',
      'ok: 0 messages wait for Temporal; behind them 1 of',
      0,
    ],
    [
      'a large change for longer',
      1,
      '61 minutes',
      'wrong: 0 messages wait for Temporal; behind them 1 of',
      1,
    ],
  ])('judges of what is not handed to Temporal: %s', async (_, rank, age, says, code) => {
    const { db, url } = engine.database;
    // Leased, so that the worker leaves it there.
    await db.rows`
      INSERT INTO outbox (kind, workflow_id, signal, rank, not_before)
      VALUES ('signal', 'recurring/sch_stuck', 'termsChanged', ${rank},
        clock_timestamp() + interval '50 seconds')`;
    await asSchemaLogin(
      url,
      `UPDATE outbox SET created_at = created_at - interval '${age}' WHERE workflow_id = 'recurring/sch_stuck'`,
    );
    const examined = await doctor();
    await asSchemaLogin(url, `DELETE FROM outbox WHERE workflow_id = 'recurring/sch_stuck'`);
    expect(examined.found.get('outbox')?.startsWith(says)).toBe(true);
    expect(examined.code).toBe(code);
  });

  it('has the schema migrated before it judges what is in it', async () => {
    await asSchemaLogin(
      engine.database.url,
      `CREATE TABLE kept AS SELECT * FROM knex_migrations WHERE name = (SELECT max(name) FROM knex_migrations);
       DELETE FROM knex_migrations WHERE name = (SELECT name FROM kept)`,
    );
    const { code, found } = await doctor();
    await asSchemaLogin(
      engine.database.url,
      'INSERT INTO knex_migrations SELECT * FROM kept; DROP TABLE kept',
    );
    expect(found.get('schema')).toMatch(/^wrong: 1 migration missing, \d{4}_\w+ first: run "assent migrate"/);
    for (const name of ['deployment', 'keys', 'workers'])
      expect(found.get(name)).toBe('unknown: not checked: see schema first');
    expect(code).toBe(1);
  });

  it('misses the workers', async () => {
    await engine.worker.stop();
    const { code, found } = await doctor();
    expect(found.get('workers')).toMatch(/^wrong: none lives/);
    expect(code).toBe(1);
  });

  it('finds a namespace that is not the one of this database', async () => {
    await asSchemaLogin(
      engine.database.url,
      `UPDATE temporal_state SET namespace_id = namespace_id || '-of-another'`,
    );
    const { found } = await doctor();
    await asSchemaLogin(
      engine.database.url,
      `UPDATE temporal_state SET namespace_id = replace(namespace_id, '-of-another', '')`,
    );
    expect(found.get('namespace')).toMatch(/^wrong: ".*" is not the one that .* TEMPORAL_ADDRESS/);
  });
});

describe('assent doctor, in production', () => {
  let production: ProductionDatabase;
  let name: string;
  beforeAll(async () => {
    production = await createProductionDatabase();
    name = new URL(production.url).pathname.slice(1);
  });
  afterAll(() => production.drop());

  const said = async (url = production.url) => {
    const { TEMPORAL_ADDRESS: _, ...settings } = PRODUCTION;
    return (await doctor({ ...settings, DATABASE_URL: url })).found.get('deployment') ?? '';
  };

  it('names what a login may do that it must not', async () => {
    expect(await said()).toMatch(/^ok: /);
    expect(await said(production.superuserUrl)).toMatch(
      /^wrong: DATABASE_URL: the login "\w+" is a superuser/,
    );
    expect(await said(production.memberUrl)).toMatch(
      /^wrong: DATABASE_URL: the login "production_\w+" owns the schema, or is a member of the role that does/,
    );
    for (const right of [`TEMPORARY ON DATABASE ${name}`, 'CREATE ON SCHEMA public']) {
      await asSchemaLogin(production.superuserUrl, `GRANT ${right} TO PUBLIC`);
      const creates = await said();
      expect(creates).toMatch(
        /^wrong: DATABASE_URL: the login "production_\w+" may create tables or functions/,
      );
      const [revoke] = /(?<=run ).*(?= as a superuser)/.exec(creates) ?? [''];
      await asSchemaLogin(production.ownerUrl, revoke);
      expect(await said()).toMatch(/^ok: /);
    }
  });
});

/** Beside an engine without a worker, whose own `reconcile` would be at it as well. */
describe('assent reconcile', () => {
  it('books nothing for a declined charge that a hand made successful, which "books verify" names', async () => {
    const { db } = engine.database;
    const standing = await standingApproval(db);
    const { id } = await bill(db, standing);
    await answerBill(db, standing, id, null);
    await asSchemaLogin(
      engine.database.url,
      `SET session_replication_role = replica;
       UPDATE billing_requests SET status = 'successful', decline_reason = NULL, bank_transaction_id = 'forged' WHERE id = '${id}'`,
    );
    expect(await assent('reconcile --fix --reason forgery')).toMatchObject({ code: 0 });
    expect(await postingsOf(db, id)).toEqual([]);
    expect(await assent('books verify')).toMatchObject({
      code: 1,
      out: expect.stringMatching(`${id}: its row asks for this charge: .*; the ledger has none`) as string,
    });
  });
});
