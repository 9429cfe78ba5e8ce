/**
 * Whether the window of an intent or a charge has passed: at its very end an answer is too late,
 * and the network declines. Moments are milliseconds since 1970.
 *
 * Answers race the end, so SQL decides, in `database/clock/window-passed.ts`.
 */
export const windowPassed = (expiresAt: number, now: number): boolean => now >= expiresAt;
