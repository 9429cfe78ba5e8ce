import { rows, type Executor } from './connection';

/** Most rows that one statement of housekeeping touches, so that it never holds locks for long. */
export const SWEEP = 1_000;

/**
 * Deletes rows whose time is over.
 *
 * The clock in a query of its own is read once; by itself it is read for each row, and no index can
 * serve it. An order has the index used also where Postgres takes most rows for those.
 *
 * @param key the columns that tell its rows apart
 * @param which of them: a condition, and where they are many an ORDER BY
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
