import { row, rows, type Executor } from '../connection';
import { sweep } from '../sweep';

/** Sessions of the console that were ended before their time. */

/** @param endsAt when it would have ended by itself: until then it is known to be over */
export async function endConsoleSession(db: Executor, session: { id: string; endsAt: Date }): Promise<void> {
  await rows(
    db,
    `INSERT INTO ended_console_sessions (id, ends_at) VALUES (:id, :endsAt) ON CONFLICT (id) DO NOTHING`,
    session,
  );
}

export async function isConsoleSessionEnded(db: Executor, id: string): Promise<boolean> {
  return (await row(db, 'SELECT id FROM ended_console_sessions WHERE id = :id', { id })) !== undefined;
}

/** What the clocks of processes may differ from the database's. */
const CLOCKS_DIFFER = '1 hour';

/** @returns whether there may be more */
export function forgetEndedSessions(db: Executor): Promise<boolean> {
  return sweep(
    db,
    'ended_console_sessions',
    'id',
    `ends_at < (SELECT clock_timestamp()) - interval '${CLOCKS_DIFFER}' ORDER BY ends_at`,
  );
}
