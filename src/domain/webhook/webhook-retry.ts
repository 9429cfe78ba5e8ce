/** Jitter either way, so that calls that failed together do not return together. */
const JITTER = 0.2;

/**
 * Milliseconds from a failed attempt to the next; undefined after the last.
 *
 * @param delaysS seconds after the first failed attempt, after the second, …
 * @param failedAttempts at least 1
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
