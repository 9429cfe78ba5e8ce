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
import type { RecurringActivities } from '../activities/recurring';
import { local } from './local';
import { SEARCH_ATTRIBUTE } from './search-attributes';
import { listenForWakes } from './wake';

const { advance } = proxyLocalActivities<RecurringActivities>(
  local('Note how the last charge ended; do what is due; tell who has to hear'),
);

/**
 * Looks at the database in one run; then the workflow continues as new. A look leaves about ten events, so a
 * run stays near a thousand, which an operator can read and a worker replays in milliseconds.
 */
const LOOKS_PER_RUN = 100;

/**
 * Longest single sleep. A schedule of years would get by with fewer looks; one a month costs nothing, and is
 * what notices a changed setting, or a schedule that nobody woke.
 */
const MAX_SLEEP_MS = 30 * 86_400_000;

/**
 * One recurring schedule, from its creation to its end: sleeps until something is due, looks, and so on. Where
 * its merchant goes by real time, workers look ahead of it (`worker/due-watch.ts`), and its look confirms what they did or does what
 * they left; else it charges and takes note of answers by itself. No charge has a workflow of its own.
 *
 * It knows nothing but its id. What is due, and by whose clock, the database says at each look; a signal only
 * makes the next look come sooner.
 *
 * @param scheduleId the row is there before this starts
 */
export async function recurring(scheduleId: string): Promise<void> {
  const { workflowId } = workflowInfo();
  const wakes = listenForWakes();
  for (let looks = 0; looks < LOOKS_PER_RUN; looks++) {
    wakes.look();
    const { status, nextBillingDate, sleepMs, waitingFor } = await advance(scheduleId, workflowId);
    setCurrentDetails(waitingFor);
    index(status, nextBillingDate);
    if (sleepMs === null) return;
    await wakes.sleep(Math.min(sleepMs, MAX_SLEEP_MS), waitingFor);
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
