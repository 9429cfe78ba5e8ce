import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { migrateUp } from '../../src/database/migrate';
import { openDatabase } from '../../src/database/pool/connection';
import { customPlan, raw } from '../../src/database/pool/statement';
import { announceAny } from '../support/announce-any';
import { asSchemaLogin, databaseOfFile, emptySchema } from '../support/database';
import { eventually } from '../support/engine';
import { OPERATOR } from '../support/operator';
import { makeSchedule, standingApproval } from '../support/standing';
import { engineFacts } from '../support/keyring';

const test = databaseOfFile();

/** The migrations on record, and their operators. */
async function actsOfSchema(): Promise<{ by: string[]; migrations: string[] }> {
  const acts = await customPlan(test.db).rows<{ actor: string; after: { migrations: string[] } }>`
    SELECT actor, after FROM audit_events WHERE action = 'schema.migrated' AND entity_id IS NULL ORDER BY id`;
  return {
    by: [...new Set(acts.map(({ actor }) => actor))],
    migrations: acts.flatMap(({ after }) => after.migrations),
  };
}

/** Names of those that have run, in their order. */
async function standing(): Promise<string[]> {
  const found = await customPlan(test.db).rows<{
    name: string;
  }>`SELECT name FROM knex_migrations ORDER BY name`;
  return found.map(({ name }) => name);
}

