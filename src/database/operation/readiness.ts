import type { Problem } from '../../domain/failures';
import type { Database } from '../connection';

/** What keeps Postgres from serving, the schema included. */
export async function databaseProblems(db: Database): Promise<Problem[]> {
  try {
    await db.query('SELECT business_now(NULL)');
    return [];
  } catch {
    return [{ path: 'postgres', message: 'does not answer, or is not migrated' }];
  }
}
