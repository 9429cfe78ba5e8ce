import { AsyncLocalStorage } from 'node:async_hooks';
import { v7 as newUuid } from 'uuid';
import { Pool, types, type ClientBase, type PoolClient, type QueryConfig, type QueryResult } from 'pg';
import { remember } from '../../domain/remember';
import { CommitLost, DatabaseSilent, failConnecting, isUnavailable } from './availability';
import type { Keyring } from '../keyring/keyring';
import { STATEMENTS, type Plan, type Statements } from './statement';
import { createWaking } from './wake-relays';

// Money is int8: as bigint it is exact. count(*) is int8 as well, so queries cast counts to int.
types.setTypeParser(types.builtins.INT8, (text) => BigInt(text));
// A sum of int8 is NUMERIC, for it may outgrow int8. What has decimals is cast by its query.
types.setTypeParser(types.builtins.NUMERIC, (text) => BigInt(text));

/** Facts of the installation. */
export interface EngineFacts {
  readonly keyring: Keyring;
  /** IANA zone of the network, in which days begin. */
  readonly timeZone: string;
}

/** Runs statements, alone or inside a transaction, as the caller decides. */
export interface Executor extends Statements, EngineFacts {
  /** Id of the API call, which its events carry. */
  readonly requestId?: string | undefined;
  /** The transaction's UUID, which its events, webhooks and ledger entries share. */
  readonly commitId?: string | undefined;
  /** The current span, if any; messages to other processes carry it. */
  readonly traceparent?: (() => string | undefined) | undefined;
  /** Has the relays look into the outbox: after the commit of a transaction, else at once. */
  readonly wakeRelays?: (() => void) | undefined;
}

export interface Transaction extends Executor {
  readonly isTransaction: true;
}

export interface Database extends Executor {
  /**
   * The same database with a deadline, a moment of `performance.now()`: a statement that still runs
   * then fails, and is undone.
   */
  until(deadline: number): Database;
  on(requestId: string): Database;
  /**
   * Commits the work when it returns, and undoes it when it throws.
   *
   * @throws the work's error, or the reason why Postgres did not commit; CommitLost if the outcome
   *   is unknown
   */
  transaction<Result>(work: (trx: Transaction) => Promise<Result>): Promise<Result>;
  /** Closes all connections; resolves once each in use is given back. */
  destroy(): Promise<void>;
}

interface PoolUse {
  held: number;
  /** Held, but not in use. */
  idle: number;
  waiting: number;
  max: number;
}

export interface PooledDatabase extends Database {
  use(): PoolUse;
}

/** The role of the API and the worker; migrations create it and grant it what it needs. */
export const APP_ROLE = 'assent_app';

/**
 * Limit of a statement in a request or a short activity. A statement that takes this long is a
 * fault, and would hold up others by holding its connection.
 */
const STATEMENT_TIMEOUT_MS = 10_000;
/**
 * Longest wait for the end of a statement, for a server that hangs does not keep its own limit. The
 * API sets a shorter one, for its callers wait.
 */
const ANSWER_WITHIN_MS = STATEMENT_TIMEOUT_MS + 2_000;
/** A failed transaction is undone within this time, or its connection is closed. */
const UNDO_WITHIN_MS = 500;
/** A dead database must become a 503 within 5 s, so connecting ends sooner. */
const ACQUIRE_TIMEOUT_MS = 4_000;

/** An idle connection costs Postgres some megabytes; a burst's connections are closed again. */
const IDLE_TIMEOUT_MS = 30_000;

interface PoolOptions {
  /** Checks each new connection before it is used; an error closes the connection. */
  onConnect?: (connection: ClientBase) => Promise<void>;
  /** Longest wait for a statement. */
  answerWithinMs?: number | undefined;
  /** The role that the login takes: `assent_app` if left out, `none` for the login itself. */
  role?: 'none';
  /** As of `Executor`; left out without tracing. */
  traceparent?: Executor['traceparent'];
}

