import {
  continueAsNew,
  proxyActivities,
  setCurrentDetails,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { SandboxClockActivities } from '../activities/sandbox-clock';
import { SEARCH_ATTRIBUTE } from '../temporal/search-attribute-keys';

const { moveClock } = proxyActivities<SandboxClockActivities>({
  summary: 'Move from moment to moment at which something is due; wait at each until it is done',
  // Thousands of charges may be due at one moment. A worker that died is noticed by its missing
  // heartbeat.
  startToCloseTimeout: '1h',
  heartbeatTimeout: '15s',
  retry: { initialInterval: '100ms', maximumInterval: '10s' },
});

/**
 * Calls in one run; then the workflow continues as new. Each leaves six events and takes some
 * seconds, so that ten years of daily charges, the longest advance, are a readable history.
 */
const CALLS_PER_RUN = 300;

/**
 * One advance of a test clock: from moment to moment at which something is due, to its target.
 *
 * @param billerId whose clock it is; where it goes, and how far it has come, is in the database
 */
export async function sandboxClock(billerId: string): Promise<void> {
  for (let calls = 0; calls < CALLS_PER_RUN; calls++) {
    const { now, target } = await moveClock(billerId);
    if (target === null) {
      setCurrentDetails(`The clock has arrived at ${now}.`);
      upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.status, value: 'ready' }]);
      return;
    }
    setCurrentDetails(`The clock is at ${now}, on its way to ${target}.`);
  }
  await continueAsNew<typeof sandboxClock>(billerId);
}
