import { setTimeout as wait } from 'node:timers/promises';
import knex, { type Knex } from 'knex';
import type { Mode } from '../domain/mode';
import { deploymentWords } from '../domain/words/deployment-words';
import type { Actor } from './record/audit-event';
import { LOCK_NOT_AVAILABLE } from './pool/availability';
import { STATEMENTS, type Statements } from './pool/statement';
import { DeploymentError, requireMigratable } from './engine/deployment';
import { migrations } from './engine/read-migrations';

/** knex would print errors that it also throws; our callers report them. */
const SILENT: Knex.Logger = {
  warn: () => undefined,
  error: () => undefined,
  deprecate: () => undefined,
  debug: () => undefined,
};
/** Any number that no other advisory lock of the database uses. */
const LOCK = 7_161_974;

/**
 * A migration that waits for a table blocks all others from the table, so it waits in short turns.
 * The API gives a statement up after four seconds.
 */
const LOCK_TIMEOUT = '2s';
const RETRY_AFTER_MS = 1_000;
/** Some five minutes. The operator is told of a table that is in use longer, say by a back-up. */
const ATTEMPTS_MAX = 100;

/** @param by author of each migration's audit event, which its own transaction writes */
const sourceFor = (by?: Actor): Knex.MigrationSource<string> => ({
  getMigrations: () => Promise.resolve([...migrations().keys()]),
  getMigrationName: (name) => name,
  getMigration: (name) =>
    Promise.resolve({
      async up(trx) {
        await trx.raw(migrations().get(name) ?? '');
        if (by) await record(trx, by, name);
      },
      down: refuseDown,
    }),
});

/**
 * knex requires one. A schema that holds money is never reversed: a back-up is restored instead.
 */
const refuseDown = () => Promise.reject(new Error('no migration goes down'));

/**
 * Brings the schema up to date. Each migration has a transaction of its own, which also writes its
 * audit event. Returns the names of the migrations that ran.
 *
 * Several processes may call this at once: each waits for the one before it. A killed migration
 * leaves knex's own lock behind, which refuses every later one. So an advisory lock, which ends
 * with its session, comes first.
 *
 * @param ownerUrl logs in as the role that shall own the schema
 * @param mode of the database; written at the first migration, and required ever after
 * @param timeZone of the network, in which days begin; written at the first migration, and required
 *   ever after
 * @param by author of the audit event; left out for tests' own databases, which have none
 * @param begun called before each migration: one that rewrites a table takes long
 * @throws DeploymentError if the database has another mode or time zone, or a version that this one
 *   does not follow
 */
export async function migrateUp(
  ownerUrl: string,
  mode: Mode,
  timeZone: string,
  by?: Actor,
  begun: (migration: { name: string; number: number; of: number }) => void = () => undefined,
): Promise<string[]> {
  return migrating(ownerUrl, { mode, time_zone: timeZone }, async (db) => {
    const all = [...migrations().keys()];
    const before = await applied(db);
    if (before.some((name) => !all.includes(name))) throw new DeploymentError(deploymentWords.otherSchema);
    await requireMigratable(statementsOf(db), { mode, timeZone });
    const wanted = all.filter((name) => !before.includes(name));
    const ran: string[] = [];
    // One by one: `latest` would run all in one transaction, which would lock the first migration's
    // tables until the last has run.
    for (const [at, name] of wanted.entries()) {
      begun({ name, number: at + 1, of: wanted.length });
      await migrateNext(db, name, sourceFor(by));
      ran.push(name);
    }
    return ran;
  });
}

/** knex has question marks where statements have `$1`, `$2`, …, which come in this order. */
function statementsOf(db: Knex): Statements {
  return {
    ...STATEMENTS,
    query: (text, values = []) =>
      db.raw<{ rows: unknown[] }>(text.replaceAll(/\$\d+/g, '?'), values as Knex.RawBinding[]),
  };
}

async function migrateNext(
  db: Knex,
  name: string,
  migrationSource: Knex.MigrationSource<string>,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await db.migrate.up({ migrationSource });
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE) throw error;
      if (attempt === ATTEMPTS_MAX) throw new DeploymentError(deploymentWords.tableInUse(name));
      await wait(RETRY_AFTER_MS);
    }
  }
}

async function applied(db: Knex): Promise<string[]> {
  if (!(await db.schema.hasTable('knex_migrations'))) return [];
  return db('knex_migrations').orderBy('id').pluck<string[]>('name');
}

async function record(db: Knex, { actor, reason }: Actor, migration: string): Promise<void> {
  const after = JSON.stringify({ migrations: [migration] });
  await db('audit_events').insert({ actor, action: 'schema.migrated', reason, after });
}

async function migrating<Result>(
  ownerUrl: string,
  settings: Record<string, string>,
  work: (db: Knex) => Promise<Result>,
): Promise<Result> {
  const db = knex({
    client: 'pg',
    connection: {
      connectionString: ownerUrl,
      application_name: 'assent migrate',
      connectionTimeoutMillis: 4_000,
      // Settings for migrations that write by mode and time zone.
      options: [
        '-c search_path=public',
        `-c lock_timeout=${LOCK_TIMEOUT}`,
        ...Object.entries(settings).map(([name, value]) => `-c assent.${name}=${value}`),
      ].join(' '),
    },
    // One connection holds the lock, the other migrates.
    pool: { min: 0, max: 2 },
    log: SILENT,
  });
  try {
    return await db.transaction(async (lock) => {
      // The end of another migration is waited for, however long it takes.
      await lock.raw('SET LOCAL lock_timeout = 0');
      await lock.raw('SELECT pg_advisory_xact_lock(?)', [LOCK]);
      await db.migrate.forceFreeMigrationsLock();
      return work(db);
    });
  } finally {
    await db.destroy();
  }
}
