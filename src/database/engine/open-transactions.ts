import { rows, type Executor } from '../pool/connection';

/** Rows that are shown at most: whoever has more has one cause to look for. */
const SHOWN_MAX = 20;

/** The service's own end within ten seconds, or Postgres ends them. */
const LONG_AFTER_S = 30;

/** A transaction that others wait for, in any database of the server. */
export interface LongTransaction {
  /** The number of its session, which `pg_terminate_backend` takes; of a prepared one, its name. */
  id: string;
  database: string;
  login: string | null;
  /** Null where the login that asks may not know. */
  since: Date | null;
  prepared: boolean;
  /** No reader of a feed goes past the oldest that writes. */
  writes: boolean;
  /** Sessions that wait for a lock of it. */
  waiting: number;
}

/**
 * All that are open, but for that which asks. Postgres reads what a session does before it reads
 * its xid. One that has an xid, and by its own word no beginning, began in between: it is not what
 * holds anybody up. Of a session whose word is hidden, or not kept, nobody knows.
 */
const OPEN = `
  SELECT pid, pid::text AS id, datname::text AS database, usename::text AS login, xact_start AS since, false AS prepared,
    backend_xid IS NOT NULL AND (xact_start IS NOT NULL OR coalesce(state, 'disabled') = 'disabled') AS writes
  FROM pg_stat_activity WHERE usename IS NOT NULL AND pid <> pg_backend_pid()
  UNION ALL
  SELECT 0, gid, database::text, owner::text, prepared, true, true FROM pg_prepared_xacts`;

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
