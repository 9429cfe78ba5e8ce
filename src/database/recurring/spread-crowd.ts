import { isHeld } from '../../domain/recurring/recurring-step';
import type { RecurringRules } from '../../domain/recurring/schedule-facts';
import { oneRow, row, type Transaction } from '../pool/connection';
import type { ScheduleRow } from '../schedule/change-status';

/**
 * Longest that a workflow wakes after a due moment, however many are due at it: where `DUE_RATE`
 * asks for more, it is exceeded. What is due before 18:00 is so charged on its day.
 */
export const DELAY_MAX_MS = 6 * 3_600_000;

/**
 * How long after its next due moment a schedule's workflow wakes: behind all that wait for the same
 * moment. It keeps its place for as long as it waits for that moment. One that is held has none, so
 * that others do not wait behind it.
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
    row(trx, `SELECT pg_advisory_xact_lock(hashtextextended('due_moment ' || :moment, 0))`, {
      moment: nextDueAt.getTime(),
    }),
    oneRow<{ last: number | null }>(
      trx,
      `SELECT max(delay_ms) AS last FROM schedules WHERE next_due_at = :nextDueAt`,
      { nextDueAt },
    ),
  ]);
  const behind = last === null ? 0 : last + Math.ceil(1000 / dueRate);
  return behind < DELAY_MAX_MS ? behind : Math.floor(Math.random() * DELAY_MAX_MS);
}
