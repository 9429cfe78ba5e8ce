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
/**
 * One run is enough for a suspicion. Each of several has to confirm it, and then each try: a
 * measure of the heap ends in a collection of all of it, which takes longer than most texts.
 */
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
      const [half, whole] = [make(bytes / 2), make(bytes)];
      const grown = (await isSuspect(read, half, whole)) && (await excessOf(read, half, whole)) !== undefined;
      const fault = grown ? await excessOf(read, whole, make(bytes * 2)) : undefined;
      if (fault !== undefined) return `${fault} for ${bytes} and ${bytes * 2} bytes`;
    }
    before = cpuMs;
  }
  return undefined;
}

async function isSuspect(read: Read, half: Buffer, whole: Buffer): Promise<boolean> {
  for (let n = 0; n < RUNS; n += 1)
    if ((await cpuOf(read, whole)) <= SUSPICION * (await cpuOf(read, half))) return false;
  return true;
}

/** @returns in words, what a text costs more than three times as much of as another */
export async function excessOf(read: Read, other: Buffer, text: Buffer): Promise<string | undefined> {
  let excess: string | undefined;
  for (let n = 0; n < TRIES; n += 1) {
    const [allowed, cost] = [await costOf(read, other), await costOf(read, text)];
    const kind = KINDS.find((one) => cost[one] > limitOf(allowed, one));
    if (kind === undefined) return undefined;
    excess = `${kind} ${allowed[kind].toFixed()} and ${cost[kind].toFixed()}`;
  }
  return excess;
}

/** @returns the texts of which a single run costs so much; `excessOf` says whether it is so */
export async function suspectsAmong(read: Read, other: Buffer, texts: Buffer[]): Promise<Buffer[]> {
  const allowed = await costOf(read, other);
  const heavy = await heavyAmong(read, texts, limitOf(allowed, 'allocated'));
  const suspects: Buffer[] = [];
  for (const text of texts) {
    const isSlow = (await cpuOf(read, text)) > limitOf(allowed, 'cpuMs');
    if (isSlow || heavy.includes(text)) suspects.push(text);
  }
  return suspects;
}

/** Texts that stay below the limit of one all together need no measure of their own. */
async function heavyAmong(read: Read, texts: Buffer[], limit: number): Promise<Buffer[]> {
  if (texts.length === 0 || (await allocatedBy(read, texts)) <= limit) return [];
  if (texts.length === 1) return texts;
  const half = Math.ceil(texts.length / 2);
  const halves = [texts.slice(0, half), texts.slice(half)];
  const heavy: Buffer[] = [];
  for (const some of halves) heavy.push(...(await heavyAmong(read, some, limit)));
  return heavy;
}

const limitOf = (allowed: Cost, kind: keyof Cost) => GROWTH_MAX * allowed[kind] + FLOOR[kind];

async function costOf(read: Read, bytes: Buffer): Promise<Cost> {
  const allocated = await allocatedBy(read, [bytes]);
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

async function allocatedBy(read: Read, texts: Buffer[]): Promise<number> {
  const session = new Session();
  session.connect();
  try {
    const options = {
      samplingInterval: SAMPLED_BYTES,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    };
    await session.post('HeapProfiler.startSampling', options);
    for (const text of texts) await toItsEnd(read, text);
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
