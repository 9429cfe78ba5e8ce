import { addCalendarDays } from '../calendar';
import { isLiftedByTime, type Limit } from '../spending-limit';

/**
 * Declines that another day may undo; any other is final at once. So is silence (`expired`): the
 * bank may have debited all the same, and a second attempt could take the money twice.
 */
const RETRYABLE_DECLINES: ReadonlySet<string> = new Set([
  'insufficient_funds',
  'limit_reached',
  'temporarily_unavailable',
]);

/** @param limit the customer's limit for which the network declined, if it did */
export function isRetryable(declineReason: string, limit: Limit | null): boolean {
  return RETRYABLE_DECLINES.has(declineReason) && (limit === null || isLiftedByTime(limit));
}

const DAY_MS = 86_400_000;

/**
 * The time of a declined billing's next attempt: the first in the table that no attempt has used
 * up. A late attempt, after an outage, uses up every time before it.
 *
 * @param billing.nextDueDate the schedule's next regular due date, even if it will not be charged.
 *   From then on it is the next billing's turn
 * @param retryDays days after the first attempt, in any order. Whole ones are calendar days, at the
 *   same time by the zone's wall clock; fractions, for trials, are exact time
 * @returns undefined if no attempt is left
 */
export function billingRetryAt(
  billing: { firstAttemptAt: Date; lastAttemptAt: Date; nextDueDate: Date },
  retryDays: readonly number[],
  timeZone: string,
): Date | undefined {
  const { firstAttemptAt, lastAttemptAt, nextDueDate } = billing;
  return retryDays
    .map((days) =>
      Number.isInteger(days)
        ? addCalendarDays(firstAttemptAt, days, timeZone)
        : new Date(firstAttemptAt.getTime() + Math.round(days * DAY_MS)),
    )
    .sort((a, b) => a.getTime() - b.getTime())
    .find((moment) => moment > lastAttemptAt && moment < nextDueDate);
}
