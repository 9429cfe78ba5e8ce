/**
 * Whether the window of an intent or a charge has passed. At its very end an answer comes too late,
 * and the network declines. Moments are milliseconds since 1970, by the owner's clock.
 */
export const windowPassed = (expiresAt: number, now: number): boolean => now >= expiresAt;
