import { oneRow, type Executor } from '../pool/connection';

/** The current date by the party's clock. */
export async function todayOf(db: Executor, entityId: string, timeZone: string): Promise<string> {
  const { today } = await oneRow<{ today: string }>(
    db,
    `SELECT to_char(business_now(:entityId) AT TIME ZONE :timeZone, 'YYYY-MM-DD') AS today`,
    { entityId, timeZone },
  );
  return today;
}
