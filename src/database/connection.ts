import knex, { type Knex } from 'knex';
import { types } from 'pg';

// Money is int8: as bigint it is exact. count(*) is int8 as well, so queries cast counts to int.
types.setTypeParser(types.builtins.INT8, (text) => BigInt(text));
// NUMERIC stays text and is never turned into a float.

export type Database = Knex;
export type Transaction = Knex.Transaction;
/** What a verb needs: it runs alone or inside a transaction, as its caller decides. */
export type Executor = Knex | Knex.Transaction;

/** The role that the API and the worker work as; migrations create it and grant it what they need. */
export const APP_ROLE = 'assent_app';

/**
 * Longest that one statement may run in a request or a short activity. A statement that takes this long is
 * a fault, and holding the connection would take the others down with it.
 */
const STATEMENT_TIMEOUT_MS = 10_000;
/** A dead database must become a 503 within 5 s, so connecting and waiting for a connection end before. */
const ACQUIRE_TIMEOUT_MS = 4_000;

/** knex prints what it also throws: whoever catches it decides what is told. */
export const SILENT: Knex.Logger = {
  warn: () => undefined,
  error: () => undefined,
  deprecate: () => undefined,
  debug: () => undefined,
};

/**
 * Opens the pool that API and worker use, as the role `assent_app`, whoever the URL logs in as.
 *
 * @param poolSize most connections held at once; 4 to 8 serve a process, more only queue inside Postgres
 */
export function openDatabase(url: string, poolSize: number): Database {
  return knex({
    client: 'pg',
    connection: {
      connectionString: url,
      application_name: 'assent',
      connectionTimeoutMillis: ACQUIRE_TIMEOUT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
      keepAlive: true,
      options: `-c role=${APP_ROLE} -c timezone=UTC`,
    },
    // Errors reach the log: with this they show a statement's text, never the values bound to it.
    compileSqlOnError: false,
    log: SILENT,
    pool: { min: 0, max: poolSize, acquireTimeoutMillis: ACQUIRE_TIMEOUT_MS, propagateCreateError: true },
  });
}

/**
 * The rows of one statement, whose `:names` are bound from `bindings`.
 *
 * knex's own named bindings take `:ids::text[]` for an identifier, so names are made positional here.
 *
 * @throws Error where the statement names a binding that was not given
 */
export async function rows<Row>(
  db: Executor,
  sql: string,
  bindings: Record<string, unknown> = {},
): Promise<Row[]> {
  const values: Knex.RawBinding[] = [];
  const positional = sql.replaceAll('?', '\\?').replace(/(?<!:):([a-zA-Z]\w*)/g, (_, name: string) => {
    const value = bindings[name];
    if (value === undefined) throw new Error(`no binding for :${name}`);
    values.push(value as Knex.RawBinding);
    return '?';
  });
  const result = await db.raw<{ rows: Row[] }>(positional, values);
  return result.rows;
}

/** The only row of a statement, or undefined where it found none. */
export async function row<Row>(
  db: Executor,
  sql: string,
  bindings: Record<string, unknown> = {},
): Promise<Row | undefined> {
  return (await rows<Row>(db, sql, bindings))[0];
}
