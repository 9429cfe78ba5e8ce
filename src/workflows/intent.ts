import {
  proxyLocalActivities,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { IntentActivities } from '../activities/intent';
import { local, tellUnlessTold } from './local';
import { SEARCH_ATTRIBUTE } from './search-attributes';
import { listenForWakes } from './wake';

const { settleIntent } = proxyLocalActivities<IntentActivities>(
  local('Decline it if its window has passed; tell who has to hear; see whether it is still open'),
);

/**
 * One billing intent: tells the bank, waits for the customer's decision or for the window to pass, and tells
 * the merchant (and the bank, where it did not answer) how it ended.
 *
 * @param intentId the row is there before this starts
 */
export async function intent(intentId: string): Promise<void> {
  const { workflowId } = workflowInfo();
  const wakes = listenForWakes();
  for (;;) {
    wakes.look();
    const look = await settleIntent(intentId, workflowId);
    const { status, closes } = look;
    await tellUnlessTold(look, workflowId);
    if (closes === null) {
      setCurrentDetails(`The intent is ${status}.`);
      upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.status, value: status }]);
      return;
    }
    setCurrentDetails(`Waiting for the customer's decision. The window closes ${closes.at}.`);
    await wakes.sleep(closes.inMs, `The bank may answer until ${closes.at}`);
  }
}
