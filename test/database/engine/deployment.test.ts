import { Client } from 'pg';
import { schemaMigrated } from '../../../src/cli/migrate';
import { statementsOf, openDatabase, type Database } from '../../../src/database/pool/connection';
import {
  DeploymentError,
  requireDeployment,
  requireSameCalendar,
} from '../../../src/database/engine/deployment';
import { migrationName } from '../../../src/database/engine/read-migrations';
import { migrateUp } from '../../../src/database/migrate';
import type { Mode } from '../../../src/domain/mode';
import { asSchemaLogin, databaseOfFile, emptySchema } from '../../support/database';
import { createProductionDatabase, type ProductionDatabase } from '../../support/production-database';
import { engineFacts } from '../../support/keyring';

const sandbox = databaseOfFile();
/** Another, whose zone changes. */
const spare = databaseOfFile();
let production: ProductionDatabase;
let app: Database;
beforeAll(async () => {
  production = await createProductionDatabase();
  app = openDatabase(production.url, 2, engineFacts);
  await asSchemaLogin(
    production.ownerUrl,
    `INSERT INTO entities (id, type, name) VALUES ('bnk_1', 'bank', 'B')`,
  );
});
afterAll(async () => {
  await app.destroy();
  await production.drop();
});

const AS_APP = '-c role=assent_app';

/** As a process's new connection is asked. The owner of the schema cannot take on the role. */
async function admit(url: string, mode: Mode, options = AS_APP, timeZone = 'Africa/Lagos'): Promise<void> {
  const client = new Client({ connectionString: url, options });
  await client.connect();
  try {
    await requireDeployment(statementsOf(client), { mode, timeZone });
  } finally {
    await client.end();
  }
}

describe('the mode of a database', () => {
  it('keeps every process of another mode out, and tells it both ways out', async () => {
    await expect(admit(production.url, 'sandbox')).rejects.toThrow(
      /^ASSENT_MODE: is sandbox, but the database was created for production. Set ASSENT_MODE=production, or correct/,
    );
    await expect(admit(sandbox.url, 'production')).rejects.toThrow(
      /is production, but .* created for sandbox/,
    );
    await expect(migrateUp(production.ownerUrl, 'sandbox', 'Africa/Lagos')).rejects.toThrow(DeploymentError);
    await expect(migrateUp(sandbox.url, 'production', 'Africa/Lagos')).rejects.toThrow(/created for sandbox/);
    await expect(admit(production.url, 'production')).resolves.toBeUndefined();
    await expect(admit(sandbox.url, 'sandbox')).resolves.toBeUndefined();
  });

  it('is changed by nobody, the owner included', async () => {
    for (const statement of [
      `UPDATE deployment SET mode = 'sandbox'`,
      'DELETE FROM deployment',
      'TRUNCATE deployment',
      `INSERT INTO deployment (mode, time_zone) VALUES ('sandbox', 'Africa/Lagos')`,
    ]) {
      await expect(app.query(statement)).rejects.toThrow('permission denied');
      await expect(asSchemaLogin(production.ownerUrl, statement)).rejects.toThrow(
        /never changed|duplicate key/,
      );
    }
    expect(await app.row`SELECT mode FROM deployment`).toEqual({ mode: 'production' });
  });
});

const guard = (what: string) => `ALTER TABLE entities ${what} TRIGGER entities_clock_stays`;
const move = (by: string) => `UPDATE entities SET clock_offset = '${by}' WHERE id = 'bnk_1'`;

describe('a schema that another build has made', () => {
  it('is refused by each process and by migrate, where a migration has the same file and other SQL', async () => {
    const { name } = await spare.db.oneRow<{ name: string }>`SELECT max(name) AS name FROM knex_migrations`;
    const renamed = (to: string, from: string) =>
      asSchemaLogin(spare.url, `UPDATE knex_migrations SET name = '${to}' WHERE name = '${from}'`);
    const edited = name.replace(/[0-9a-f]{8}$/, '01234567');
    expect(edited).not.toBe(name);
    await renamed(edited, name);
    const words =
      /^DATABASE_URL: another build created the schema .* Run the build that created it, or name an empty database\.$/;
    await expect(admit(spare.url, 'sandbox')).rejects.toThrow(words);
    await expect(migrateUp(spare.url, 'sandbox', 'Africa/Lagos')).rejects.toThrow(words);
    await expect(schemaMigrated(spare.url)).rejects.toThrow(words);
    await renamed(name, edited);
    await expect(admit(spare.url, 'sandbox')).resolves.toBeUndefined();
  });

  it('is one whose SQL differs, whatever its comments say', () => {
    const sql = 'CREATE TABLE a ( -- the first\n  b int\n);';
    expect(migrationName('0001_a', 'CREATE TABLE a (\n  b int\n);')).toBe(migrationName('0001_a', sql));
    expect(migrationName('0001_a', sql.replace('int', 'bigint'))).not.toBe(migrationName('0001_a', sql));
  });
});

