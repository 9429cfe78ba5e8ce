import { setTimeout as wait } from 'node:timers/promises';
import type { Cast } from './cast';
import type { StormEngine } from './engine';
import type { Load } from './load';
import { lookAtServers, type ServersView } from './servers';

const LOOK_EVERY_MS = 500;
const SAY_EVERY_MS = 5_000;

/**
 * Waits until nobody has anything left to do: no caller waits for an answer, no bank for a receiver
 * of its own, and the engine has nothing open. It asks; it does not guess.
 *
 * @param withinMs longest that it waits; what is open then, the oracle finds
 */
export async function untilQuiet(
  engine: StormEngine,
  cast: Cast,
  load: Load,
  withinMs: number,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<ServersView> {
  const deadline = Date.now() + withinMs;
  let sayAt = Date.now() + SAY_EVERY_MS;
  for (;;) {
    signal.throwIfAborted();
    const servers = await lookAtServers(engine);
    const left = whatIsLeft(servers, cast, load);
    if (left === '' || Date.now() > deadline) return servers;
    if (Date.now() > sayAt) {
      say(`still: ${left}`);
      sayAt = Date.now() + SAY_EVERY_MS;
    }
    await wait(LOOK_EVERY_MS, undefined, { signal });
  }
}

function whatIsLeft({ open, outbox, running }: ServersView, { banks }: Cast, { inFlight }: Load): string {
  const counts = {
    calls: inFlight,
    'answers of banks': banks.reduce((sum, { bank }) => sum + bank.answering, 0),
    ...open,
    'in the outbox': outbox.length,
  };
  // The workflow of a refund that its bank never answers runs on.
  const [workflow, ...others] = running.filter((id) => !id.startsWith('refund/'));
  return [
    ...Object.entries(counts).flatMap(([what, count]) => (count > 0 ? `${count} ${what}` : [])),
    ...(workflow === undefined ? [] : [`${1 + others.length} workflows, one is ${workflow}`]),
  ].join(', ');
}
