import { AsyncLocalStorage } from 'node:async_hooks';
import { Pool, types, type ClientBase, type PoolClient, type QueryConfig } from 'pg';
import { remember } from '../domain/remember';
import { inCamelCase } from './letter-case';
import { CommitLost, DatabaseSilent, isUnavailable } from './availability';

// Money is int8: as bigint it is exact. count(*) is int8 as well, so queries cast counts to int.
types.setTypeParser(types.builtins.INT8, (text) => BigInt(text));
// NUMERIC stays text and is never turned into a float.

/** What a verb needs: it runs alone or inside a transaction, as its caller decides. */
export interface Executor {
  /** Of the call that it works for; the events that it records have it. */
  readonly requestId?: string | undefined;
  /**
   * Of the span that the code at hand works in, where there is one; what it leaves to others has
   * it.
   */
  readonly traceparent?: (() => string | undefined) | undefined;
  /**
   * @param text one statement, whose parameters are `$1`, `$2`, …; without values it may be several
   * @param plan `anew` where no plan does for all values: it is made for these
   */
  query(text: string, values?: unknown[], plan?: 'anew'): Promise<{ rows: unknown[] }>;
}

export interface Transaction extends Executor {
  readonly isTransaction: true;
}

export interface Database extends Executor {
  /**
   * The same for work that is over by a moment of `performance.now()`: what still runs then fails,
   * and is undone.
   */
  until(deadline: number): Database;
  /** The same for the work of one call of the API. */
  on(requestId: string): Database;
  /**
   * Commits what the work did when it returns, and undoes it when it throws.
   *
   * @throws what the work throws, and what keeps Postgres from committing; CommitLost where nobody
   *   knows whether it did
   */
  transaction<Result>(work: (trx: Transaction) => Promise<Result>): Promise<Result>;
  /** Closes all connections; ends when those in use have been given back. */
  destroy(): Promise<void>;
}

/** How the connections of a pool are used at this moment. */
interface PoolUse {
  held: number;
  /** Held, and in nobody's use. */
  idle: number;
  /** Statements and transactions that wait for a connection. */
  waiting: number;
  max: number;
}

/** A database, and how its connections are used. */
export interface PooledDatabase extends Database {
  use(): PoolUse;
}

/**
 * The role that the API and the worker work as; migrations create it and grant it what they need.
 */
export const APP_ROLE = 'assent_app';

/**
 * Longest that one statement may run in a request or a short activity. A statement that takes this
 * long is a fault, and holding the connection would take the others down with it.
 */
const STATEMENT_TIMEOUT_MS = 10_000;
/**
 * Longest that this side waits for a statement's end, where nobody says otherwise: a server that
 * stands still does not even keep its own limit. The API says otherwise, for its callers wait.
 */
const ANSWER_WITHIN_MS = STATEMENT_TIMEOUT_MS + 2_000;
/** A transaction that failed is undone within this time, or its connection is closed. */
const UNDO_WITHIN_MS = 500;
/**
 * A dead database must become a 503 within 5 s, so connecting and waiting for a connection end
 * before.
 */
const ACQUIRE_TIMEOUT_MS = 4_000;

/** An idle connection costs Postgres some megabytes; after a burst they go. */
const IDLE_TIMEOUT_MS = 30_000;

/**
 * Opens the pool that API and worker use, as the role `assent_app`, whoever the URL logs in as.
 *
 * @param poolSize most connections held at once; 4 to 8 serve a process, more only queue inside
 *   Postgres
 * @param onConnect asked of each new connection before it is used; one that it throws for is closed
 * @param answerWithinMs longest that a statement is waited for
 * @param role that the login works as; `none` for the login itself
 * @param traceparent as of `Executor`; left out where nothing is traced
 */
