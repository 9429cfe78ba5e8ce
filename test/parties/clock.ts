import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { type ApiClient, expected } from './client';

export interface Biller {
  name: string;
  network: ApiClient;
}

const LOOK_EVERY_MS = 100;
/** A longer advance is looked at less often: each look is work for an API. */
const SOON_MS = 1_000;
const LOOK_LATER_MS = 1_000;
/**
 * Without getting on. A worker that is killed is missed after fifteen seconds, and what is stuck is
 * given up by the clock after sixty; where nothing dies, nothing gets stuck.
 */
const STANDS_STILL_MS = { calm: 45_000, deaths: 180_000 };

export async function readClock(network: ApiClient): Promise<{ now: number; ready: boolean }> {
  const { now, status } = expected(200, await network.get('/v1/sandbox/clock'));
  return { now: Date.parse(String(now)), ready: status === 'ready' };
}

/** Nothing of its owner is due yet. */
export async function setClock(owner: Biller, at: number): Promise<void> {
  const { now } = await readClock(owner.network);
  const by = `PT${(at - now) / 1000}S`;
  const set = await owner.network.post('/v1/sandbox/clock/advance', { by, jump: true }, randomUUID());
  expected(202, set);
}

export async function advanceTo(
  owner: Biller,
  at: number,
  calm: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { now } = await readClock(owner.network);
  const body = { by: `PT${Math.max(1, at - now) / 1000}S` };
  expected(202, await owner.network.post('/v1/sandbox/clock/advance', body, `advance-${at}`));
  await arrive(owner, calm, signal);
}

/**
 * Until all is done that an advance has on its way.
 *
 * @throws Error where the clock does not get on
 */
export async function arrive(owner: Biller, calm: boolean, signal: AbortSignal): Promise<void> {
  const stillMs = STANDS_STILL_MS[calm ? 'calm' : 'deaths'];
  const startedAt = Date.now();
  let reached = -Infinity;
  let stillSince = startedAt;
  for (;;) {
    const { now, ready } = await readClock(owner.network);
    if (ready) return;
    // It ticks by itself: that is no stop.
    if (now - reached > Date.now() - stillSince + LOOK_EVERY_MS * 10) {
      reached = now;
      stillSince = Date.now();
    } else if (Date.now() - stillSince > stillMs) {
      throw new Error(`the test clock of ${owner.name} stands still at ${new Date(now).toISOString()}`);
    }
    await wait(Date.now() - startedAt < SOON_MS ? LOOK_EVERY_MS : LOOK_LATER_MS, undefined, { signal });
  }
}
