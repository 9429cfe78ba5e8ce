import type { Logger } from 'pino';

/** Each removes hundreds of rows, and says whether there may be more. */
export type Sweeps = Record<string, () => Promise<boolean>>;

/** More rounds than a process fills between two sweeps. */
const ROUNDS = 60;

/** Sweeps each kind away. An error of one does not stop the others. */
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
