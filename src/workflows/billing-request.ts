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
export async function billingRequest(): Promise<void> {
  const { workflowId } = workflowInfo();
  const wakes = listenForWakes();
  await deliverFirstAttempts(workflowId);
  for (;;) {
    wakes.look();
    const { open, status, closesInMs } = await settleRequests(workflowId);
    if (open === 0) {
      await deliverFirstAttempts(workflowId);
      setCurrentDetails(`${status}: every charge of this call has ended.`);
      upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.status, value: status }]);
      return;
    }
    setCurrentDetails(`Waiting for the bank: ${open} open. The next window closes in ${closesInMs} ms.`);
    await wakes.sleep(closesInMs, 'The bank may answer until its window closes');
    await deliverFirstAttempts(workflowId);
  }
}