describe('the zone of a network', () => {
  it('keeps out whoever goes by another, who would post to other days, and tells the ways out', async () => {
    const berlin = [
      'Europe/Berlin',
      /^NETWORK_TIMEZONE: is Europe\/Berlin, but .* begin in Africa\/Lagos/,
    ] as const;
    for (const [url, mode] of [
      [sandbox.url, 'sandbox'],
      [production.url, 'production'],
    ] as const) {
      await expect(admit(url, mode, AS_APP, berlin[0])).rejects.toThrow(berlin[1]);
    }
    await expect(migrateUp(sandbox.url, 'sandbox', berlin[0])).rejects.toThrow(berlin[1]);
  });

  it('is corrected by the owner of the schema alone, where it was migrated with a wrong one', async () => {
    const correct = `UPDATE deployment SET time_zone = 'Europe/Berlin'`;
    await expect(app.query(correct)).rejects.toThrow('permission denied');
    await asSchemaLogin(spare.url, correct);
    await expect(admit(spare.url, 'sandbox', AS_APP, 'Europe/Berlin')).resolves.toBeUndefined();
    await expect(admit(spare.url, 'sandbox')).rejects.toThrow(DeploymentError);
  });

  it('is none that Postgres does not know', async () => {
    await expect(requireSameCalendar(sandbox.db, 'Mars/Olympus')).rejects.toThrow(
      /^NETWORK_TIMEZONE: Postgres does not know Mars\/Olympus\. Take the IANA name of a city/,
    );
  });

  it('that is written already keeps no database from its next migration', async () => {
    await asSchemaLogin(spare.url, `UPDATE deployment SET time_zone = 'CET'`);
    await expect(migrateUp(spare.url, 'sandbox', 'CET')).resolves.toEqual([]);
  });

  it('is not written where Postgres and Node read it differently: money would count for the wrong day', async () => {
    await emptySchema(spare.url);
    await expect(migrateUp(spare.url, 'sandbox', 'CET')).rejects.toThrow(
      /^NETWORK_TIMEZONE: at 20\d\d-\S+Z the clocks of CET show \S+ by Node .*, but \S+ by Postgres .* of a city/,
    );
    await migrateUp(spare.url, 'sandbox', 'Europe/Brussels');
    expect(await spare.db.row`SELECT time_zone FROM deployment`).toEqual({ timeZone: 'Europe/Brussels' });
  });
});

describe('a clock of production', () => {
  it.each([
    `UPDATE entities SET clock_offset = '400 days' WHERE id = 'bnk_1'`,
    `UPDATE entities SET clock_target = now() WHERE id = 'bnk_1'`,
    `INSERT INTO entities (id, type, name, clock_offset) VALUES ('bnk_2', 'bank', 'B', '1 second')`,
  ])('moves no window of money, whoever says: %s', async (statement) => {
    for (const url of [production.url, production.ownerUrl, production.superuserUrl]) {
      await expect(asSchemaLogin(url, `SET ROLE NONE; ${statement}`)).rejects.toThrow(
        /no clock moves in production|permission denied/,
      );
    }
    await expect(app.query(statement)).rejects.toThrow(/no clock moves in production|permission denied/);
    expect(await app.row`SELECT business_now('bnk_1') - clock_timestamp() < '1 second' AS "isReal"`).toEqual({
      isReal: true,
    });
  });

  it('that was moved all the same, by an owner who took the guard away, lets no process start', async () => {
    await asSchemaLogin(production.ownerUrl, `${guard('DISABLE')}; ${move('1 day')}; ${guard('ENABLE')}`);
    await expect(admit(production.url, 'production')).rejects.toThrow(/^DATABASE_URL: a test clock has been/);
    await asSchemaLogin(production.ownerUrl, move('0'));
    await expect(admit(production.url, 'production')).resolves.toBeUndefined();
  });
});

