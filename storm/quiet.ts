import { setTimeout as wait } from 'node:timers/promises';
import type { Cast } from './cast';
import type { StormEngine } from './engine';
import type { Load } from './load';
import { lookAtServers, type ServersView } from './servers';

const LOOK_EVERY_MS = 500;

/**
 * Waits until nobody has anything left to do: no caller waits for an answer, no bank for a receiver of its own, and the
 * engine has nothing open. It asks; it does not guess.
 *
 * @param withinMs longest that it waits; what is open then, the oracle finds
 */
export async function untilQuiet(
  engine: StormEngine,
  cast: Cast,
  load: Load,
  withinMs: number,
  signal: AbortSignal,
): Promise<ServersView> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    signal.throwIfAborted();
    const servers = await lookAtServers(engine);
    const isQuiet =
      load.inFlight === 0 &&
      cast.banks.every(({ bank }) => bank.answering === 0) &&
      servers.outbox.length === 0 &&
      Object.values(servers.open).every((count) => count === 0) &&
      // Of a refund that its bank never answers the workflow runs on.
      servers.running.every((id) => id.startsWith('refund/'));
    if (isQuiet || Date.now() > deadline) return servers;
    await wait(LOOK_EVERY_MS, undefined, { signal });
  }
}
