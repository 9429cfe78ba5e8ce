import { rows, type Executor } from '../pool/connection';

/** Most rows that one statement of housekeeping touches, so that it never holds locks for long. */
export const SWEEP = 1_000;

/**
 * Deletes rows whose time is over.
 *
 * Write the clock as a subquery, `(SELECT clock_timestamp())`: it is then read once, and an index
 * can serve the condition. An ORDER BY keeps the index in use even if Postgres expects most rows to
 * match.
 *
 * @param key the columns of the table's key
 * @param which the condition, and for many rows an ORDER BY
 * @returns whether there may be more
 */
export async function sweep(
  db: Executor,
  table: string,
  key: string,
  which: string,
  bindings: Record<string, unknown> = {},
): Promise<boolean> {
  const deleted = await rows(
    db,
    `DELETE FROM ${table} WHERE (${key}) IN (
       SELECT ${key} FROM ${table} WHERE ${which} LIMIT ${SWEEP} FOR UPDATE SKIP LOCKED) RETURNING true`,
    bindings,
  );
  return deleted.length === SWEEP;
}
