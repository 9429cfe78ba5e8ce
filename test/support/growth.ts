import { Session } from 'node:inspector/promises';

/*
 * How the cost of reading grows with what is read. Counted are the time of the processor, which a
 * busy machine takes from nobody, and the bytes of heap that V8 gives out, also those that are free
 * again at once.
 */

type Read = (bytes: Buffer) => unknown;

/** Makes a text of about so many bytes. */
type Make = (bytes: number) => Buffer;

/** Twice the text may cost three times as much: in proportion it is two, by the square four. */
const GROWTH_MAX = 3;
/** Less is no matter of growth; the cost of a square passes it well below the longest text. */
const FLOOR = { cpuMs: 8, allocated: 4_000_000 };
/** One run is enough for a suspicion, which each try has to confirm, by the least of its runs. */
const SUSPICION = 2.5;
const TRIES = 4;
const RUNS = 3;
/** The length of the first text; the next is twice as long, up to the longest. */
const FIRST_BYTES = 2 * 1024;
const SAMPLED_BYTES = 4 * 1024;

type Cost = Record<keyof typeof FLOOR, number>;
const KINDS = Object.keys(FLOOR) as (keyof Cost)[];

/**
 * Reads longer and longer texts, up to the first that costs too much more than one half as long: a
 * quadratic reader would not come to an end. The text twice as long has to cost too much as well,
 * for one half may just have been refused sooner than the whole.
 *
 * @returns the fault in words
 */
export async function faultOfGrowth(read: Read, make: Make, longest: number): Promise<string | undefined> {
  let before = Infinity;
  for (let bytes = FIRST_BYTES; bytes <= longest; bytes *= 2) {
    const cpuMs = await cpuOf(read, make(bytes));
    if (cpuMs > FLOOR.cpuMs && cpuMs > SUSPICION * before) {
      const grown = (await excessOf(read, make(bytes / 2), make(bytes))) !== undefined;
      const fault = grown ? await excessOf(read, make(bytes), make(bytes * 2)) : undefined;
      if (fault !== undefined) return `${fault} for ${bytes} and ${bytes * 2} bytes`;
    }
    before = cpuMs;
  }
  return undefined;
}

/** @returns in words, what a text costs more than three times as much of as another */
export async function excessOf(read: Read, other: Buffer, text: Buffer): Promise<string | undefined> {
  let excess: string | undefined;
  for (let n = 0; n < TRIES; n += 1) {
    const [allowed, cost] = [await costOf(read, other), await costOf(read, text)];
    const kind = KINDS.find((one) => cost[one] > GROWTH_MAX * allowed[one] + FLOOR[one]);
    if (kind === undefined) return undefined;
    excess = `${kind} ${allowed[kind].toFixed()} and ${cost[kind].toFixed()}`;
  }
  return excess;
}

async function costOf(read: Read, bytes: Buffer): Promise<Cost> {
  const allocated = await allocatedBy(read, bytes);
  let cpuMs = Infinity;
  for (let n = 0; n < RUNS; n += 1) cpuMs = Math.min(cpuMs, await cpuOf(read, bytes));
  return { cpuMs, allocated };
}

async function cpuOf(read: Read, bytes: Buffer): Promise<number> {
  const before = process.cpuUsage();
  await toItsEnd(read, bytes);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

async function allocatedBy(read: Read, bytes: Buffer): Promise<number> {
  const session = new Session();
  session.connect();
  try {
    const options = {
      samplingInterval: SAMPLED_BYTES,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    };
    await session.post('HeapProfiler.startSampling', options);
    await toItsEnd(read, bytes);
    const { profile } = await session.post('HeapProfiler.stopSampling');
    return bytesBelow(profile.head);
  } finally {
    session.disconnect();
  }
}

interface Sampled {
  selfSize: number;
  children: Sampled[];
}

const bytesBelow = ({ selfSize, children }: Sampled): number =>
  children.reduce((sum, child) => sum + bytesBelow(child), selfSize);

/** A refusal is one end of a reading. */
async function toItsEnd(read: Read, bytes: Buffer): Promise<void> {
  try {
    await read(bytes);
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError) throw error;
  }
}
