import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';
import { eachOf } from '../activities/each-of';
import type { Tell } from '../activities/telling';
import type { Database } from '../database/connection';
import type { Keyring } from '../database/keyring';
import {
  advanceDueSchedule,
  dueSchedules,
  leaveToWorkflow,
  untoldSchedules,
} from '../database/recurring-due';
import type { BillingRules } from '../domain/billing-rules';
import type { RecurringRules } from '../domain/recurring-step';
import { workflowId } from '../domain/workflow-id';

/**
 * Looks at schedules as they fall due and as their banks answer, in each worker, ahead of their workflows.
 *
 * A wake-up of a workflow costs more than the charge it is for, and thousands of schedules fall due at one moment. So
 * here a look is a transaction and its webhooks, some at a time, and the workflow learns of it afterwards: at once, or
 * where many are due, when its own timer fires minutes later. That look also does whatever was left here.
 *
 * Any number of watches may run: a look locks its schedule, and finds done what another did.
 */
export interface DueWatch {
  /** Looks again and again from now on. */
  start(): void;
  /** Ends after the looks, and the telling, in hand. */
  stop(): Promise<void>;
}

/** Short beside the way to a bank and back. */
const LOOK_EVERY_MS = 50;
/** Schedules taken up at once, so that what is answered meanwhile is seen soon. */
const BATCH = 100;
/** Schedules told for at once. A receiver may take seconds, and looks go on meanwhile. */
const TELLING_MAX = 40;
/** As many at once are a crowd: their workflows, woken together, would keep two cores busy for a second. */
const CROWD = 20;
/** For so long after the last of them, the work of a crowd is still in hand. */
const CROWDED_MS = 10_000;
/** After Postgres failed. */
const PAUSE_MS = 2_000;
const UNTOLD_EVERY_MS = 10_000;

/** @param tell makes the first attempts of what a look has announced */
export function createDueWatch(
  db: Database,
  keyring: Keyring,
  rules: BillingRules & RecurringRules,
  looksAtOnce: number,
  tell: Tell,
  log: Pick<Logger, 'warn'>,
): DueWatch {
  const stopped = new AbortController();
  const telling = new Set<Promise<void>>();
  let crowdedUntil = 0;
  let untoldAt = 0;
  let watching: Promise<void> = Promise.resolve();

  async function watch(): Promise<void> {
    while (!stopped.signal.aborted) {
      let pauseMs = LOOK_EVERY_MS;
      try {
        if ((await look()) === BATCH) pauseMs = 0;
      } catch (error) {
        log.warn({ err: error }, 'schedules that are due wait');
        pauseMs = PAUSE_MS;
      }
      await wait(pauseMs, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  }

  async function look(): Promise<number> {
    const now = performance.now();
    if (now >= untoldAt) {
      untoldAt = now + UNTOLD_EVERY_MS;
      for (const carrier of await untoldSchedules(db, BATCH)) await tellFor(carrier);
    }
    const due = await dueSchedules(db, BATCH);
    if (due.length >= CROWD) crowdedUntil = now + CROWDED_MS;
    await eachOf(due, looksAtOnce, lookAt);
    return due.length;
  }

  async function lookAt(scheduleId: string): Promise<void> {
    if (stopped.signal.aborted) return;
    try {
      const crowded = performance.now() < crowdedUntil;
      const done = await advanceDueSchedule(db, keyring, rules, scheduleId, crowded);
      if (done) await tellFor(workflowId.recurring(scheduleId));
    } catch (error) {
      log.warn({ err: error, scheduleId }, 'a schedule is left to its workflow');
      await leaveToWorkflow(db, scheduleId);
    }
  }

  /** Begins to tell; ends when there is room for another. */
  async function tellFor(carrier: string): Promise<void> {
    const told = tell(carrier)
      .catch((error: unknown) => log.warn({ err: error, carrier }, 'telling is left for later'))
      .then(() => void telling.delete(told));
    telling.add(told);
    if (telling.size >= TELLING_MAX) await Promise.race(telling);
  }

  return {
    start() {
      watching = watch();
    },
    async stop() {
      stopped.abort();
      await watching;
      await Promise.all(telling);
    },
  };
}
