import {
  proxyLocalActivities,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { IntentActivities } from '../activities/intent';
import type { WebhookActivities } from '../activities/webhook';
import { local } from './local';
import { SEARCH_ATTRIBUTE } from './search-attributes';
import { hearingSignals, type Signals } from './signals';

const { askBank } = proxyLocalActivities<WebhookActivities>(local('Ask the bank: billing.intent'));
const { readDecision } = proxyLocalActivities<IntentActivities>(
  local('See whether the customer has decided; decline the intent once its window has passed'),
);
const { tellMerchant } = proxyLocalActivities<WebhookActivities>(
  local(
    'Tell the merchant: billing.intent.response; and the bank, where it has not answered: billing.intent.closed',
  ),
);

/** For the operator who requests one. */
const REFUSAL =
  'Cancellation refused: the customer has been asked, and only the answer or the end of the window ends an intent.';

/**
 * One billing intent: asks the bank, waits for the customer's decision or for the window to pass, and tells
 * the merchant (and the bank, where it did not answer) how it ended.
 *
 * @param intentId the row is there before this starts
 */
export async function intent(intentId: string): Promise<void> {
  return hearingSignals((signals) => run(signals, intentId), REFUSAL);
}

async function run(signals: Signals, intentId: string): Promise<void> {
  const { workflowId } = workflowInfo();
  await askBank(workflowId);
  for (;;) {
    signals.forget();
    const { status, closes } = await readDecision(intentId);
    if (closes === null) {
      await tellMerchant(workflowId);
      setCurrentDetails(`The intent is ${status}.`);
      upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.status, value: status }]);
      return;
    }
    setCurrentDetails(`Waiting for the customer's decision. The window closes ${closes.at}.`);
    await signals.sleep(closes.inMs, `The bank may answer until ${closes.at}`);
  }
}
