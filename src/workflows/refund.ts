import {
  proxyLocalActivities,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { RefundActivities } from '../activities/refund';
import type { WebhookActivities } from '../activities/webhook';
import { local } from './local';
import { SEARCH_ATTRIBUTE } from './search-attributes';
import { hearingSignals, type Signals } from './signals';

const { askBank } = proxyLocalActivities<WebhookActivities>(local('Ask the bank: refund.request'));
const { readRefund, remindBank } = proxyLocalActivities<RefundActivities>(
  local('See whether the bank has answered'),
);
const { tellMerchant } = proxyLocalActivities<WebhookActivities>(local('Tell the merchant: refund.response'));
const REMIND = local('The bank is late: note that it is reminded');
const SEND_REMINDER = local(
  'Remind the bank: refund.request; the first time, tell the merchant: refund.response',
);

/** For the operator who requests one. */
const REFUSAL =
  'Cancellation refused: only the bank knows whether the money has moved, so only its answer ends a refund.';

/**
 * One refund: asks the bank, reminds it when it is late, and tells the merchant how it ended. Only the bank can
 * end it, for only the bank knows whether the money has moved.
 *
 * @param refundId the row is there before this starts
 */
export async function refund(refundId: string): Promise<void> {
  return hearingSignals((signals) => run(signals, refundId), REFUSAL);
}

async function run(signals: Signals, refundId: string): Promise<void> {
  const { workflowId } = workflowInfo();
  await askBank(workflowId);
  for (;;) {
    signals.forget();
    const { status, next } = await readRefund(refundId);
    if (next === null) {
      await tellMerchant(workflowId);
      setCurrentDetails(`The refund is ${status}.`);
      upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.status, value: status }]);
      return;
    }
    if (next.inMs > 0) {
      setCurrentDetails(`Waiting for the bank. It is reminded ${next.at}.`);
      await signals.sleep(next.inMs, `The bank is reminded ${next.at}`);
    } else {
      await remindBank.executeWithOptions(REMIND, [refundId]);
      await askBank.executeWithOptions(SEND_REMINDER, [workflowId]);
    }
  }
}
