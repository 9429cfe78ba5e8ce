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
import { isAsked, nextStep } from '../domain/recurring/recurring-step';
import { after, local } from './local';
import { SEARCH_ATTRIBUTE } from '../temporal/search-attribute-keys';
import { CANCELLATION, withSignals, type ReceivedSignals, type Signals } from './signals';

const READ = 'See how the schedule stands; tell both sides what has changed.';
const CHARGE =
  'Charge the billing that is due; ask the bank: billing.request. Tell the merchant of its answer: billing.response';
const SETTLE = 'Settle the billing by the bank’s answer; tell the merchant: billing.response';
const SKIP = 'Skip what fell due while nothing was to be charged.';
const NOTICE = 'Tell both sides of the next billing: recurring.upcoming';
const END = 'End the schedule; tell both sides: recurring.updated';
const CANCEL = 'An operator cancels the schedule; tell both sides: recurring.updated';

const steps = proxyLocalActivities<RecurringActivities>(local(''));
const { readSchedule, chargeBilling, settleBilling, skipBillings, giveNotice, endSchedule, cancelSchedule } =
  steps;

/**
 * Activities in one run; after the next sleep the workflow continues as new. Each leaves about
 * seven events, so a run stays below fifteen hundred, which an operator can read and a worker
 * replays in milliseconds.
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
 * Each activity says how the schedule stands by the database, and `nextStep` says what comes next.
 * A step that is not due any more does nothing; a signal only makes the next step come sooner. A
 * request to cancel the workflow cancels the schedule, as an operator's act. A charge that its bank
 * was asked for runs to its end.
 *
 * @param scheduleId the row is there before this starts
 * @param reportedUntil sequence of the schedule's last event that an earlier run reported; the
 *   first event is that of its creation
 * @returns what was done last, who was told, and how it has ended, in words
 */
export async function recurring(scheduleId: string, reportedUntil = 1): Promise<string[]> {
  return withSignals((signals) => run(scheduleId, reportedUntil, signals));
}

async function run(scheduleId: string, reportedUntil: number, signals: Signals): Promise<string[]> {
  let sequence = reportedUntil;
  let ran = 0;
  /** Results that no summary has reported yet. */
  let done: string[] = [];

  /** Has an activity do its step, and notes how the schedule stands after it. */
  async function take(step: RecurringStep, summary: string): Promise<ScheduleState> {
    signals.forget();
    const state = await step.executeWithOptions(local(after(done, summary)), [scheduleId, sequence]);
    ran += 1;
    sequence = state.sequence;
    done = [...state.did, ...state.told];
    setCurrentDetails(state.waitingFor);
    index(state);
    return state;
  }

  let state = await take(readSchedule, READ);
  for (;;) {
    const step = nextStep(state.facts);
    switch (step.do) {
      case 'charge':
        state = await take(chargeBilling, CHARGE);
        // Most banks have answered, and it is settled; else its row notes that the workflow waits.
        if (isAsked(state.facts.open)) state = await take(settleBilling, SETTLE);
        break;
      case 'expire':
      case 'succeed':
      case 'retry':
      case 'fail':
        state = await take(settleBilling, SETTLE);
        break;
      case 'skip':
        state = await take(skipBillings, SKIP);
        break;
      case 'notify':
        state = await take(giveNotice, NOTICE);
        break;
      case 'end':
        state = await take(endSchedule, END);
        break;
      case 'wait': {
        const inMs = step.until - state.facts.now + state.delayMs;
        const received = await signals.sleep(Math.min(inMs, MAX_SLEEP_MS), state.waitingFor, done);
        done = [];
        if (received.has(CANCELLATION)) state = await take(cancelSchedule, CANCEL);
        // Only here, where no request to cancel is left unread: the next run would not know of it.
        else if (ran >= ACTIVITIES_PER_RUN) return goOnInNextRun(scheduleId, sequence);
        else if (received.has('bankAnswered')) state = await take(settleBilling, SETTLE);
        else if (isOver(received, inMs) && isDue(state, step.until)) state = at(state, step.until);
        else state = await take(readSchedule, READ);
        break;
      }
      case 'nothing':
        return [...done, state.waitingFor];
    }
  }
}

type RecurringStep = (typeof steps)[keyof RecurringActivities];

async function goOnInNextRun(scheduleId: string, sequence: number): Promise<never> {
  await condition(allHandlersFinished);
  return continueAsNew<typeof recurring>(scheduleId, sequence);
}

/** The moment that was slept for has come: by the timer, or by a test clock that says so. */
function isOver(received: ReceivedSignals, inMs: number): boolean {
  return received.size === 0 ? inMs <= MAX_SLEEP_MS : received.size === 1 && received.has('fellDue');
}

/**
 * Something is done at that moment, which the activity itself finds due or not: no need to read.
 */
function isDue({ facts }: ScheduleState, moment: number): boolean {
  return nextStep({ ...facts, now: moment }).do !== 'wait';
}

const at = (state: ScheduleState, moment: number): ScheduleState => ({
  ...state,
  facts: { ...state.facts, now: moment },
});

/**
 * Updates the search attributes. Each change is an event in the history, so only changes are sent.
 * A billing's date stays until its bank has answered: a date gone by finds what waits.
 */
function index({ facts, nextBillingDate }: ScheduleState): void {
  const indexed = workflowInfo().typedSearchAttributes;
  const changed: SearchAttributeUpdatePair[] = [];
  if (indexed.get(SEARCH_ATTRIBUTE.status) !== facts.status) {
    changed.push({ key: SEARCH_ATTRIBUTE.status, value: facts.status });
  }
  const date = nextBillingDate === null ? null : new Date(nextBillingDate);
  const isMoved = indexed.get(SEARCH_ATTRIBUTE.nextBillingDate)?.getTime() !== date?.getTime();
  if (isMoved && !isAsked(facts.open)) {
    changed.push({ key: SEARCH_ATTRIBUTE.nextBillingDate, value: date });
  }
  if (changed.length > 0) upsertSearchAttributes(changed);
}
