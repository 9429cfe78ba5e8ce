import {
  proxyLocalActivities,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { RefundActivities } from '../activities/refund';
import type { WebhookActivities } from '../activities/webhook';
import { after, local } from './local';
import { SEARCH_ATTRIBUTE } from './search-attributes';
import { hearingSignals, type Signals } from './signals';

const ASK = 'Ask the bank: refund.request';
const READ = 'See whether the bank has answered.';
const TELL = 'Tell the merchant: refund.response';
const REMIND = 'The bank is late: note that it is reminded.';
const SEND_REMINDER = 'Remind the bank: refund.request; the first time, tell the merchant: refund.response';

const { askBank, tellMerchant } = proxyLocalActivities<WebhookActivities>(local(ASK));
const { readRefund, remindBank } = proxyLocalActivities<RefundActivities>(local(READ));

/** For the operator who requests one. */
const REFUSAL =
  'Cancellation refused: only the bank knows whether the money has moved, so only its answer ends a refund.';

/**
 * One refund: asks the bank, reminds it when it is late, and tells the merchant how it ended. Only the bank can
 * end it, for only the bank knows whether the money has moved.
 *
 * @param refundId the row is there before this starts
 * @returns how it ended, and who was told, in words
 */
export async function refund(refundId: string): Promise<string[]> {
  return hearingSignals((signals) => run(signals, refundId), REFUSAL);
}

async function run(signals: Signals, refundId: string): Promise<string[]> {
  const { workflowId } = workflowInfo();
  let { told } = await askBank(workflowId);
  for (;;) {
    signals.forget();
    const { did, status, next } = await readRefund.executeWithOptions(local(after(told, READ)), [refundId]);
    if (next === null) {
      ({ told } = await tellMerchant.executeWithOptions(local(after([did], TELL)), [workflowId]));
      setCurrentDetails(did);
      upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.status, value: status }]);
      return [did, ...told];
    }
    told = [];
    if (next.inMs > 0) {
      setCurrentDetails(`Waiting for the bank. It is reminded ${next.at}.`);
      await signals.sleep(next.inMs, after([did], `It is reminded ${next.at}.`));
    } else {
      const reminded = await remindBank.executeWithOptions(local(REMIND), [refundId]);
      const summary = after([reminded.did], SEND_REMINDER);
      ({ told } = await askBank.executeWithOptions(local(summary), [workflowId]));
    }
  }
}