/**
 * Opens the pool of the API and the worker. Its role is `assent_app` for any login.
 *
 * @param poolSize most connections held at once; 4 to 8 serve a process, more only queue inside
 *   Postgres
 */
export function openDatabase(
  url: string,
  poolSize: number,
  { keyring, timeZone }: EngineFacts,
  { traceparent, ...options }: PoolOptions = {},
): PooledDatabase {
  const { pool, outside, take } = createConnections(url, poolSize, options);
  const wakeRelays = createWaking((text) => outside(() => using(Infinity).query(text)));
  const using = (deadline: number, requestId?: string): Database => {
    const carried = { ...STATEMENTS, keyring, timeZone, requestId, traceparent, wakeRelays };
    return {
      ...carried,
      until: (earlier) => using(earlier, requestId),
      on: (request) => using(deadline, request),
      async query(...statement) {
        const connection = await take(deadline);
        let isBroken = true;
        try {
          const result = await connection.query(...statement);
          isBroken = false;
          return result;
        } finally {
          connection.giveBack(isBroken);
        }
      },
      transaction: async (work) => transact(await take(deadline), carried, work),
      destroy: () => pool.end(),
    };
  };
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

/** A connection in one caller's hands. */
interface Connection {
  query(...statement: Parameters<Statements['query']>): Promise<QueryResult>;
  /** Undoes its transaction, then gives it back. */
  undo(): Promise<void>;
  giveBack(isBroken?: boolean): void;
}

function createConnections(
  url: string,
  max: number,
  { onConnect, answerWithinMs = ANSWER_WITHIN_MS, role }: PoolOptions,
) {
  const pool = new Pool({
    connectionString: url,
    application_name: 'assent',
    connectionTimeoutMillis: ACQUIRE_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
    keepAlive: true,
    // Compiling a long statement takes longer than any run of it.
    // By default Postgres plans many prepared statements again for each run. That costs more than
    // the run: a third of the work for a charge.
    options: `-c role=${role ?? APP_ROLE} -c search_path=public -c timezone=UTC -c jit=off -c plan_cache_mode=force_generic_plan`,
    max,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    // Statements of a transaction that do not read each other's effects share a round trip.
    pipeline: true,
    // For checks of a new connection; other calls set their own limit.
    query_timeout: answerWithinMs,
    ...(onConnect && { onConnect }),
  });
  // A lost connection fails the statement that runs on it, or the next one. Without a listener its
  // error event would end the process.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  // A connection's errors must not be traced to the request that opened it.
  const outside = AsyncLocalStorage.snapshot();
  const release = (client: PoolClient, isBroken = false) => outside(() => client.release(isBroken));
  const prepare = createPreparation();

  async function acquire(deadline: number): Promise<PoolClient> {
    const timeoutMs = timeLeft(deadline, ACQUIRE_TIMEOUT_MS);
    const connecting = outside(() => pool.connect()).catch(failConnecting);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(new DatabaseSilent());
        connecting.then(release, () => undefined);
      }, timeoutMs);
    });
    try {
      return await Promise.race([connecting, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async function take(deadline: number): Promise<Connection> {
    const client = await acquire(deadline);
    const giveBack = (isBroken?: boolean) => release(client, isBroken);
    return {
      giveBack,
      query: async (...statement) => send(client, prepare(...statement), timeLeft(deadline, answerWithinMs)),
      undo: () =>
        send(client, { text: 'ROLLBACK' }, UNDO_WITHIN_MS).then(
          () => giveBack(),
          // The state of a session that cannot even undo is unknown; closing it undoes all.
          () => giveBack(true),
        ),
    };
  }
  return { pool, outside, take };
}

async function send(client: PoolClient, query: QueryConfig<unknown[]>, withinMs: number) {
  const timed = { ...query, query_timeout: withinMs } as QueryConfig<unknown[]>;
  const { stream } = client.connection;
  // Statements of one turn go out as one packet.
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
    // pg has closed the connection then, so no later answer can arrive.
    throw error instanceof Error && error.message === PG_GAVE_UP ? new DatabaseSilent(error) : error;
  }
}

/** @param carried has `wakeRelays` of the database, for after the commit */
async function transact<Result>(
  connection: Connection,
  carried: Omit<Executor, 'query'> & { wakeRelays(): void },
  work: (trx: Transaction) => Promise<Result>,
): Promise<Result> {
  let over = false;
  let leavesMessages = false;
  let failed: unknown;
  const trx: Transaction = {
    ...carried,
    isTransaction: true,
    commitId: newUuid(),
    wakeRelays: () => {
      leavesMessages = true;
    },
    // One part of the work may send statements after another's failure has undone both.
    query: async (...statement) => {
      if (over) throw new Error('the transaction is over');
      try {
        return await connection.query(...statement);
      } catch (error) {
        if (!isAborted(error)) failed ??= error;
        throw error;
      }
    },
  };
  try {
    // Statements sent along with a BEGIN that fails alone would commit one by one.
    await connection.query('BEGIN');
    const result = await work(trx);
    over = true;
    await commit(connection.query('COMMIT'));
    connection.giveBack();
    if (leavesMessages) carried.wakeRelays();
    return result;
  } catch (error) {
    over = true;
    await connection.undo();
    // A later statement's error may come first; the earlier one's is the cause.
    throw isAborted(error) ? (failed ?? error) : error;
  }
}

/** A new connection answers at once; a check must not wait for a server that hangs. */
const NEW_ANSWERS_WITHIN_MS = 4_000;

export function statementsOf(connection: ClientBase): Statements {
  return {
    ...STATEMENTS,
    query: (text, values = []) =>
      connection.query({ text, values, query_timeout: NEW_ANSWERS_WITHIN_MS } as QueryConfig<unknown[]>),
  };
}

/** Whether a statement was skipped because an earlier statement of its transaction had failed. */
function isAborted(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === IN_FAILED_TRANSACTION;
}

const IN_FAILED_TRANSACTION = '25P02';

/** pg's message for a statement that took longer than its `query_timeout`. */
const PG_GAVE_UP = 'Query read timeout';

/** @throws DatabaseSilent if no time is left */
function timeLeft(deadline: number, atMostMs: number): number {
  const left = Math.ceil(Math.min(atMostMs, deadline - performance.now()));
  if (left <= 0) throw new DatabaseSilent();
  return left;
}

async function commit(committing: Promise<{ command: string }>): Promise<void> {
  const { command } = await committing.catch((error: unknown) => {
    throw isUnavailable(error) ? new CommitLost(error) : error;
  });
  // Postgres' response to the commit of a transaction in which a statement has failed.
  if (command !== 'COMMIT')
    throw new Error('the transaction was rolled back: one of its statements had failed');
}

/**
 * A frequent statement is parsed and planned once per connection, for all values: that halves the
 * work of the hot paths. A rare statement is planned for its values.
 */
const PREPARED_AFTER_RUNS = 20;
/** Postgres keeps some 20 kB for each in each connection; a list has many texts. */
const PREPARED_MAX = 200;
/**
 * Texts remembered by a process: more than there are, but for those lists. Beyond the limit the
 * least recent text is forgotten. Otherwise a caller who varies a list's filters could keep all
 * other statements from being prepared.
 */
const TEXTS_MAX = 1_000;

function createPreparation() {
  const runs = new Map<string, number>();
  const names = new Map<string, string>();
  return (text: string, values: unknown[] = [], plan?: Plan): QueryConfig<unknown[]> => {
    if (plan === 'custom plan') return { text, values };
    const name = names.get(text);
    if (name !== undefined) return { name, text, values };
    if (values.length > 0 && names.size < PREPARED_MAX) {
      const run = (runs.get(text) ?? 0) + 1;
      if (run < PREPARED_AFTER_RUNS && plan !== 'one plan') remember(runs, TEXTS_MAX, text, run);
      else {
        names.set(text, `assent_${names.size}`);
        runs.delete(text);
      }
    }
    return { text, values };
  };
}
