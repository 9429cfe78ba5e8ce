import { readdir } from 'node:fs/promises';
import { join, parse } from 'node:path';
import knex, { type Knex } from 'knex';
import type { Mode } from '../domain/mode';
import { requireMigratable } from './deployment';

const FOLDER = join(__dirname, '../../migrations');
/** knex prints what it also throws: whoever catches it decides what is told. */
const SILENT: Knex.Logger = {
  warn: () => undefined,
  error: () => undefined,
  deprecate: () => undefined,
  debug: () => undefined,
};
/** Any number that no other advisory lock of the database uses. */
const LOCK = 7_161_974;

interface Migration {
  up(knex: Knex): Promise<void>;
  down(knex: Knex): Promise<void>;
}

/** Names have no extension, so that a schema migrated from source and one from the build are the same. */
const source: Knex.MigrationSource<string> = {
  getMigrations: async () =>
    (await readdir(FOLDER))
      .filter((file) => /^\d{4}_\w+\.[jt]s$/.test(file))
      .map((file) => parse(file).name)
      .sort(),
  getMigrationName: (name) => name,
  // Not `import()`, which wants to know whether it is `.ts` or `.js`.
  getMigration: (name) => Promise.resolve(require(join(FOLDER, name)) as Migration),
};

/**
 * Brings the schema up to date and returns the names of the migrations that ran.
 *
 * Several processes may call it at once: each waits for the one before it. knex's own lock survives a
 * killed migration and then refuses every later one, so a lock that ends with its session stands before it.
 *
 * @param ownerUrl logs in as the role that shall own the schema
 * @param mode what the database is for; written into it the first time, and required ever after
 * @throws DeploymentError where it is for something else
 */
export async function migrateUp(ownerUrl: string, mode: Mode): Promise<string[]> {
  return migrating(ownerUrl, mode, async (db) => {
    await requireMigratable({ query: ({ text }) => db.raw<{ rows: unknown[] }>(text) }, mode);
    const [, names] = (await db.migrate.latest()) as [number, string[]];
    return names;
  });
}

/** Takes everything back, to an empty schema; returns the names of the migrations undone. */
export async function migrateDown(ownerUrl: string): Promise<string[]> {
  return migrating(ownerUrl, 'sandbox', async (db) => {
    const [, names] = (await db.migrate.rollback(undefined, true)) as [number, string[]];
    return names;
  });
}

async function migrating<Result>(
  ownerUrl: string,
  mode: Mode,
  work: (db: Knex) => Promise<Result>,
): Promise<Result> {
  const db = knex({
    client: 'pg',
    connection: {
      connectionString: ownerUrl,
      application_name: 'assent migrate',
      connectionTimeoutMillis: 4_000,
      // The migration that writes it down has nobody to ask.
      options: `-c assent.mode=${mode}`,
    },
    // One connection holds the lock, the other migrates.
    pool: { min: 0, max: 2 },
    migrations: { migrationSource: source },
    log: SILENT,
  });
  try {
    return await db.transaction(async (lock) => {
      await lock.raw('SELECT pg_advisory_xact_lock(?)', [LOCK]);
      await db.migrate.forceFreeMigrationsLock();
      return work(db);
    });
  } finally {
    await db.destroy();
  }
}
