import type { Executor } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { sweep } from '../query/sweep';

/** Console sessions that were ended before they expired, and used challenges of passkeys. */

/**
 * Ends a session, or uses a challenge up.
 *
 * @param endsAt in milliseconds since 1970, when it expires by itself; the row is kept until then
 * @returns whether this was the first time
 */
export async function endForGood(db: Executor, one: { id: string; endsAt: number }): Promise<boolean> {
  const first = await db.row`
    INSERT INTO ended_console_sessions (id, ends_at) VALUES (${one.id}, ${new Date(one.endsAt)})
    ON CONFLICT (id) DO NOTHING RETURNING id`;
  return first !== undefined;
}

export async function isConsoleSessionEnded(db: Executor, id: string): Promise<boolean> {
  return (await db.row`SELECT id FROM ended_console_sessions WHERE id = ${id}`) !== undefined;
}

/** The most that a process's clock may differ from the database's. */
const CLOCKS_DIFFER = '1 hour';

/** @returns whether there may be more */
export function forgetEndedSessions(db: Executor): Promise<boolean> {
  const latest = sql`(SELECT clock_timestamp()) - interval '${raw(CLOCKS_DIFFER)}'`;
  return sweep(db, 'ended_console_sessions', sql`ends_at < ${latest} ORDER BY ends_at`);
}
