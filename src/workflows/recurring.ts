import type { SearchAttributeUpdatePair } from '@temporalio/common';
import {
  allHandlersFinished,
  condition,
  continueAsNew,
  proxyLocalActivities,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { RecurringActivities, ScheduleState } from '../activities/recurring';
import { local } from './local';
import { SEARCH_ATTRIBUTE } from './search-attributes';
import { CANCELLATION, hearingSignals, type Signals } from './signals';

const { readSchedule } = proxyLocalActivities<RecurringActivities>(
  local('See how the schedule stands, and tell both sides what has changed'),
);
const { chargeBilling } = proxyLocalActivities<RecurringActivities>(
  local('Charge the billing that is due; ask the bank: billing.request'),
);
const { settleBilling } = proxyLocalActivities<RecurringActivities>(
  local('Wait a moment for the bank’s answer; settle the billing; tell the merchant: billing.response'),
);
const { skipBillings } = proxyLocalActivities<RecurringActivities>(
  local('Skip what fell due while nothing was to be charged'),
);
const { giveNotice } = proxyLocalActivities<RecurringActivities>(
  local('Tell both sides of the next billing: recurring.upcoming'),
);
const { endSchedule } = proxyLocalActivities<RecurringActivities>(
  local('End the schedule; tell both sides: recurring.updated'),
);

const { cancelSchedule } = proxyLocalActivities<RecurringActivities>(
  local('An operator cancels the schedule; tell both sides: recurring.updated'),
);

const ACTIVITIES: RecurringActivities = {
  readSchedule,
  chargeBilling,
  settleBilling,
  skipBillings,
  giveNotice,
  endSchedule,
  cancelSchedule,
};

/**
 * Activities in one run; then the workflow continues as new. Each leaves about five events, so a run stays near a
 * thousand, which an operator can read and a worker replays in milliseconds.
 */
const ACTIVITIES_PER_RUN = 200;

/**
 * Longest single sleep, a little longer than a month, so that a monthly schedule wakes for its billings alone. One of
 * years would get by with fewer readings; they notice a changed setting, or a schedule that nobody signalled.
 */
const MAX_SLEEP_MS = 32 * 86_400_000;

/**
 * One recurring schedule, from its creation to its end: sleeps until its next billing date, charges, settles, and so
 * on until `maxBillings` or `endDate`. No charge has a workflow of its own.
 *
 * It knows nothing but its id. What comes next, and by whose clock, each activity says by the database; a signal only
 * makes it look sooner. A request to cancel the workflow cancels the schedule, as an operator's act; a charge that its
 * bank has been asked for runs to its end.
 *
 * @param scheduleId the row is there before this starts
 */
export async function recurring(scheduleId: string): Promise<void> {
  await hearingSignals((signals) => run(scheduleId, signals));
}

async function run(scheduleId: string, signals: Signals): Promise<void> {
  const { workflowId } = workflowInfo();
  let activity: keyof RecurringActivities = 'readSchedule';
  for (let ran = 0; ran < ACTIVITIES_PER_RUN; ran++) {
    signals.forget();
    const { status, nextBillingDate, next, inMs, waitingFor }: ScheduleState = await ACTIVITIES[activity](
      scheduleId,
      workflowId,
    );
    setCurrentDetails(waitingFor);
    index(status, nextBillingDate);
    if (next === null) return;
    activity = next;
    if (inMs > 0) {
      const heard = await signals.sleep(Math.min(inMs, MAX_SLEEP_MS), waitingFor);
      if (heard.has(CANCELLATION)) activity = 'cancelSchedule';
      else if (heard.has('bankAnswered')) activity = 'settleBilling';
      else if (heard.size > 0 || inMs > MAX_SLEEP_MS) activity = 'readSchedule';
    }
  }
  await condition(allHandlersFinished);
  await continueAsNew<typeof recurring>(scheduleId);
}

/** Keeps the search attributes up; each change is an event in the history, so only changes are sent. */
function index(status: string, nextBillingDate: string | null): void {
  const indexed = workflowInfo().typedSearchAttributes;
  const changed: SearchAttributeUpdatePair[] = [];
  if (indexed.get(SEARCH_ATTRIBUTE.status) !== status) {
    changed.push({ key: SEARCH_ATTRIBUTE.status, value: status });
  }
  const date = nextBillingDate === null ? null : new Date(nextBillingDate);
  if (indexed.get(SEARCH_ATTRIBUTE.nextBillingDate)?.getTime() !== date?.getTime()) {
    changed.push({ key: SEARCH_ATTRIBUTE.nextBillingDate, value: date });
  }
  if (changed.length > 0) upsertSearchAttributes(changed);
}