describe('the migrations', () => {
  it('run once where several processes start at once, and are on record with who ran them', async () => {
    const all = await standing();
    await emptySchema(test.url);
    const up = () => migrateUp(test.url, 'sandbox', 'Africa/Lagos', OPERATOR);
    const ran = await Promise.all([up(), up(), up()]);
    expect(ran.filter((names) => names.length > 0)).toEqual([all]);
    expect(await actsOfSchema()).toEqual({ by: [OPERATOR.actor], migrations: all });
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
    let owner: Client;
    /** All of them, in their order. */
    let all: string[];
    let failing: string | undefined;

    beforeEach(async () => {
      owner = new Client({ connectionString: test.url });
      await owner.connect();
      all = await standing();
      failing = all.find((name) => name.startsWith('0005_billing'));
      await emptySchema(test.url);
      await owner.query('CREATE TABLE intents ()');
      await expect(migrateUp(test.url, 'sandbox', 'Africa/Lagos', OPERATOR)).rejects.toThrow(
        'already exists',
      );
      await owner.query('DROP TABLE intents');
    });
    afterEach(() => owner.end());

    it('keep those before it, on record, and go on from there, also past a lock that was left behind', async () => {
      expect((await actsOfSchema()).migrations).toEqual(all.slice(0, 4));
      await owner.query('UPDATE knex_migrations_lock SET is_locked = 1');
      expect(await migrateUp(test.url, 'sandbox', 'Africa/Lagos')).toEqual(all.slice(4));
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
      // Another wish for the table stands behind the migration that waits for it.
      await owner.query("SET statement_timeout = '30s'");
      await owner.query('DELETE FROM customers WHERE false');
      await writer.query('COMMIT');
      await writer.end();
      expect(await migrated).toContain(failing);
    });
  });

  it('go on from no schema that another version has made', async () => {
    const add = `INSERT INTO knex_migrations (name, batch, migration_time) VALUES ('0001_of_another_version', 1, now())`;
    await asSchemaLogin(test.url, add);
    await expect(migrateUp(test.url, 'sandbox', 'Africa/Lagos')).rejects.toThrow(
      /^DATABASE_URL: another build created the schema .* Run the build that created it, or name an empty database\.$/,
    );
    await asSchemaLogin(test.url, `DELETE FROM knex_migrations WHERE name = '0001_of_another_version'`);
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
});

/** The body of a thief's function, which takes the guard from the audit events. */
const rewrites = (returns: string) => `LANGUAGE plpgsql AS $$
  BEGIN
    ALTER TABLE public.audit_events DISABLE TRIGGER USER;
    UPDATE public.audit_events SET action = 'entity.disabled';
    RETURN ${returns};
  END $$`;

describe('the schema', () => {
  it('keeps the serving role from changing the schema, and from deleting what must be kept', async () => {
    for (const statement of [
      'CREATE TABLE mine (id int)',
      'ALTER TABLE entities ADD COLUMN mine int',
      'DELETE FROM entities',
      "UPDATE entities SET type = 'bank'",
      "UPDATE entities SET name = 'Another'",
      "INSERT INTO entities (id, type, name, trust_level) VALUES ('mch_1', 'merchant', 'M', 'trusted')",
      "INSERT INTO entities (id, type, name, created_at) VALUES ('mch_1', 'merchant', 'M', '2001-01-01')",
      "INSERT INTO agreements (id, decision) VALUES ('agr_1', 'approve_recurring')",
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

  it.each([
    ['an entity with an id of another type', `('mch_1', 'bank', 'B', null, 'untrusted')`],
    ['a trusted bank', `('bnk_1', 'bank', 'B', null, 'trusted')`],
    ['a bank of a provider', `('bnk_1', 'bank', 'B', 'prv_1', 'untrusted')`],
    ['a merchant of a merchant', `('mch_1', 'merchant', 'M', 'mch_0', 'untrusted')`],
    ['an unknown trust level', `('mch_1', 'merchant', 'M', null, 'somewhat')`],
    ['a name of nothing', `('mch_1', 'merchant', '', null, 'untrusted')`],
  ])('refuses %s', async (_, values) => {
    await expect(
      asSchemaLogin(
        test.url,
        `INSERT INTO entities (id, type, name, provider_id, trust_level) VALUES ${values}`,
      ),
    ).rejects.toMatchObject({ code: expect.stringMatching(/^235(14|03)$/) as string });
  });

  it('lets the serving role write no past: when something was recorded is the database’s to say', async () => {
    const parties = await standingApproval(test.db);
    await makeSchedule(test.db, parties);
    const [deliveryId] = await test.db.transaction((trx) =>
      announceAny(trx, [{ entityId: parties.bankId, webhookType: 'webhook.test', items: [{}] }]),
    );
    await test.db.rows`
      INSERT INTO webhook_attempts (delivery_id, n, duration_ms) VALUES (${deliveryId}, 1, 1)`;
    for (const [table, time, keys] of [
      ['events', 'recorded_at', { id: 'evt_2', resource_id: 'thing' }],
      ['schedules', 'recorded_at', { id: 'sch_2' }],
      ['webhook_attempts', 'at', { n: 2 }],
    ] as const) {
      // A row of the table again, under other keys and as of long ago.
      const forged = await test.db.row<{ isOfNow: boolean }>`
        INSERT INTO ${raw(table)} SELECT (jsonb_populate_record(t,
          ${JSON.stringify({ ...keys, [time]: '2001-01-01T00:00:00Z' })}::jsonb)).* FROM ${raw(table)} AS t
        LIMIT 1
        RETURNING clock_timestamp() - ${raw(time)} BETWEEN '0' AND '1 minute' AS "isOfNow"`;
      expect({ table, ...forged }).toEqual({ table, isOfNow: true });
    }
  });

  it('has every time of record guarded like that, in each table that the serving role may write to', async () => {
    const unguarded = await test.db.rows`
      SELECT c.relname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
      WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND a.attname = 'recorded_at'
        AND has_table_privilege('assent_app', c.oid, 'INSERT')
        AND NOT EXISTS (SELECT FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
                        WHERE t.tgrelid = c.oid AND p.proname = 'set_record_time_recorded_at')`;
    expect(unguarded).toEqual([]);
  });

  it('runs nothing of a temporary table with the name of a table by the rights of its owner', async () => {
    await asSchemaLogin(
      test.url,
      `INSERT INTO audit_events (actor, action) VALUES ('operator:a', 'entity.created')`,
    );
    // An operator may have taken no notice of the right that migrations revoke.
    await asSchemaLogin(
      test.url,
      `GRANT TEMPORARY ON DATABASE ${new URL(test.url).pathname.slice(1)} TO PUBLIC`,
    );
    // One connection, which keeps its temporary tables.
    const thief = openDatabase(test.url, 1, engineFacts);
    await thief.query(`
      CREATE TEMP TABLE webhook_endpoints AS
        SELECT 'mch_1' AS entity_id, '3'::xid8 AS feed_read_xid, '' AS feed_read_event_id;
      CREATE TEMP TABLE webhook_deliveries AS
        SELECT 'dlv_1' AS id, 'mch_1' AS entity_id, 0 AS sent, 'pending' AS status, '4'::xid8 AS created_xid,
          'evt_1' AS event_id, ''::bytea AS body_encrypted;
      CREATE FUNCTION pg_temp.rewrite() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        ALTER TABLE public.audit_events DISABLE TRIGGER USER;
        UPDATE public.audit_events SET action = 'entity.disabled';
        RETURN NEW;
      END $$;
      CREATE TRIGGER rewrite BEFORE UPDATE ON webhook_deliveries
        FOR EACH ROW EXECUTE FUNCTION pg_temp.rewrite();
      GRANT ALL ON webhook_deliveries, webhook_endpoints TO PUBLIC;
    `);
    await thief.query(`SELECT replace_unseen_body('dlv_1', 'x')`);
    await thief.destroy();
    const rewritten = `SELECT FROM audit_events WHERE action = 'entity.disabled'`;
    expect(await test.db.rows`${raw(rewritten)}`).toEqual([]);
  });

  it('runs nothing of a function that fits better than a built-in one by the rights of its owner', async () => {
    await asSchemaLogin(
      test.url,
      `INSERT INTO audit_events (actor, action) VALUES ('operator:a', 'entity.created');
       GRANT CREATE ON SCHEMA public TO PUBLIC`,
    );
    const thief = openDatabase(test.url, 1, engineFacts);
    await thief.query(`
      CREATE FUNCTION public.hashtextextended(text, int) RETURNS bigint ${rewrites('1')};
      CREATE FUNCTION public.date_trunc(text, date) RETURNS timestamptz ${rewrites('now()')};
    `);
    await thief.query('SELECT fold_ledger_balances(1)');
    await thief.query(`SELECT ledger_booking_day('bnk_1', '2001-01-01', 'UTC')`);
    await thief.destroy();
    await asSchemaLogin(
      test.url,
      `REVOKE CREATE ON SCHEMA public FROM PUBLIC;
       DROP FUNCTION public.hashtextextended(text, int), public.date_trunc(text, date)`,
    );
    expect(await test.db.rows`SELECT FROM audit_events WHERE action = 'entity.disabled'`).toEqual([]);
  });

  const OWN = `pronamespace = 'public'::regnamespace AND NOT EXISTS (
    SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = p.oid AND deptype = 'e')`;

  it('has functions that find nothing without its schema but what is built in', async () => {
    const found = await test.db.rows`
      SELECT proname, proconfig FROM pg_proc p WHERE ${raw(OWN)}
      AND proconfig[1] IS DISTINCT FROM 'search_path=pg_catalog, pg_temp'`;
    expect(found).toEqual([]);
  });

  it('has functions with the rights of the owner that the serving role alone may call', async () => {
    const found = await test.db.rows`
      SELECT proname FROM pg_proc p, aclexplode(coalesce(proacl, acldefault('f', proowner)))
      WHERE ${raw(OWN)} AND prosecdef AND grantee NOT IN (proowner, 'assent_app'::regrole)`;
    expect(found).toEqual([]);
  });
});

describe('docs/retention.md, which an auditor is given', () => {
  /** The lines of the page: their tables, and how long they are kept. */
  const lines = [
    ...readFileSync(join(__dirname, '../../docs/retention.md'), 'utf8').matchAll(
      /^\| [^|]+ \| (`[^|]+`) +\| ([^|]+) \|$/gm,
    ),
  ].map(([, tables = '', kept = '']) => ({
    tables: [...tables.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
    isForGood: kept.startsWith('for good'),
  }));

  const named = new Set(lines.flatMap(({ tables }) => tables));

  it('says of each table of the schema how long it is kept, and of no other', async () => {
    const found = await test.db.rows<{ name: string }>`
      SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`;
    expect([...named].toSorted()).toEqual(found.map(({ name }) => name));
  });

  it('calls for good what no process can delete, and nothing else', async () => {
    const found = await test.db.rows<{ name: string }>`
      SELECT tablename AS name FROM pg_tables
      WHERE schemaname = 'public' AND has_table_privilege('assent_app', format('%I.%I', schemaname,
        tablename), 'DELETE')`;
    const deletable = new Set(found.map(({ name }) => name));
    // The owner may take a key of the ring away.
    const apart = ['encryption_keys'];
    const wrong = lines.flatMap(({ tables, isForGood }) =>
      tables.filter((name) => !apart.includes(name) && deletable.has(name) === isForGood),
    );
    expect(wrong).toEqual([]);
  });
});
