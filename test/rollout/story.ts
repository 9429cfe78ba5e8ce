import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Stops } from '../../scripts/command';
import { Watch } from '../parties/watch';
import { assemble, type Cast } from '../storm/cast';
import { arrive, readClock } from '../parties/clock';
import { startStormEngine, type StormEngine } from '../storm/engine';
import { expected } from '../parties/client';
import { wrongCharges, workflowsOf } from './observe';
import { CHANGED, release, TODAYS, type Release } from './releases';

/** The days of a roll-out and of its roll-back, with worker processes of both releases. */

/** The command takes what is due for what is overdue after this. */
const OVERDUE_AFTER_MS = 10_000;

/** A share of the waiting schedules: as many are made while both releases run. */
const MADE_MEANWHILE = 0.2;

const SETTINGS = {
  CLOCK_WAIT_S: '2',
  // All of them are due at one moment of one clock.
  DUE_RATE: '10000',
};

interface Told {
  problems: string[];
  summary: string;
}

export async function rollOut(
  schedules: number,
  say: (line: string) => void,
  signal: AbortSignal,
  stops: Stops,
): Promise<Told> {
  say('Building both releases …');
  const today = await release(TODAYS);
  stops.push(() => today.remove());
  const changed = await release(CHANGED);
  stops.push(() => changed.remove());
  const engine = await startStormEngine({ settings: SETTINGS, linked: false }, say, signal);
  // Also where it does not come to its end.
  let keep = true;
  stops.push(async () => {
    if (keep && !signal.aborted) say(`Logs and data are kept in ${engine.folder}.`);
    await engine.stop(keep && !signal.aborted);
  });
  const cast = await assemble(engine, new Watch(signal), stops);
  const told = await days({ engine, cast, today, changed, say, signal }, schedules);
  keep = told.problems.length > 0;
  return told;
}

interface Stage {
  engine: StormEngine;
  cast: Cast;
  today: Release;
  changed: Release;
  say: (line: string) => void;
  signal: AbortSignal;
}

type Worker = 'worker-1' | 'worker-2';

async function days(stage: Stage, schedules: number): Promise<Told> {
  const { engine, cast, today, changed, say, signal } = stage;
  const billings = new Map<string, number>();
  const add = async (count: number) => {
    for (const id of await makeSchedules(cast, count, billings.size)) billings.set(id, 0);
  };
  const day = async (what: string, mending = false) => {
    const over = new AbortController();
    const passing = passDay(cast, signal).finally(() => over.abort());
    await Promise.all([passing, mending && reconciling(engine, over.signal)]);
    for (const [id, count] of billings) billings.set(id, count + 1);
    say(`${what}: a day has passed, ${billings.size} schedules were due`);
  };

  await run(stage, today, 'worker-1', 'worker-2');
  await add(schedules);
  await day('the release of today');
  await run(stage, changed, 'worker-1');
  // They may begin with the one and go on with the other.
  await add(Math.ceil(schedules * MADE_MEANWHILE));
  await day('a worker of each release');
  await run(stage, changed, 'worker-2');
  await day('the changed release');
  const out = await workflowsOf(engine);
  say(`${out.changed} of ${billings.size} schedules have taken the changed step`);
  await run(stage, today, 'worker-1');
  await day('a worker of each release, on the way back');
  await run(stage, today, 'worker-2');
  await day('the release of before', true);

  const back = await workflowsOf(engine);
  const problems = [
    ...(await wrongCharges(engine, cast, billings)),
    ...(out.changed === 0 ? ['the changed step was taken nowhere, so nothing was tried'] : []),
    ...(back.running === billings.size ? [] : [`${back.running} of ${billings.size} workflows run`]),
    ...(await engine.complaints('books', 'verify')),
    ...(await engine.complaints('reconcile')),
  ];
  const charges = [...billings.values()].reduce((sum, one) => sum + one, 0);
  return {
    problems,
    summary:
      `${billings.size} schedules, ${charges} charges: ${problems.length === 0 ? 'each made once' : `${problems.length} problems`}. ` +
      `${out.changed} schedules took the changed step; on the way back ${back.replaced} workflows could not go on and were started anew.`,
  };
}

async function run({ engine, signal }: Stage, { worker }: Release, ...names: Worker[]): Promise<void> {
  for (const name of names) {
    await engine.processes[name].stop();
    engine.processes[name].replace([worker]);
    await engine.heal(signal);
  }
}

/**
 * The workflow `reconcile` does this by itself once something is overdue for `RECONCILE_AFTER_S`.
 * Here the command does it again and again, as nobody wants to wait. The charges tell how it ends.
 */
async function reconciling(engine: StormEngine, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    await wait(OVERDUE_AFTER_MS, undefined, { signal: over }).catch(() => undefined);
    if (!over.aborted) await engine.complaints('reconcile', '--fix');
  }
}

const FIRST_AFTER_MS = 3_600_000;
const AMOUNT_NAIRA = 10;

/** @returns the ids of daily schedules of the merchant with the test clock */
async function makeSchedules({ club, customers }: Cast, count: number, from: number): Promise<string[]> {
  const { now } = await readClock(club.network);
  const made: string[] = [];
  for (let i = 0; i < count; i++) {
    const customer = customers[(from + i) % customers.length];
    const terms = {
      customerId: customer?.customerId,
      paymentID: customer?.paymentIDs.get('club'),
      amount: AMOUNT_NAIRA,
      currency: 'NGN',
      frequency: 'daily',
      startDate: new Date(now + FIRST_AFTER_MS).toISOString(),
      description: `storm ${from + i} pay`,
    };
    const reply = await club.network.post('/v1/billing/recurring/create', terms, randomUUID());
    made.push(String(expected(201, reply)['scheduleId']));
  }
  return made;
}

async function passDay({ club }: Cast, signal: AbortSignal): Promise<void> {
  expected(202, await club.network.post('/v1/sandbox/clock/advance', { by: 'P1D' }, randomUUID()));
  await arrive(club, false, signal);
}
