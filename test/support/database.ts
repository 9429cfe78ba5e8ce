import { randomBytes } from 'node:crypto';
import knex from 'knex';
import { Client } from 'pg';
import { openDatabase, type Database } from '../../src/database/pool/connection';
import { STATEMENTS } from '../../src/database/pool/statement';
import { servers, TEMPLATE } from './servers';
import { engineFacts } from './keyring';

export interface TestDatabase {
  /** For the API and the worker. */
  url: string;
  db: Database;
  drop(): Promise<void>;
}

/** A migrated database of this test file's own. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const { postgres } = await servers();
  const name = `test_${randomBytes(6).toString('hex')}`;
  const admin = knex({ client: 'pg', connection: `${postgres}/postgres`, pool: { min: 0, max: 1 } });
  // A template may have no connections but ours: two files that copy it at once take turns.
  await admin.raw(`SELECT pg_advisory_lock(1)`);
  await admin.raw(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`);
  await admin.raw(`SELECT pg_advisory_unlock(1)`);
  const url = `${postgres}/${name}`;
  const made: TestDatabase = {
    url,
    db: openDatabase(url, 8, engineFacts),
    async drop() {
      await made.db.destroy();
      await admin.raw(`DROP DATABASE ${name} WITH (FORCE)`);
      await admin.destroy();
    },
  };
  return made;
}

/** A migrated database of the test file that calls this, there once its tests begin. */
export function databaseOfFile(): Omit<TestDatabase, 'drop'> {
  let made: TestDatabase | undefined;
  const there = (): TestDatabase => {
    if (!made) throw new Error('the database is there once the tests begin');
    return made;
  };
  beforeAll(async () => {
    made = await createTestDatabase();
  });
  afterAll(() => there().drop());
  return {
    get url() {
      return there().url;
    },
    db: {
      ...STATEMENTS,
      ...engineFacts,
      query: (...statement) => there().db.query(...statement),
      transaction: (work) => there().db.transaction(work),
      until: (deadline) => there().db.until(deadline),
      on: (requestId) => there().db.on(requestId),
      wakeRelays: () => there().db.wakeRelays?.(),
      destroy: () => there().db.destroy(),
    },
  };
}

/**
 * A copy of a database, as a back-up would be of that moment. A template may have no connections,
 * so the original has
 * new ones afterwards.
 */
export async function copyOfDatabase(database: TestDatabase): Promise<TestDatabase> {
  const { postgres } = await servers();
  await database.db.destroy();
  const name = `copy_${randomBytes(6).toString('hex')}`;
  const url = `${postgres}/${name}`;
  const admin = `${postgres}/postgres`;
  await asSchemaLogin(admin, `CREATE DATABASE ${name} TEMPLATE ${new URL(database.url).pathname.slice(1)}`);
  database.db = openDatabase(database.url, 8, engineFacts);
  const db = openDatabase(url, 8, engineFacts);
  return {
    url,
    db,
    async drop() {
      await db.destroy();
      await asSchemaLogin(admin, `DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

/** A database that nobody has migrated. */
export const emptySchema = (url: string): Promise<void> =>
  asSchemaLogin(url, 'DROP SCHEMA public CASCADE; CREATE SCHEMA public AUTHORIZATION pg_database_owner');

/** Changes rows as a superuser, for whom no trigger asks for an event or an audit event. */
export const unrecorded = (url: string, sql: string) =>
  asSchemaLogin(url, `SET session_replication_role = replica; ${sql}`);

/** Runs statements as the login that owns the tables. */
export async function asSchemaLogin(url: string, sql: string): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
