import type { ClientBase } from 'pg';
import { rows, type Executor } from '../connection';

/** Transactions that others wait for, in any database of the server, and how one is ended. */

/** Rows that are shown at most: whoever has more has one cause to look for. */
const SHOWN_MAX = 20;

export interface OpenTransaction {
  /** The numbers of its session and of itself within it; of a prepared one, its name. */
  id: string;
  database: string;
  login: string | null;
  /** Null where the login that asks may not know. */
  since: Date | null;
  prepared: boolean;
}

/**
 * Of each session the number of its transaction, counted within the session: for as long as it is
 * open it holds a lock on that, which any login sees. A session's next transaction has another; one
 * that is in none, and may hold a lock for itself, has 0, which no transaction has.
 */
const NUMBERS = `
  SELECT pid, split_part(virtualxid, '/', 2) AS number FROM pg_locks
  WHERE locktype = 'virtualxid' AND virtualxid = virtualtransaction AND granted`;

/**
 * All that are open, but for that which asks. Postgres reads what a session does before it reads
 * its xid. One that has an xid, and by its own word no beginning, began in between: it is not what
 * holds anybody up. Of a session whose word is hidden, or not kept, nobody knows.
 */
const OPEN = `
  SELECT pid, pid || '-' || coalesce(number, '0') AS id, datname::text AS database, usename::text AS login,
    xact_start AS since, false AS prepared,
    backend_xid IS NOT NULL AND (xact_start IS NOT NULL OR coalesce(state, 'disabled') = 'disabled') AS writes
  FROM pg_stat_activity LEFT JOIN (${NUMBERS}) AS numbers USING (pid)
  WHERE usename IS NOT NULL AND pid <> pg_backend_pid()
  UNION ALL
  SELECT 0, gid, database::text, owner::text, prepared, true, true FROM pg_prepared_xacts`;

/** Those that write: no reader of a feed goes past the oldest. */
export async function writingTransactions(db: Executor): Promise<OpenTransaction[]> {
  return rows<OpenTransaction>(
    db,
    `SELECT id, database, login, since, prepared FROM (${OPEN}) AS open WHERE writes
     ORDER BY since NULLS FIRST LIMIT ${SHOWN_MAX}`,
  );
}

/** The service's own end within ten seconds, or Postgres ends them. */
const LONG_AFTER_S = 30;

export interface LongTransaction extends OpenTransaction {
  /** What writes holds up the events feed. */
  writes: boolean;
  /** Sessions that wait for a lock of it. */
  waiting: number;
}

/**
 * Those that have lasted for long, write since nobody knows when, or hold a lock that somebody
 * waits for; the worst first.
 */
export async function longTransactions(db: Executor): Promise<LongTransaction[]> {
  return rows<LongTransaction>(
    db,
    // Of prepared ones Postgres knows no session: it says 0 for all of them.
    `WITH blocking AS (
       SELECT holder AS pid, count(*)::int AS waiting
       FROM (SELECT DISTINCT pid FROM pg_locks WHERE NOT granted) AS blocked, unnest(pg_blocking_pids(blocked.pid)) AS holder
       GROUP BY holder)
     SELECT id, database, login, since, prepared, writes, coalesce(waiting, 0) AS waiting
     FROM (${OPEN}) AS open LEFT JOIN blocking USING (pid)
     WHERE since < clock_timestamp() - interval '${LONG_AFTER_S} seconds' OR (since IS NULL AND writes)
       OR (waiting > 0 AND NOT prepared)
     ORDER BY waiting DESC NULLS LAST, since NULLS FIRST LIMIT ${SHOWN_MAX}`,
  );
}

/** @returns undefined where there is no such transaction */
export async function findTransaction(db: Executor, id: string): Promise<OpenTransaction | undefined> {
  const [found] = await rows<OpenTransaction>(
    db,
    // Of a session without a transaction there is nothing to end. One of another login hides
    // whether it has one, unless it writes or others wait for it.
    `SELECT id, database, login, since, prepared FROM (${OPEN}) AS open
     WHERE id = :id AND (writes OR since IS NOT NULL
       OR EXISTS (SELECT FROM pg_locks l WHERE NOT l.granted AND open.pid = ANY(pg_blocking_pids(l.pid))))`,
    { id },
  );
  return found;
}

/** Postgres waits for so long until the session is gone. */
const GONE_WITHIN_MS = 5_000;

/**
 * Ends it: what it wrote is undone. A session that has gone on to another transaction is left.
 *
 * @param connection for a prepared one, of its own database
 * @returns false where it was over already, or does not end
 * @throws what Postgres says, also where the login may not
 */
export async function endTransaction(
  connection: ClientBase,
  { id, prepared }: Pick<OpenTransaction, 'id' | 'prepared'>,
): Promise<boolean> {
  if (prepared) {
    await connection.query(`ROLLBACK PREPARED ${connection.escapeLiteral(id)}`);
    return true;
  }
  const { rows: ended } = await connection.query<{ ended: boolean }>(
    `SELECT pg_terminate_backend(pid, ${GONE_WITHIN_MS}) AS ended FROM (${OPEN}) AS open
     WHERE id = $1 AND NOT prepared`,
    [id],
  );
  return ended[0]?.ended ?? false;
}
