import type { Executor } from '../pool/connection';

/** SQL: seconds of business time from a row's creation to its end; 0 for an open row. */
export const afterS = (r: string) =>
  `coalesce(round(extract(epoch FROM ${r}.closed_at - ${r}.created_at), 1), 0)::float8 AS after_s`;

/** SQL: a time as 16 hexadecimal digits, its microseconds since 2000; the same in every session. */
export const microseconds = (column: string) => `encode(timestamptz_send(${column}), 'hex')`;

/** SQL: the furthest test clock's time, which bounds scans of a time index. */
export const FURTHEST = `now() + coalesce((SELECT max(clock_offset) FROM entities WHERE clock_offset > '0'), '0')`;

/** The current date by the party's clock. */
export async function todayOf(db: Executor, entityId: string): Promise<string> {
  const { today } = await db.oneRow<{ today: string }>`
    SELECT to_char(business_now(${entityId}) AT TIME ZONE ${db.timeZone}, 'YYYY-MM-DD') AS today`;
  return today;
}