export function openDatabase(
  url: string,
  poolSize: number,
  onConnect?: (connection: ClientBase) => Promise<void>,
  answerWithinMs = ANSWER_WITHIN_MS,
  role = APP_ROLE,
  traceparent?: Executor['traceparent'],
): PooledDatabase {
  const pool = new Pool({
    connectionString: url,
    application_name: 'assent',
    connectionTimeoutMillis: ACQUIRE_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
    keepAlive: true,
    // Left to itself, Postgres plans many a prepared statement anew each time. That costs more
    // than to run it: a third of its work for a charge.
    options: `-c role=${role} -c timezone=UTC -c plan_cache_mode=force_generic_plan`,
    max: poolSize,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    // Statements of a transaction that do not read each other's effects share a round trip.
    pipeline: true,
    // For what is asked of a new connection; whoever has work for it says how long that may take.
    query_timeout: answerWithinMs,
    ...(onConnect && { onConnect }),
  });
  // A lost connection fails the statement that runs on it, or the next. Unheard, its event would
  // end the process.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  // A connection serves many requests: what goes wrong inside of it is not the fault of the one
  // that opened it.
  const outside = AsyncLocalStorage.snapshot();
  const release = (client: PoolClient, broken = false) => outside(() => client.release(broken));
  const prepare = createPreparation();

  /** A connection that is free before the deadline. */
  async function acquire(deadline: number): Promise<PoolClient> {
    const patience = timeLeft(deadline, ACQUIRE_TIMEOUT_MS);
    const connecting = outside(() => pool.connect());
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(new DatabaseSilent());
        connecting.then(release, () => undefined);
      }, patience);
    });
    try {
      return await Promise.race([connecting, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async function run(client: PoolClient, query: QueryConfig<unknown[]>, deadline: number) {
    const timed = { ...query, query_timeout: timeLeft(deadline, answerWithinMs) } as QueryConfig<unknown[]>;
    const { stream } = client.connection;
    // What is asked in one turn goes out as one packet.
    stream.cork();
    process.nextTick(() => stream.uncork());
    try {
      if (query.name !== undefined || !query.values?.length) return await client.query(timed);
      const [, result] = await Promise.all([
        client.query('SET plan_cache_mode = force_custom_plan'),
        client.query(timed),
        client.query('RESET plan_cache_mode'),
      ]);
      return result;
    } catch (error) {
      // pg has closed the connection then: what it would say later is for nobody.
      throw error instanceof Error && error.message === PG_GAVE_UP ? new DatabaseSilent(error) : error;
    }
  }

  const using = (deadline: number, requestId?: string): Database => ({
    requestId,
    traceparent,
    until: (earlier) => using(earlier, requestId),
    on: (request) => using(deadline, request),
    async query(text, values, plan) {
      const client = await acquire(deadline);
      try {
        const result = await run(client, prepare(text, values, plan), deadline);
        release(client);
        return result;
      } catch (error) {
        release(client, true);
        throw error;
      }
    },
    async transaction(work) {
      const client = await acquire(deadline);
      let over = false;
      let failed: unknown;
      const trx: Transaction = {
        isTransaction: true,
        requestId,
        traceparent,
        // Of two pieces of work that run side by side, one may still be at it when the other's
        // failure has undone both.
        query: async (text, values, plan) => {
          if (over) throw new Error('the transaction is over');
          try {
            return await run(client, prepare(text, values, plan), deadline);
          } catch (error) {
            if (!isAborted(error)) failed ??= error;
            throw error;
          }
        },
      };
      try {
        await run(client, { text: 'BEGIN' }, deadline);
        const result = await work(trx);
        over = true;
        await commit(run(client, { text: 'COMMIT' }, deadline));
        release(client);
        return result;
      } catch (error) {
        over = true;
        await run(client, { text: 'ROLLBACK' }, performance.now() + UNDO_WITHIN_MS).then(
          () => release(client),
          // Of a session that cannot even undo nothing is known: it is closed, which undoes all.
          () => release(client, true),
        );
        // Of statements that were sent together, a later one may be heard first: the earlier one's
        // failure says why.
        throw isAborted(error) ? (failed ?? error) : error;
      }
    },
    destroy: () => pool.end(),
  });

  return {
    ...using(Infinity),
    use: () => ({
      held: pool.totalCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
      max: poolSize,
    }),
  };
}

/**
 * A connection that was just opened answers at once; one to a server that hangs must not be waited
 * for.
 */
const NEW_ANSWERS_WITHIN_MS = 4_000;

/** For what is asked of a new connection, before it is used. */
export function executorOf(connection: ClientBase): Executor {
  return {
    query: (text, values = []) =>
      connection.query({ text, values, query_timeout: NEW_ANSWERS_WITHIN_MS } as QueryConfig<unknown[]>),
  };
}

/** Whether it was not carried out because an earlier statement of the transaction had failed. */
function isAborted(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === IN_FAILED_TRANSACTION;
}

const IN_FAILED_TRANSACTION = '25P02';

/** What pg says where a statement took longer than its `query_timeout`. */
const PG_GAVE_UP = 'Query read timeout';

/** @throws DatabaseSilent where nothing is left of it */
function timeLeft(deadline: number, atMostMs: number): number {
  const left = Math.ceil(Math.min(atMostMs, deadline - performance.now()));
  if (left <= 0) throw new DatabaseSilent();
  return left;
}

async function commit(committing: Promise<{ command: string }>): Promise<void> {
  const { command } = await committing.catch((error: unknown) => {
    throw isUnavailable(error) ? new CommitLost(error) : error;
  });
  // Postgres' answer to the commit of a transaction in which a statement has failed.
  if (command !== 'COMMIT')
    throw new Error('the transaction was rolled back: one of its statements had failed');
}

/**
 * A statement that runs often is parsed and planned once per connection, for all values: that
 * halves the work of the hot paths. Others are planned for theirs.
 */
const PREPARED_AFTER_RUNS = 20;
/**
 * Postgres keeps some 20 kB for each in each connection; lists whose text depends on their filters
 * are many.
 */
const PREPARED_MAX = 200;
/**
 * Texts remembered by a process: more than there are, but for those same lists. Beyond it the one
 * that ran longest ago is forgotten, or whoever varies the filters of a list could keep all others
 * from being prepared.
 */
const TEXTS_MAX = 1_000;

/** Names the statements of one pool that are worth preparing. */
function createPreparation() {
  const runs = new Map<string, number>();
  const names = new Map<string, string>();
  return (text: string, values: unknown[] = [], plan?: 'anew'): QueryConfig<unknown[]> => {
    if (plan === 'anew') return { text, values };
    const name = names.get(text);
    if (name !== undefined) return { name, text, values };
    if (values.length > 0 && names.size < PREPARED_MAX) {
      const run = (runs.get(text) ?? 0) + 1;
      if (run < PREPARED_AFTER_RUNS) remember(runs, TEXTS_MAX, text, run);
      else {
        names.set(text, `assent_${names.size}`);
        runs.delete(text);
      }
    }
    return { text, values };
  };
}

/**
 * The rows of one statement, whose `:names` are bound from `bindings`. Columns are in camel case:
 * `merchant_id` is `merchantId`.
 *
 * @throws Error where the statement names a binding that was not given
 */
export async function rows<Row>(
  db: Executor,
  sql: string,
  bindings: Record<string, unknown> = {},
  plan?: 'anew',
): Promise<Row[]> {
  const { text, names } = positional(sql);
  const values = names.map((name) => {
    const value = bindings[name];
    if (value === undefined) throw new Error(`no binding for :${name}`);
    return value;
  });
  const result = await db.query(text, values, plan);
  return inCamelCase<Row>(result.rows as object[]);
}

/**
 * The statement with `$1`, `$2`, … for its names: a number for each place, for one name may be of
 * two types.
 */
function positional(sql: string): { text: string; names: string[] } {
  const known = POSITIONAL.get(sql);
  if (known) {
    remember(POSITIONAL, TEXTS_MAX, sql, known);
    return known;
  }
  const names: string[] = [];
  const text = sql.replace(/(?<!:):([a-zA-Z]\w*)/g, (_, name: string) => `$${names.push(name)}`);
  const read = { text, names };
  remember(POSITIONAL, TEXTS_MAX, sql, read);
  return read;
}

const POSITIONAL = new Map<string, { text: string; names: string[] }>();

/** The only row of a statement, or undefined where it found none. */
export async function row<Row>(
  db: Executor,
  sql: string,
  bindings: Record<string, unknown> = {},
  plan?: 'anew',
): Promise<Row | undefined> {
  return (await rows<Row>(db, sql, bindings, plan))[0];
}

/** The row of a statement that always has one. */
export async function oneRow<Row>(
  db: Executor,
  sql: string,
  bindings: Record<string, unknown> = {},
  plan?: 'anew',
): Promise<Row> {
  const found = await row<Row>(db, sql, bindings, plan);
  if (found === undefined) throw new Error('a statement that always has a row had none');
  return found;
}
