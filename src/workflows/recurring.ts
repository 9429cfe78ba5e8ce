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
import { after, local } from './local';
import { SEARCH_ATTRIBUTE } from './search-attributes';
import { CANCELLATION, hearingSignals, type Heard, type Signals } from './signals';

const SUMMARIES: Record<keyof RecurringActivities, string> = {
  readSchedule: 'See how the schedule stands; tell both sides what has changed.',
  chargeBilling: 'Charge the billing that is due; ask the bank: billing.request',
  settleBilling:
    'Wait a moment for the bank’s answer; settle the billing; tell the merchant: billing.response',
  skipBillings: 'Skip what fell due while nothing was to be charged.',
  giveNotice: 'Tell both sides of the next billing: recurring.upcoming',
  endSchedule: 'End the schedule; tell both sides: recurring.updated',
  cancelSchedule: 'An operator cancels the schedule; tell both sides: recurring.updated',
};

const activities = proxyLocalActivities<RecurringActivities>(local(''));

/**
 * Activities in one run; after the next sleep the workflow continues as new. Each leaves about five
 * events, so a run stays near a thousand, which an operator can read and a worker replays in
 * milliseconds.
 */
const ACTIVITIES_PER_RUN = 200;

/**
 * Longest single sleep: a little over a month, so that a monthly schedule wakes only for its
 * billings. Longer ones would save readings, but would notice a changed setting or a lost signal
 * too late.
 */
const MAX_SLEEP_MS = 32 * 86_400_000;

/**
 * One recurring schedule, from its creation to its end: sleeps until its next billing date,
 * charges, settles, and so on until `maxBillings` or `endDate`. No charge has a workflow of its
 * own.
 *
 * It knows nothing but its id. What comes next, and by whose clock, each activity says by the
 * database; a signal only makes it read sooner. A request to cancel the workflow cancels the
 * schedule, as an operator's act; a charge that its bank has been asked for runs to its end.
 *
 * @param scheduleId the row is there before this starts
 * @param reportedUntil sequence of the schedule's last event that an earlier run reported
 * @returns what was done last, who was told, and how it has ended, in words
 */
export async function recurring(scheduleId: string, reportedUntil: number | null = null): Promise<string[]> {
  return hearingSignals((signals) => run(scheduleId, reportedUntil, signals));
}

async function run(scheduleId: string, reportedUntil: number | null, signals: Signals): Promise<string[]> {
  const { workflowId, startTime } = workflowInfo();
  const startedAt = startTime.toISOString();
  let sequence = reportedUntil;
  let activity: keyof RecurringActivities = 'readSchedule';
  /** What has been done and not been said in a summary. */
  let done: string[] = [];
  for (let ran = 1; ; ran++) {
    signals.forget();
    const state: ScheduleState = await activities[activity].executeWithOptions(
      local(after(done, SUMMARIES[activity])),
      [scheduleId, workflowId, { sequence, startedAt }],
    );
    sequence = state.sequence;
    const { status, nextBillingDate, next, inMs, waitingFor } = state;
    done = [...state.did, ...state.told];
    setCurrentDetails(waitingFor);
    index(status, nextBillingDate);
    if (next === null) return [...done, waitingFor];
    activity = next;
    if (inMs > 0) {
      const heard = await signals.sleep(Math.min(inMs, MAX_SLEEP_MS), waitingFor, done);
      done = [];
      if (heard.has(CANCELLATION)) activity = 'cancelSchedule';
      // Only here, where no request to cancel is left unheard: the next run would know nothing of
      // it.
      else if (ran >= ACTIVITIES_PER_RUN) break;
      else if (heard.has('bankAnswered')) activity = 'settleBilling';
      else if (onlyFellDue(heard)) continue;
      else if (heard.size > 0 || inMs > MAX_SLEEP_MS) activity = 'readSchedule';
    }
  }
  await condition(allHandlersFinished);
  return continueAsNew<typeof recurring>(scheduleId, sequence);
}

/** A test clock has come to what is waited for: it is done as if the timer had run to its end. */
const onlyFellDue = (heard: Heard) => heard.size === 1 && heard.has('fellDue');

/**
 * Keeps the search attributes up; each change is an event in the history, so only changes are sent.
 */
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
