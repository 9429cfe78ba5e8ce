import type { Executor, Transaction } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { sweep } from '../query/sweep';

/** Console sessions that were ended before they expired, and used challenges of passkeys. */

/** @param endsAt when the session expires by itself; the row is kept until then */
export async function endConsoleSession(db: Executor, session: { id: string; endsAt: Date }): Promise<void> {
  await db.rows`
    INSERT INTO ended_console_sessions (id, ends_at) VALUES (${session.id}, ${session.endsAt})
    ON CONFLICT (id) DO NOTHING`;
}

/** The same of what may be used once. @returns whether this was the first use */
export async function useOnce(trx: Transaction, used: { id: string; endsAt: Date }): Promise<boolean> {
  const first = await trx.row`
    INSERT INTO ended_console_sessions (id, ends_at) VALUES (${used.id}, ${used.endsAt})
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
