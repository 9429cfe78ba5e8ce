import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from './start-error';

const PAUSE_MS = 100;

/**
 * Asks again until `check` answers something other than undefined, and returns that.
 *
 * @param what waited for, as the error names it
 * @throws StartError with the last thing that went wrong, when `withinMs` are over; the signal's reason
 */
export async function poll<Found>(
  what: string,
  withinMs: number,
  signal: AbortSignal,
  check: () => Promise<Found | undefined>,
): Promise<Found> {
  const deadline = performance.now() + withinMs;
  let problem: unknown;
  while (performance.now() < deadline) {
    signal.throwIfAborted();
    try {
      const found = await check();
      if (found !== undefined) return found;
    } catch (error) {
      problem = error;
    }
    await Promise.race([sleep(PAUSE_MS), aborted(signal)]);
  }
  signal.throwIfAborted();
  throw new StartError(`${what} is not ready after ${withinMs / 1000} s.`, { cause: problem });
}

/** Resolves, and never rejects, once the signal is given. */
async function aborted(signal: AbortSignal): Promise<void> {
  await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
}
