import type { Executor } from '../pool/connection';
import { raw, type Fragment } from '../pool/statement';

/** Most rows that one statement of housekeeping touches, so that it never holds locks for long. */
export const SWEEP = 1_000;

/**
 * Deletes rows whose time is over.
 *
 * Write the clock as a subquery, `(SELECT clock_timestamp())`: it is then read once, and an index
 * can serve the condition. An ORDER BY keeps the index in use even if Postgres expects most rows to
 * match.
 *
 * @param which the condition, and for many rows an ORDER BY
 * @returns whether there may be more
 */
export async function sweep(db: Executor, table: string, which: Fragment): Promise<boolean> {
  const deleted = await db.rows`
    DELETE FROM ${raw(table)} WHERE ctid = ANY(ARRAY(
      SELECT ctid FROM ${raw(table)} WHERE ${which} LIMIT ${raw(SWEEP)}
      FOR UPDATE SKIP LOCKED)) RETURNING true`;
  return deleted.length === SWEEP;
}
