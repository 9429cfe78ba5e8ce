/** Retry times vary by this much either way, so that what failed together does not come back together. */
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
