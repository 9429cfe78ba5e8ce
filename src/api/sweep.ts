import type { Logger } from 'pino';

/** Each removes hundreds of rows, and says whether there may be more. */
export type Sweeps = Record<string, () => Promise<boolean>>;

/** Rounds of each: more than a process takes in between two sweeps, and an end all the same. */
const ROUNDS = 60;

/** Sweeps away what has expired. What cannot be, keeps nothing else. */
export async function sweep(sweeps: Sweeps, log: Pick<Logger, 'warn'>): Promise<void> {
  const rounds = async ([expired, once]: [string, () => Promise<boolean>]) => {
    try {
      for (let round = 0; round < ROUNDS && (await once()); round++);
    } catch (error) {
      log.warn({ err: error, expired }, 'what has expired is left for the next sweep');
    }
  };
  await Promise.all(Object.entries(sweeps).map(rounds));
}
