import type { BillingRules } from '../domain/billing-rules';
import type { RecurringRules } from '../domain/recurring-step';
import type { Database } from '../database/connection';
import type { Keyring } from '../database/keyring';
import { advanceSchedule } from '../database/recurring-advance';
import type { ScheduleState } from '../database/recurring-state';
import type { Tell } from './telling';

export interface RecurringActivities {
  /** Takes note of how the last charge ended, does all that is due, tells of it, and says how long to wait. */
  advance(scheduleId: string, carrier: string): Promise<ScheduleState>;
}

export function createRecurringActivities(
  db: Database,
  keyring: Keyring,
  rules: BillingRules & RecurringRules,
  tell: Tell,
): RecurringActivities {
  return {
    // One local activity for both: each is an event in a history that a charge pays for.
    async advance(scheduleId, carrier) {
      const state = await advanceSchedule(db, keyring, rules, scheduleId);
      await tell(carrier);
      return state;
    },
  };
}
