import { stepInWords, waitingInWords } from '../../src/activities/recurring-words';
import type { Database } from '../../src/database/connection';
import type { Keyring } from '../../src/database/keys/keyring';
import { advanceSchedule, type Advanced } from '../../src/database/recurring/advance';
import type { BillingRules } from '../../src/domain/billing-rules';
import type { RecurringRules } from '../../src/domain/recurring/recurring-step';

export interface ScheduleAtRest {
  status: string;
  nextBillingDate: string | null;
  /** Until its workflow goes on; null where it has ended. */
  sleepMs: number | null;
  waitingFor: string;
  /** In words. */
  did: string[];
  next: Advanced['next'];
  delayMs: number;
}

/** Activities in a row that no story comes near to: skipping ten years of days takes 37. */
const ACTIVITIES_MAX = 60;

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
  let advanced = await advanceSchedule(db, keyring, rules, scheduleId, 'readSchedule');
  const did: string[] = [];
  for (let ran = 0; advanced.next !== null && advanced.inMs === 0; ran++) {
    if (ran === ACTIVITIES_MAX) throw new Error(`${scheduleId} does not come to rest: ${advanced.next}`);
    advanced = await advanceSchedule(db, keyring, rules, scheduleId, advanced.next);
    did.push(...advanced.taken.map((step) => stepInWords(step, advanced.schedule)));
  }
  const { schedule, next, inMs, delayMs } = advanced;
  return {
    status: schedule.status,
    nextBillingDate: schedule.nextDueAt?.toISOString() ?? null,
    sleepMs: next === null ? null : inMs,
    waitingFor: waitingInWords(advanced),
    did,
    next,
    delayMs,
  };
}
