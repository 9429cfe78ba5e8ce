import { addCalendarDays } from './calendar';

/**
 * Retry times vary by this much either way, so that what failed together does not come back
 * together.
 */
const JITTER = 0.2;

/**
 * Milliseconds from a failed attempt to the next one, or undefined where there is no next one.
 *
 * @param delaysS the table: seconds after the first failed attempt, after the second, …
 * @param failedAttempts how many have failed, at least 1
 * @param random in [0, 1)
 */
export function webhookRetryMs(
  delaysS: readonly number[],
  failedAttempts: number,
  random: number,
): number | undefined {
  const delayS = delaysS[failedAttempts - 1];
  return delayS === undefined ? undefined : Math.round(delayS * 1000 * (1 + JITTER * (2 * random - 1)));
}

/**
 * The declines that another day may undo. Any other is final at once; so is silence (`expired`),
 * after which the bank may have debited all the same, and a second attempt could take the money
 * twice.
 */
const RETRYABLE_DECLINES: ReadonlySet<string> = new Set([
  'insufficient_funds',
  'limit_reached',
  'temporarily_unavailable',
]);

export function isRetryable(declineReason: string): boolean {
  return RETRYABLE_DECLINES.has(declineReason);
}

const DAY_MS = 86_400_000;

/**
 * When a declined billing is tried again: the first moment of the table that no attempt has used
 * up. One made late, after an outage, uses up every moment before it.
 *
 * @param billing.nextDueDate the schedule's next regular due date, whether or not it will be
 *   charged then. From it on it is the next billing's turn
 * @param retryDays days after the first attempt, in any order. Whole ones are calendar days, at the
 *   same time by the zone's wall clock; fractions, for trials, are exact time
 * @returns undefined where no attempt is left
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
