import { setTimeout as sleep } from 'node:timers/promises';
import { ForeignNamespaceError } from '../temporal/foreign-namespace';
import { StartError } from './start-error';

const PAUSE_MS = 100;

/**
 * Repeats `attempt` until it succeeds.
 *
 * @param what subject of the error's message
 * @throws StartError with the last attempt's error; ForeignNamespaceError at once; the signal's
 *   reason
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
      // Waiting does not change the owner of the namespace.
      if (cause instanceof ForeignNamespaceError) throw cause;
      if (performance.now() > deadline) {
        const why = cause instanceof Error ? cause.message : String(cause);
        throw new StartError(`${what} is not ready after ${withinMs / 1000} s: ${why}`, { cause });
      }
    }
    await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
  }
}
