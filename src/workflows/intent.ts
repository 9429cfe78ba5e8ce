import {
  proxyLocalActivities,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { IntentActivities } from '../activities/intent';
import type { WebhookActivities } from '../activities/webhook';
import { after, local } from './local';
import { SEARCH_ATTRIBUTE } from './search-attributes';
import { hearingSignals, type Signals } from './signals';

const ASK = 'Ask the bank: billing.intent';
const READ = 'See whether the customer has decided; decline the intent once its window has passed.';
const TELL =
  'Tell the merchant: billing.intent.response; and the bank that has not answered: billing.intent.closed.';

const { askBank, tellMerchant } = proxyLocalActivities<WebhookActivities>(local(ASK));
const { readDecision } = proxyLocalActivities<IntentActivities>(local(READ));

/** For the operator who requests one. */
const REFUSAL =
  'Cancellation refused: the customer has been asked, and only the answer or the end of the window ends an intent.';

/**
 * One billing intent: asks the bank, waits for the customer's decision or for the window to pass, and tells
 * the merchant (and the bank, where it did not answer) how it ended.
 *
 * @param intentId the row is there before this starts
 * @returns how it ended, and who was told, in words
 */
export async function intent(intentId: string): Promise<string[]> {
  return hearingSignals((signals) => run(signals, intentId), REFUSAL);
}

async function run(signals: Signals, intentId: string): Promise<string[]> {
  const { workflowId } = workflowInfo();
  let { told } = await askBank(workflowId);
  for (;;) {
    signals.forget();
    const { did, status, closes } = await readDecision.executeWithOptions(local(after(told, READ)), [
      intentId,
    ]);
    if (closes === null) {
      ({ told } = await tellMerchant.executeWithOptions(local(after([did], TELL)), [workflowId]));
      setCurrentDetails(did);
      upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.status, value: status }]);
      return [did, ...told];
    }
    told = [];
    setCurrentDetails(`Waiting for the customer's decision. The window closes ${closes.at}.`);
    await signals.sleep(closes.inMs, after([did], `The bank may answer until ${closes.at}`));
  }
}
