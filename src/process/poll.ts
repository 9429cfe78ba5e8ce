import { setTimeout as sleep } from 'node:timers/promises';
import { OperatorError } from '../domain/failures';

const PAUSE_MS = 100;
/** A longer wait than a minute looks less often. */
const LOOKS_MAX = 600;

/**
 * Repeats `attempt` until it succeeds.
 *
 * @param what subject of the error's message
 * @throws OperatorError of an attempt at once, which waiting does not change; OperatorError with
 *   the last attempt's error; the signal's reason
 */
export async function poll<Found>(
  what: string,
  withinMs: number,
  signal: AbortSignal,
  attempt: () => Promise<Found>,
): Promise<Found> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    signal.throwIfAborted();
    try {
      return await attempt();
    } catch (cause) {
      if (cause instanceof OperatorError) throw cause;
      if (performance.now() > deadline) {
        const why = cause instanceof Error ? cause.message : String(cause);
        throw new OperatorError(`${what} is not ready after ${withinMs / 1000} s: ${why}`, { cause });
      }
    }
    await sleep(Math.max(PAUSE_MS, withinMs / LOOKS_MAX), undefined, { signal }).catch(() => undefined);
  }
}
