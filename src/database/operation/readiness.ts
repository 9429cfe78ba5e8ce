import type { Database } from '../connection';

/** Whether Postgres answers, and has the schema. */
export async function isReady(db: Database): Promise<boolean> {
  try {
    await db.query('SELECT business_now(NULL)');
    return true;
  } catch {
    return false;
  }
}
