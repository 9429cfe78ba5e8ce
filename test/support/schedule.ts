import { createRecurringActivities, type ScheduleState } from '../../src/activities/recurring';
import type { Database } from '../../src/database/pool/connection';
import type { Keyring } from '../../src/database/keys/keyring';
import type { BillingRules } from '../../src/domain/billing-rules';
import { isAsked, nextStep, type Step } from '../../src/domain/recurring/recurring-step';
import type { RecurringRules } from '../../src/domain/recurring/schedule-facts';

export interface ScheduleAtRest {
  status: string;
  nextBillingDate: string | null;
  /** Until its workflow goes on; null where it has ended. */
  sleepMs: number | null;
  waitingFor: string;
  /** In words. */
  did: string[];
  /** What comes after the sleep; null where it has ended. */
  next: Step['do'] | null;
  delayMs: number;
}

/** Steps in a row that no story comes near to: skipping ten years of days takes 37. */
const STEPS_MAX = 60;

/** What the workflow of a schedule calls, where no bank is waited for and nothing is sent. */
export const scheduleActivities = (db: Database, keyring: Keyring, rules: BillingRules & RecurringRules) =>
  createRecurringActivities(db, keyring, rules, { waitForAnswers: () => Promise.resolve() }, () =>
    Promise.resolve({ delivered: 0, failed: 0, handedOver: 0, told: [] }),
  );

/** A workflow whose history has all that was done before now. */
export const reportedAll = () => ({ sequence: null, startedAt: '2200-01-01T00:00:00Z' });

/**
 * In place of its workflow: reads the schedule, and does what comes until it is to sleep, or has
 * ended.
 */
export async function runSchedule(
  db: Database,
  keyring: Keyring,
  rules: BillingRules & RecurringRules,
  scheduleId: string,
): Promise<ScheduleAtRest> {
  const { readSchedule, ...activities } = scheduleActivities(db, keyring, rules);
  const doing = {
    charge: activities.chargeBilling,
    expire: activities.settleBilling,
    succeed: activities.settleBilling,
    retry: activities.settleBilling,
    fail: activities.settleBilling,
    skip: activities.skipBillings,
    notify: activities.giveNotice,
    end: activities.endSchedule,
  };
  const did: string[] = [];
  let state = await readSchedule(scheduleId, reportedAll());
  for (let ran = 0; ran < STEPS_MAX; ran++) {
    const step = nextStep(state.facts);
    if (step.do === 'nothing') return atRest(state, did, null, null);
    if (step.do === 'wait') {
      const then = nextStep({ ...state.facts, now: step.until });
      return atRest(state, did, step.until - state.facts.now + state.delayMs, then.do);
    }
    state = await doing[step.do](scheduleId, reportedAll());
    did.push(...state.did);
    // The bank is waited for a moment before the schedule is at rest.
    if (step.do === 'charge' && isAsked(state.facts.open)) {
      state = await activities.settleBilling(scheduleId, reportedAll());
      did.push(...state.did);
    }
  }
  throw new Error(`${scheduleId} does not come to rest`);
}

function atRest(
  { facts, nextBillingDate, waitingFor, delayMs }: ScheduleState,
  did: string[],
  sleepMs: number | null,
  next: Step['do'] | null,
): ScheduleAtRest {
  return { status: facts.status, nextBillingDate, sleepMs, waitingFor, did, next, delayMs };
}
