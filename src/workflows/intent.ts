import { proxyLocalActivities } from '@temporalio/workflow';
import type { IntentActivities } from '../activities/intent';
import { bankQuestion, withinWords } from './bank-question';
import { local } from './local';

const ASK = 'Ask the bank: billing.intent';
const READ = 'See whether the customer has decided; decline the intent once its window has passed.';
const DELIVER =
  'Tell the merchant: billing.intent.response; and the bank that has not answered: billing.intent.closed.';
const REFUSAL =
  'Cancellation refused: the customer has been asked, and only the answer or the end of the window ends an intent.';

const { readDecision } = proxyLocalActivities<IntentActivities>(local(READ));

/**
 * One billing intent: asks the bank, and waits for the customer's decision or the end of the
 * window. The merchant is told how it ended, and so is a bank that did not answer.
 *
 * @param intentId the row is there before this starts
 * @returns how it ended, and who was told, in words
 */
export async function intent(intentId: string): Promise<string[]> {
  return bankQuestion(REFUSAL, async ({ ask, step, sleep, deliver }) => {
    await ask(['billing.intent'], ASK);
    for (;;) {
      const { did, status, closes } = await readDecision.executeWithOptions(step(READ), [intentId]);
      if (closes === null) {
        await deliver([did], ['billing.intent.response', 'billing.intent.closed'], DELIVER);
        return status;
      }
      await sleep(closes, `${did} The bank may answer ${withinWords(closes)}.`);
    }
  });
}
