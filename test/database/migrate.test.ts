import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { rows } from '../../src/database/pool/connection';
import { migrateUp } from '../../src/database/migrate';
import { asOwner, createTestDatabase, emptySchema } from '../support/database';
import { eventually } from '../support/engine';
import { OPERATOR } from '../support/operator';

let test: Awaited<ReturnType<typeof createTestDatabase>>;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

/** Who ran migrations by the record, and which. */
async function actsOfSchema(): Promise<{ by: string[]; migrations: string[] }> {
  const acts = await rows<{ actor: string; after: { migrations: string[] } }>(
    test.db,
    `SELECT actor, after FROM audit_events WHERE action = 'schema.migrated' AND entity_id IS NULL ORDER BY id`,
    {},
    'custom plan',
  );
  return {
    by: [...new Set(acts.map(({ actor }) => actor))],
    migrations: acts.flatMap(({ after }) => after.migrations),
  };
}

/** Names of those that have run, in their order. */
async function standing(): Promise<string[]> {
  const found = await rows<{ name: string }>(
    test.db,
    `SELECT name FROM knex_migrations ORDER BY name`,
    {},
    'custom plan',
  );
  return found.map(({ name }) => name);
}

describe('the migrations', () => {
  it('are on record with who ran them, and where nothing was to do there is no record', async () => {
    await emptySchema(test.url);
    const ran = await migrateUp(test.url, 'sandbox', 'Africa/Lagos', OPERATOR);
    await migrateUp(test.url, 'sandbox', 'Africa/Lagos', OPERATOR);
    expect(await actsOfSchema()).toEqual({ by: [OPERATOR.actor], migrations: ran });
  });

  it('are on record as far as they stand where Postgres is lost between two of them', async () => {
    const all = await standing();
    await emptySchema(test.url);
    const superuser = new Client({ connectionString: test.url });
    await superuser.connect();
    const stopped = all[4];
    const lost: Promise<unknown>[] = [];
    const migrated = migrateUp(test.url, 'sandbox', 'Africa/Lagos', OPERATOR, ({ name }) => {
      if (name !== stopped) return;
      lost.push(
        superuser.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE application_name = 'assent migrate' AND datname = current_database()`,
        ),
      );
    });
    const reason: unknown = await migrated.catch((error: unknown) => error);
    expect(reason).toBeInstanceOf(Error);
    await Promise.all(lost);
    const stand = await superuser.query<{ name: string }>('SELECT name FROM knex_migrations ORDER BY id');
    await superuser.end();
    expect(stand.rows.length).toBeGreaterThanOrEqual(4);
    expect((await actsOfSchema()).migrations).toEqual(stand.rows.map(({ name }) => name));
    await migrateUp(test.url, 'sandbox', 'Africa/Lagos', OPERATOR);
    expect((await actsOfSchema()).migrations).toEqual(all);
  });

  describe('stopped at one of them', () => {
    const FAILING = '0005_billing';
    let owner: Client;
    /** All of them, in their order. */
    let all: string[];

    beforeEach(async () => {
      owner = new Client({ connectionString: test.url });
      await owner.connect();
      all = await standing();
      await emptySchema(test.url);
      await owner.query('CREATE TABLE intents ()');
      await expect(migrateUp(test.url, 'sandbox', 'Africa/Lagos', OPERATOR)).rejects.toThrow(
        'already exists',
      );
      await owner.query('DROP TABLE intents');
    });
    afterEach(() => owner.end());

    it('keep those before it, on record, and go on from there', async () => {
      expect((await actsOfSchema()).migrations).toEqual(all.slice(0, all.indexOf(FAILING)));
      expect(await migrateUp(test.url, 'sandbox', 'Africa/Lagos')).toEqual(all.slice(all.indexOf(FAILING)));
    });

    it('go on although that one was killed and left its lock behind', async () => {
      await owner.query('UPDATE knex_migrations_lock SET is_locked = 1');
      expect(await migrateUp(test.url, 'sandbox', 'Africa/Lagos')).toContain(FAILING);
    });

    it('let others have a table that the next has to wait for', async () => {
      const writer = new Client({ connectionString: test.url });
      await writer.connect();
      await writer.query('BEGIN; DELETE FROM customers WHERE false');
      const migrated = migrateUp(test.url, 'sandbox', 'Africa/Lagos');
      await eventually(async () => {
        const waiting = await owner.query(
          `SELECT FROM pg_locks WHERE relation = 'customers'::regclass AND NOT granted`,
        );
        return waiting.rowCount === 1;
      });
      // Whoever wants a table that a migration waits for stands behind it.
      await owner.query("SET statement_timeout = '30s'");
      await owner.query('DELETE FROM customers WHERE false');
      await writer.query('COMMIT');
      await writer.end();
      expect(await migrated).toContain(FAILING);
    });
  });

  it('run once when two processes start at the same time', async () => {
    await emptySchema(test.url);
    const ran = await Promise.all([
      migrateUp(test.url, 'sandbox', 'Africa/Lagos'),
      migrateUp(test.url, 'sandbox', 'Africa/Lagos'),
      migrateUp(test.url, 'sandbox', 'Africa/Lagos'),
    ]);
    expect(ran.filter((names) => names.length > 0)).toHaveLength(1);
  });

  it('go on from no schema that another version has made', async () => {
    await emptySchema(test.url);
    await migrateUp(test.url, 'sandbox', 'Africa/Lagos');
    const add = `INSERT INTO knex_migrations (name, batch, migration_time) VALUES ('0001_of_another_version', 1, now())`;
    await asOwner(test.url, add);
    await expect(migrateUp(test.url, 'sandbox', 'Africa/Lagos')).rejects.toThrow(
      /^DATABASE_URL: another version created the schema .* Run the version that created it, or name an empty database\.$/,
    );
    await asOwner(test.url, `DELETE FROM knex_migrations WHERE name = '0001_of_another_version'`);
  });

  it('need no right to make roles where somebody has made the serving one', async () => {
    const name = `plain_${randomBytes(6).toString('hex')}`;
    const superuser = new Client({ connectionString: test.url });
    await superuser.connect();
    try {
      await superuser.query(`CREATE ROLE ${name} LOGIN PASSWORD '${name}'`);
      await superuser.query(`CREATE DATABASE ${name} OWNER ${name}`);
      const own = new URL(test.url);
      own.username = name;
      own.password = name;
      own.pathname = `/${name}`;
      expect(await migrateUp(own.href, 'sandbox', 'Africa/Lagos')).not.toEqual([]);
    } finally {
      await superuser.query(`DROP DATABASE IF EXISTS ${name}`);
      await superuser.query(`DROP ROLE IF EXISTS ${name}`);
      await superuser.end();
    }
  });

  it('leave the serving role unable to change the schema, or to delete what must be kept', async () => {
    for (const statement of [
      'CREATE TABLE mine (id int)',
      'ALTER TABLE entities ADD COLUMN mine int',
      'DELETE FROM entities',
      "UPDATE entities SET type = 'bank'",
      'DELETE FROM customers',
      'DELETE FROM signing_keys',
      'UPDATE billing_requests SET amount = 1',
      "UPDATE billing_requests SET merchant_id = 'mch_other'",
      'UPDATE intents SET expires_at = now()',
      "UPDATE agreements SET customer_id = 'cus_other'",
      'UPDATE schedules SET start_at = now()',
      "UPDATE webhook_deliveries SET body_encrypted = ''",
      "UPDATE events SET cause = 'bank'",
      'DELETE FROM reconciliation_exceptions',
    ]) {
      await expect(test.db.query(statement)).rejects.toMatchObject({ code: '42501' });
    }
  });
});

describe('business_now', () => {
  it('runs ahead of the database’s clock by the test clock of the owner, and knows no stranger', async () => {
    await test.db.query(
      `INSERT INTO entities (id, type, name, clock_offset) VALUES ('mch_ahead', 'merchant', 'M', '1 year'), ('mch_now', 'merchant', 'M', '0')`,
    );
    const told = await test.db.query(
      `SELECT business_now('mch_ahead') - clock_timestamp() > '364 days' AS ahead,
              abs(extract(epoch FROM business_now('mch_now') - clock_timestamp())) < 5 AS present,
              business_now('mch_gone') IS NULL AS unknown`,
    );
    expect(told.rows).toEqual([{ ahead: true, present: true, unknown: true }]);
  });
});

describe('the entities table', () => {
  it.each([
    ['an id of another type', `('mch_1', 'bank', 'B', null, 'untrusted')`],
    ['a trusted bank', `('bnk_1', 'bank', 'B', null, 'trusted')`],
    ['a bank of a provider', `('bnk_1', 'bank', 'B', 'prv_1', 'untrusted')`],
    ['a merchant of a merchant', `('mch_1', 'merchant', 'M', 'mch_0', 'untrusted')`],
    ['an unknown trust level', `('mch_1', 'merchant', 'M', null, 'somewhat')`],
    ['a name of nothing', `('mch_1', 'merchant', '', null, 'untrusted')`],
  ])('refuses %s', async (_, values) => {
    await expect(
      test.db.query(`INSERT INTO entities (id, type, name, provider_id, trust_level) VALUES ${values}`),
    ).rejects.toMatchObject({ code: expect.stringMatching(/^235(14|03)$/) as string });
  });
});
