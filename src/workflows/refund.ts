import {
  proxyLocalActivities,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { RefundActivities } from '../activities/refund';
import { local, tellUnlessTold } from './local';
import { SEARCH_ATTRIBUTE } from './search-attributes';
import { listenForWakes } from './wake';

const { settleRefund } = proxyLocalActivities<RefundActivities>(
  local('Remind the bank if it is late; tell who has to hear; see whether it has answered'),
);

/**
 * One refund: asks the bank, reminds it when it is late, and tells the merchant how it ended. Only the bank can
 * end it, for only the bank knows whether the money has moved.
 *
 * @param refundId the row is there before this starts
 */
export async function refund(refundId: string): Promise<void> {
  const { workflowId } = workflowInfo();
  const wakes = listenForWakes();
  for (;;) {
    wakes.look();
    const look = await settleRefund(refundId, workflowId);
    const { status, next } = look;
    await tellUnlessTold(look, workflowId);
    if (next === null) {
      setCurrentDetails(`The refund is ${status}.`);
      upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.status, value: status }]);
      return;
    }
    setCurrentDetails(`Waiting for the bank. It is reminded ${next.at}.`);
    await wakes.sleep(next.inMs, `The bank is reminded ${next.at}`);
  }
}
