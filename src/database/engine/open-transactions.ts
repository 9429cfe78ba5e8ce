import { rows, type Executor } from '../pool/connection';

/** Rows listed at most: an operator with more has one cause to look for. */
const SHOWN_MAX = 20;

/** The service ends its own transactions within ten seconds, or Postgres ends them. */
const LONG_AFTER_S = 30;

/** A transaction that others wait for, in any database of the server. */
export interface LongTransaction {
  /** The session's number, which `pg_terminate_backend` takes; a prepared transaction's name. */
  id: string;
  database: string;
  login: string | null;
  /** Null where the login that asks may not know. */
  since: Date | null;
  prepared: boolean;
  /** A transaction that writes keeps readers of the feeds from going past it. */
  writes: boolean;
  /** Sessions that wait for a lock of this transaction. */
  waiting: number;
}

/**
 * All open transactions but this one. Postgres reads a session's state before its xid. A session
 * with an xid and no start began between the two readings, and holds nothing up. A session whose
 * state is hidden, or not kept, has an unknown start.
 */
const OPEN = `
  SELECT pid, pid::text AS id, datname::text AS database, usename::text AS login, xact_start AS since, false AS prepared,
    backend_xid IS NOT NULL AND (xact_start IS NOT NULL OR coalesce(state, 'disabled') = 'disabled') AS writes
  FROM pg_stat_activity WHERE usename IS NOT NULL AND pid <> pg_backend_pid()
  UNION ALL
  SELECT 0, gid, database::text, owner::text, prepared, true, true FROM pg_prepared_xacts`;

/**
 * Transactions that have lasted for long, write since an unknown moment, or hold a lock that a
 * session waits for; the worst first.
 */
export async function longTransactions(db: Executor): Promise<LongTransaction[]> {
  return rows<LongTransaction>(
    db,
    // Postgres knows no session of a prepared transaction: it says 0 for all of them.
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
