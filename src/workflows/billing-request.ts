import {
  proxyLocalActivities,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { BillingRequestActivities } from '../activities/billing-request';
import { local, tellUnlessTold } from './local';
import { SEARCH_ATTRIBUTE } from './search-attributes';
import { listenForWakes } from './wake';

const { settleRequests } = proxyLocalActivities<BillingRequestActivities>(
  local('Close what ran out of time; tell who has to hear; see what is still open'),
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
    const look = await settleRequests(billingRequestIds, workflowId);
    const { open, status, nextClose } = look;
    await tellUnlessTold(look, workflowId);
    if (nextClose === null) {
      setCurrentDetails(`${status}: every charge of this call has ended.`);
      upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.status, value: status }]);
      return;
    }
    setCurrentDetails(`Waiting for the bank: ${open} open, next window closes ${nextClose.at}.`);
    await wakes.sleep(nextClose.inMs, `The bank may answer until ${nextClose.at}`);
  }
}
