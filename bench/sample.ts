import { setTimeout as wait } from 'node:timers/promises';
import type { Gauges, Reading } from './gauges';

/** One piece of work, measured once. */
export interface Sample extends Reading {
  units: number;
  ms: number;
  /** Of due work: how long after its moment each unit was done, in milliseconds and in order. */
  latenessMs?: number[];
  /** Of probes, in milliseconds and in order: how long each took until it was answered, and until it was done. */
  probed?: { answeredMs: number[]; doneMs: number[] };
}

/** What trails behind the last answer, a workflow's own end above all, is still its work's CPU time. */
const TRAIL_MS = 500;
/** To have all asleep before their moment: this much, and so much more for each. */
const LEAD_MS = 2_000;
const LEAD_PER_UNIT_MS = 25;
/** Less than this before the moment, some may not have been asleep. */
const ASLEEP_MS = 500;
/** Often enough for a percentile, seldom enough that the probes alone keep no core busy. */
export const PROBE_EVERY_MS = 300;

export async function measure(gauges: Gauges, units: number, work: () => Promise<void>): Promise<Sample> {
  const before = await gauges.read();
  const startedAt = performance.now();
  await work();
  const ms = performance.now() - startedAt;
  await wait(TRAIL_MS);
  return { units, ms, ...(await gauges.since(before)) };
}

/** Makes things due at a moment (milliseconds since 1970), and returns when each will have been done. */
export type Prepare = (at: number) => Promise<Promise<number>[]>;

/** Measures from the moment at which all fall due to the end of the last. */
export async function measureDue(gauges: Gauges, units: number, prepare: Prepare): Promise<Sample> {
  const done = await due(units, prepare);
  const before = await gauges.read();
  const dueAt = performance.now();
  const latenessMs = (await Promise.all(done)).map((doneAt) => doneAt - dueAt).toSorted((a, b) => a - b);
  await wait(TRAIL_MS);
  return { units, ms: latenessMs.at(-1) ?? 0, ...(await gauges.since(before)), latenessMs };
}

/**
 * Waits for the moment at which all fall due.
 *
 * @throws Error where the moment came before all were made
 */
export async function due(units: number, prepare: Prepare): Promise<Promise<number>[]> {
  const at = Date.now() + LEAD_MS + units * LEAD_PER_UNIT_MS;
  const done = await prepare(at);
  const leftMs = at - Date.now();
  if (leftMs < ASLEEP_MS)
    throw new Error(`${units} were not asleep by their moment: this machine is too slow`);
  await wait(leftMs);
  return done;
}

/**
 * Starts a probe at a steady pace, however long those before it take: a caller does not wait for others' calls either.
 *
 * @param probe returns how long it was until it was answered, in milliseconds
 * @param until when to start no more
 */
export async function measureProbes(
  gauges: Gauges,
  probe: () => Promise<number>,
  until: Promise<unknown>,
): Promise<Sample> {
  const over = new AbortController();
  const isOver = until.finally(() => over.abort());
  isOver.catch(() => undefined);
  const before = await gauges.read();
  const startedAt = performance.now();
  const probes: Promise<{ answeredMs: number; doneMs: number }>[] = [];
  while (!over.signal.aborted) {
    const one = timed(probe);
    // It is looked at in the end; a failure must not end the process before.
    one.catch(() => undefined);
    probes.push(one);
    await wait(PROBE_EVERY_MS);
  }
  await isOver;
  const done = await Promise.all(probes);
  const ms = performance.now() - startedAt;
  await wait(TRAIL_MS);
  const probed = {
    answeredMs: done.map(({ answeredMs }) => answeredMs).toSorted((a, b) => a - b),
    doneMs: done.map(({ doneMs }) => doneMs).toSorted((a, b) => a - b),
  };
  return { units: probes.length, ms, ...(await gauges.since(before)), probed };
}

async function timed(probe: () => Promise<number>): Promise<{ answeredMs: number; doneMs: number }> {
  const startedAt = performance.now();
  const answeredMs = await probe();
  return { answeredMs, doneMs: performance.now() - startedAt };
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
