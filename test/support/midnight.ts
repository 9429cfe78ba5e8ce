import { setTimeout as wait } from 'node:timers/promises';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** Lagos is an hour ahead of UTC all year. */
const LAGOS_AHEAD_MS = 3_600_000;

/**
 * Lets the network's midnight pass if it is less than some minutes away: for a test of the real
 * day, which settles something, and then asks what has settled today.
 *
 * @param minutes that the test may take
 */
export async function letMidnightPass(minutes = 1): Promise<void> {
  const leftMs = DAY_MS - ((Date.now() + LAGOS_AHEAD_MS) % DAY_MS);
  // A timer may fire a moment early.
  if (leftMs < minutes * MINUTE_MS) await wait(leftMs + 100);
}
