import { isHeld } from '../../domain/recurring/recurring-step';
import type { RecurringRules } from '../../domain/recurring/schedule-facts';
import type { Transaction } from '../pool/connection';
import type { ScheduleRow } from '../schedule/lock-schedules';

/**
 * Longest delay of a workflow after a due moment; beyond it `DUE_RATE` is exceeded. Billings due
 * before 18:00 are so charged on their day.
 */
export const DELAY_MAX_MS = 6 * 3_600_000;

/**
 * The delay with which a schedule's workflow wakes after its due moment: behind all others of that
 * moment. The schedule keeps its place until then. A held schedule has no place, so that others do
 * not wait behind it.
 */
export async function placeOf(
  trx: Transaction,
  before: ScheduleRow,
  { status, nextDueAt }: ScheduleRow,
  { dueRate }: RecurringRules,
): Promise<number | null> {
  if (isHeld(status)) return null;
  if (before.delayMs !== null && before.nextDueAt?.getTime() === nextDueAt?.getTime()) return before.delayMs;
  if (!nextDueAt) return 0;
  const [, { last }] = await Promise.all([
    // One transaction at a time: two that cannot see each other's place would choose the same.
    trx.row`
      SELECT pg_advisory_xact_lock(hashtextextended('due_moment ' || ${nextDueAt.getTime()}, 0))`,
    trx.oneRow<{ last: number | null }>`
      SELECT max(delay_ms) AS last FROM schedules WHERE next_due_at = ${nextDueAt}`,
  ]);
  const behind = last === null ? 0 : last + Math.ceil(1000 / dueRate);
  return behind < DELAY_MAX_MS ? behind : Math.floor(Math.random() * DELAY_MAX_MS);
}
