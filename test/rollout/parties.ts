import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { expected, type Cast } from '../storm/cast';

/** What the merchant with the test clock does: it makes schedules, and lets days pass. */

/** From the moment that a schedule is made to its first billing. */
const FIRST_AFTER_MS = 3_600_000;
const AMOUNT_NAIRA = 10;
const LOOK_EVERY_MS = 200;
/**
 * A day of a hundred schedules takes ten seconds on two free cores; to start them anew, a minute.
 */
const DAY_WITHIN_MS = 240_000;

/** @returns the ids of daily schedules whose first billing is an hour away */
export async function makeSchedules(
  { club, customers }: Cast,
  count: number,
  from: number,
): Promise<string[]> {
  const { now } = await clockOf(club);
  const made: string[] = [];
  for (let i = 0; i < count; i++) {
    const customer = customers[(from + i) % customers.length];
    const reply = await club.network.post(
      '/v1/billing/recurring/create',
      {
        customerId: customer?.customerId,
        paymentID: customer?.paymentIDs.get('club'),
        amount: AMOUNT_NAIRA,
        currency: 'NGN',
        frequency: 'daily',
        startDate: new Date(now + FIRST_AFTER_MS).toISOString(),
        description: `storm ${from + i} pay`,
      },
      randomUUID(),
    );
    made.push(String(expected(201, reply)['scheduleId']));
  }
  return made;
}

/** @throws Error where the test clock does not get to its end */
export async function passDay({ club }: Cast, signal: AbortSignal): Promise<void> {
  expected(202, await club.network.post('/v1/sandbox/clock/advance', { by: 'P1D' }, randomUUID()));
  const deadline = Date.now() + DAY_WITHIN_MS;
  for (;;) {
    const { now, ready } = await clockOf(club);
    if (ready) return;
    if (Date.now() > deadline)
      throw new Error(`the test clock stands still at ${new Date(now).toISOString()}`);
    await wait(LOOK_EVERY_MS, undefined, { signal });
  }
}

async function clockOf({ network }: Cast['club']): Promise<{ now: number; ready: boolean }> {
  const { now, status } = expected(200, await network.get('/v1/sandbox/clock'));
  return { now: Date.parse(String(now)), ready: status === 'ready' };
}
