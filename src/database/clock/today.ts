import type { Executor } from '../pool/connection';

/** The current date by the party's clock. */
export async function todayOf(db: Executor, entityId: string): Promise<string> {
  const { today } = await db.oneRow<{ today: string }>`
    SELECT to_char(business_now(${entityId}) AT TIME ZONE ${db.timeZone}, 'YYYY-MM-DD') AS today`;
  return today;
}
