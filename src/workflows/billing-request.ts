import {
  proxyLocalActivities,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { BillingRequestActivities } from '../activities/billing-request';
import type { WebhookActivities } from '../activities/webhook';
import { local } from './local';
import { SEARCH_ATTRIBUTE } from './search-attributes';
import { listenForWakes } from './wake';

const { settleRequests } = proxyLocalActivities<BillingRequestActivities>(
  local('Close what ran out of time; see what is still open'),
);
const { deliverFirstAttempts } = proxyLocalActivities<WebhookActivities>(
  local('First attempt of each new webhook'),
);

/**
 * One bill: a charge, or all the charges of one call.
 *
 * The rows are there before it starts and name this workflow's id. It asks the banks, waits for their answers or
 * for the windows to pass, and tells the merchant and the banks how each charge ended.
 */
export async function billingRequest(billingRequestIds: string[]): Promise<void> {
  const { workflowId } = workflowInfo();
  const wakes = listenForWakes();
  for (;;) {
    wakes.look();
    const { open, status, nextClose } = await settleRequests(billingRequestIds);
    await deliverFirstAttempts(workflowId);
    if (nextClose === null) {
      setCurrentDetails(`${status}: every charge of this call has ended.`);
      upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.status, value: status }]);
      return;
    }
    setCurrentDetails(`Waiting for the bank: ${open} open, next window closes ${nextClose.at}.`);
    await wakes.sleep(nextClose.inMs, `The bank may answer until ${nextClose.at}`);
  }
}
