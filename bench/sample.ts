import { setTimeout as wait } from 'node:timers/promises';
import type { Gauges, Reading } from './gauges';

/** One piece of work, measured once. */
export interface Sample extends Reading {
  units: number;
  ms: number;
  /** For how long CPU time and writes were counted: until the ends that trail behind. */
  countedMs: number;
  /** Milliseconds from the moment of due work until each unit was done, in order. */
  latenessMs?: number[];
  /** Milliseconds until each probe was answered, and until it was done, in order. */
  probed?: { answeredMs: number[]; doneMs: number[] };
}

/** The end of a workflow trails behind the last answer, and is still its work's CPU time. */
const TRAIL_MS = 500;
/** Before the moment, beside the time that it takes to make all. */
const LEAD_MS = 2_000;
/** Less than this before the moment, some may not have been asleep. */
const ASLEEP_MS = 500;
/** How long it takes to make one, until it is known. */
const FIRST_GUESS_MS = 50;
/** A machine is not always as fast as before. */
const MARGIN = 1.5;
const MOST_TRIES = 3;
/** Often enough for a percentile, seldom enough that the probes alone keep no core busy. */
export const PROBE_EVERY_MS = 300;

export async function measure(gauges: Gauges, units: number, work: () => Promise<void>): Promise<Sample> {
  const before = await gauges.read();
  const startedAt = performance.now();
  await work();
  const ms = performance.now() - startedAt;
  return { units, ms, ...(await countedSince(gauges, before, startedAt)) };
}

async function countedSince(gauges: Gauges, before: Reading, startedAt: number) {
  await wait(TRAIL_MS);
  const reading = await gauges.since(before);
  return { ...reading, countedMs: performance.now() - startedAt };
}

/** Work that falls due at one moment, which comes a little after all of it was made. */
export class DueWork {
  private perUnitMs = FIRST_GUESS_MS;

  /**
   * @param make makes the work for a moment (milliseconds since 1970), ends when all of it sleeps,
   *   and returns when each will have been done
   */
  constructor(private readonly make: (at: number, units: number) => Promise<Promise<number>[]>) {}

  /**
   * Ends as the moment comes.
   *
   * @returns when each will have been done
   * @throws Error where the moment came too early again and again
   */
  async fallsDue(units: number): Promise<Promise<number>[]> {
    for (let tries = 1; tries <= MOST_TRIES; tries++) {
      const startedAt = Date.now();
      const at = startedAt + LEAD_MS + units * this.perUnitMs * MARGIN;
      const done = await this.make(at, units);
      this.perUnitMs = (Date.now() - startedAt) / units;
      const leftMs = at - Date.now();
      if (leftMs >= ASLEEP_MS) {
        await wait(leftMs);
        return done;
      }
      // It is done all the same; it must not be in the way of the next.
      await Promise.all(done);
    }
    throw new Error(`${units} were not asleep by their moment: this machine is too busy`);
  }

  /** Measures from the moment at which all fall due to the end of the last. */
  async measure(gauges: Gauges, units: number): Promise<Sample> {
    const done = await this.fallsDue(units);
    const before = await gauges.read();
    const dueAt = performance.now();
    const latenessMs = (await Promise.all(done)).map((doneAt) => doneAt - dueAt).toSorted((a, b) => a - b);
    return { units, ms: latenessMs.at(-1) ?? 0, ...(await countedSince(gauges, before, dueAt)), latenessMs };
  }
}

/**
 * Starts a probe at a steady pace, however long those before it take: a caller does not wait for
 * others' calls either.
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
  const counted = await countedSince(gauges, before, startedAt);
  const probed = {
    answeredMs: done.map(({ answeredMs }) => answeredMs).toSorted((a, b) => a - b),
    doneMs: done.map(({ doneMs }) => doneMs).toSorted((a, b) => a - b),
  };
  return { units: probes.length, ms, ...counted, probed };
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
  /** From the lower quartile to the upper. */
  middleHalf: number;
}

export function spread(values: number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => {
    const place = (sorted.length - 1) * share;
    const [low, high] = [sorted[Math.floor(place)] ?? 0, sorted[Math.ceil(place)] ?? 0];
    return low + (high - low) * (place % 1);
  };
  return { median: at(0.5), min: at(0), max: at(1), middleHalf: at(0.75) - at(0.25) };
}

export function percentile(sorted: number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? 0;
}
