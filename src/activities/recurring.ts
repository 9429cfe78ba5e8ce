import type { BillingRules } from '../domain/billing-rules';
import type { RecurringRules } from '../domain/recurring-step';
import type { Database } from '../database/connection';
import type { Keyring } from '../database/keyring';
import { advanceSchedule, type ScheduleState } from '../database/recurring-advance';

export interface RecurringActivities {
  /** Takes note of how the last charge ended, does all that is due, and says how long to wait. */
  advance(scheduleId: string): Promise<ScheduleState>;
}

export function createRecurringActivities(
  db: Database,
  keyring: Keyring,
  rules: BillingRules & RecurringRules,
): RecurringActivities {
  return { advance: (scheduleId) => advanceSchedule(db, keyring, rules, scheduleId) };
}
