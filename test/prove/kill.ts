import { setTimeout as wait } from 'node:timers/promises';
import type { EngineProcess, StormEngine } from '../storm/engine';
import { Random } from '../storm/random';

/** Ends processes as a power cut would, one after the other, each of them once in a round. */

const PROCESSES = ['worker-1', 'postgres', 'api-1', 'temporal', 'worker-2', 'api-2'] as const;
/**
 * Between two: what a dead worker was about is taken up after ten to fifteen seconds, and a good
 * part of a long proof is to be played by an engine that is well.
 */
const EVERY_MS = { least: 20_000, most: 40_000 };
/** In a small one each is to have its turn. */
const SMALL_EVERY_MS = { least: 8_000, most: 14_000 };
const CHARGES_OF_SMALL = 480;
const DOWN_MS = { least: 200, most: 1_500 };
/**
 * And as many charges have ended since: each death meets an engine that gets on. A death costs
 * seconds of work, so of a long proof they are to be a small part: each process dies three times,
 * and then one of them every thousand charges.
 */
const CHARGES_BETWEEN = { least: 40, most: 1_000 };
const ROUNDS = 3;
const SMALL_CHARGES_BETWEEN = 3;
/** An engine without progress for so long stands still, and the next process is killed. */
const PROGRESS_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 250;

/** @returns how often each was killed, when the signal says that it is enough */
export async function killAll(
  engine: StormEngine,
  { seed, charges, ended }: { seed: number; charges: number; ended: () => number },
  say: (line: string) => void,
  enough: AbortSignal,
): Promise<Record<string, number>> {
  const random = new Random(seed ^ 0xdead);
  const killed: Record<string, number> = {};
  const pause = (span: { least: number; most: number }) =>
    wait(random.between(span.least, span.most), undefined, { signal: enough }).catch(() => undefined);
  const isSmall = charges < CHARGES_OF_SMALL;
  const spread = Math.ceil(charges / (ROUNDS * PROCESSES.length));
  const between = Math.max(CHARGES_BETWEEN.least, Math.min(CHARGES_BETWEEN.most, spread));
  const [every, apart] = isSmall ? [SMALL_EVERY_MS, SMALL_CHARGES_BETWEEN] : [EVERY_MS, between];
  const progress = async () => {
    const [from, deadline] = [ended(), Date.now() + PROGRESS_WITHIN_MS];
    while (!enough.aborted && ended() < from + apart && Date.now() < deadline)
      await pause({ least: LOOK_EVERY_MS, most: LOOK_EVERY_MS });
  };
  for (;;) {
    for (const name of random.several(PROCESSES.length, PROCESSES.length).map(nameOf)) {
      await Promise.all([pause(every), progress()]);
      if (enough.aborted) return killed;
      say(`${name} killed, after ${ended()} charges`);
      await engine.processes[name].kill();
      killed[name] = (killed[name] ?? 0) + 1;
      await pause(DOWN_MS);
      engine.processes[name].start();
    }
  }
}

function nameOf(i: number): EngineProcess {
  return PROCESSES[i] ?? 'worker-1';
}