describe('a login of production', () => {
  it.each([
    ['superuserUrl', /^DATABASE_URL: the login "owner" is a superuser, .*Make the logins/],
    ['ownerUrl', /^DATABASE_URL: the login "\w+_owner" owns the schema/],
    [
      'memberUrl',
      /^DATABASE_URL: the login "\w+_member" owns the schema, or is a member of the role that does/,
    ],
  ] as const)('that could change the record of the money is refused: %s', async (url, words) => {
    await expect(admit(production[url], 'production', '-c timezone=UTC')).rejects.toThrow(words);
  });

  const LOGIN = '{login}';
  const made = (sql: string) =>
    sql
      .replaceAll(LOGIN, new URL(production.url).username)
      .replace('{owner}', new URL(production.ownerUrl).username)
      .replaceAll('{name}', new URL(production.url).pathname.slice(1));

  it.each([
    [`GRANT pg_write_all_data TO ${LOGIN}`, `REVOKE pg_write_all_data FROM ${LOGIN}`, 'may write all tables'],
    [
      `GRANT pg_read_server_files TO ${LOGIN}`,
      `REVOKE pg_read_server_files FROM ${LOGIN}`,
      'files and programs',
    ],
    [
      `GRANT pg_execute_server_program TO ${LOGIN}`,
      `REVOKE pg_execute_server_program FROM ${LOGIN}`,
      'files and programs',
    ],
    [`ALTER ROLE ${LOGIN} CREATEROLE`, `ALTER ROLE ${LOGIN} NOCREATEROLE`, 'may create roles'],
    [`ALTER ROLE ${LOGIN} REPLICATION`, `ALTER ROLE ${LOGIN} NOREPLICATION`, 'may replicate the server'],
    [
      `ALTER DATABASE {name} OWNER TO ${LOGIN}`,
      // An owner hands on its own right to connect as well.
      `ALTER DATABASE {name} OWNER TO {owner}; GRANT CONNECT ON DATABASE {name} TO ${LOGIN}`,
      'owns the',
    ],
    [
      `ALTER SCHEMA public OWNER TO ${LOGIN}`,
      `ALTER SCHEMA public OWNER TO pg_database_owner`,
      'owns the schema',
    ],
    [
      `ALTER FUNCTION business_now OWNER TO ${LOGIN}`,
      `ALTER FUNCTION business_now OWNER TO {owner}`,
      'owns the schema',
    ],
  ])('that gets round its role is refused: %s', async (grant, revoke, words) => {
    await asSchemaLogin(production.superuserUrl, made(grant));
    await expect(admit(production.url, 'production')).rejects.toThrow(words);
    await asSchemaLogin(production.superuserUrl, made(revoke));
    await expect(admit(production.url, 'production')).resolves.toBeUndefined();
  });

  it.each([
    ...[LOGIN, 'PUBLIC', 'assent_app'].map((grantee) => `GRANT TEMPORARY ON DATABASE {name} TO ${grantee}`),
    'GRANT CREATE ON DATABASE {name} TO PUBLIC',
    // As the clusters of Postgres 14 and older have it.
    'ALTER SCHEMA public OWNER TO CURRENT_USER; GRANT CREATE ON SCHEMA public TO PUBLIC',
    `GRANT CREATE ON SCHEMA public TO ${LOGIN}, assent_app`,
    `GRANT CREATE ON SCHEMA pg_catalog TO ${LOGIN}`,
  ])(
    'that may create what would stand for ours is refused, and taken once its words are run: %s',
    async (grant) => {
      await asSchemaLogin(production.superuserUrl, made(grant));
      const refused = await admit(production.url, 'production').then(String, String);
      const [, revoke = ''] =
        /the login "\w+" may create tables or functions .* run (.*) as a superuser/.exec(refused) ?? [];
      await asSchemaLogin(production.superuserUrl, revoke);
      await expect(admit(production.url, 'production')).resolves.toBeUndefined();
      // The next migration still creates.
      await asSchemaLogin(production.ownerUrl, 'CREATE TABLE next_migration (); DROP TABLE next_migration');
    },
  );

  it.each(['CREATE TEMP TABLE entities ()', 'CREATE TABLE mine ()'])(
    'creates nothing once the schema is migrated: %s',
    async (statement) => {
      await expect(app.query(statement)).rejects.toMatchObject({ code: '42501' });
    },
  );

  it('that works as another role than the one which may not rewrite the record is refused', async () => {
    await expect(admit(production.url, 'production', '-c role=none')).rejects.toThrow(
      /^DATABASE_URL: connections work as "\w+_login" and not as assent_app/,
    );
  });
});
