import { setTimeout as wait } from 'node:timers/promises';
import { cpuSince, cpuTimes, type CpuTimes } from './cpu';

/** One piece of work, measured once. */
export interface Sample {
  units: number;
  ms: number;
  cpu: CpuTimes;
  /** Of due work: how long after its moment each unit was done, in milliseconds and in order. */
  latenessMs?: number[];
}

/** What trails behind the last answer, a workflow's own end above all, is still its work's CPU time. */
const TRAIL_MS = 500;
/** To have all asleep before their moment: this much, and so much more for each. */
const LEAD_MS = 3_000;
const LEAD_PER_UNIT_MS = 25;
/** Less than this before the moment, some may not have been asleep. */
const ASLEEP_MS = 500;

export async function measure(units: number, work: () => Promise<void>): Promise<Sample> {
  const before = cpuTimes();
  const startedAt = performance.now();
  await work();
  const ms = performance.now() - startedAt;
  await wait(TRAIL_MS);
  return { units, ms, cpu: cpuSince(before) };
}

/**
 * Measures from the moment at which all fall due to the end of the last.
 *
 * @param prepare makes them due at a moment (milliseconds since 1970), and returns when each will have been done
 * @throws Error where the moment came before all were made
 */
export async function measureDue(
  units: number,
  prepare: (at: number) => Promise<Promise<number>[]>,
): Promise<Sample> {
  const at = Date.now() + LEAD_MS + units * LEAD_PER_UNIT_MS;
  const done = await prepare(at);
  const leftMs = at - Date.now();
  if (leftMs < ASLEEP_MS)
    throw new Error(`${units} were not asleep by their moment: this machine is too slow`);
  await wait(leftMs);
  const before = cpuTimes();
  const dueAt = performance.now();
  const latenessMs = (await Promise.all(done)).map((doneAt) => doneAt - dueAt).toSorted((a, b) => a - b);
  await wait(TRAIL_MS);
  return { units, ms: latenessMs.at(-1) ?? 0, cpu: cpuSince(before), latenessMs };
}

/** The middle of the rounds, and how far they lay apart. */
export interface Spread {
  median: number;
  min: number;
  max: number;
}

export function spread(values: number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => {
    const place = (sorted.length - 1) * share;
    const [low, high] = [sorted[Math.floor(place)] ?? 0, sorted[Math.ceil(place)] ?? 0];
    return low + (high - low) * (place % 1);
  };
  return { median: at(0.5), min: at(0), max: at(1) };
}

export function percentile(sorted: number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? 0;
}
