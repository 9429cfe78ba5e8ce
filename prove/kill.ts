import { setTimeout as wait } from 'node:timers/promises';
import type { EngineProcess, StormEngine } from '../storm/engine';
import { Random } from '../storm/random';

/** Ends processes as a power cut would, one after the other, each of them once in a round. */

const PROCESSES = ['worker-1', 'postgres', 'api-1', 'temporal', 'worker-2', 'api-2'] as const;
/** Between two: what a dead worker was about is taken up after ten to fifteen seconds. */
const EVERY_MS = { least: 8_000, most: 14_000 };
const DOWN_MS = { least: 200, most: 1_500 };

/** Each death takes some ten seconds of a proof: a small one has one round of them. */
const BILLINGS_OF_ROUND = 250;

/** @returns how often each was killed, at the latest when the signal says that it is enough */
export async function killAll(
  engine: StormEngine,
  seed: number,
  billings: number,
  say: (line: string) => void,
  enough: AbortSignal,
): Promise<Record<string, number>> {
  const random = new Random(seed ^ 0xdead);
  const killed: Record<string, number> = {};
  const pause = (span: { least: number; most: number }) =>
    wait(random.between(span.least, span.most), undefined, { signal: enough }).catch(() => undefined);
  const rounds = Math.ceil(billings / BILLINGS_OF_ROUND);
  const names = Array.from({ length: rounds }, () =>
    random.several(PROCESSES.length, PROCESSES.length).map(nameOf),
  ).flat();
  for (const name of names) {
    await pause(EVERY_MS);
    if (enough.aborted) break;
    say(`${name} killed`);
    await engine.processes[name].kill();
    killed[name] = (killed[name] ?? 0) + 1;
    await pause(DOWN_MS);
    engine.processes[name].start();
  }
  return killed;
}

function nameOf(i: number): EngineProcess {
  return PROCESSES[i] ?? 'worker-1';
}
