import { proxyLocalActivities } from '@temporalio/workflow';
import type { RefundActivities } from '../activities/refund';
import { bankQuestion } from './bank-question';
import { after, local } from './local';

const ASK = 'Ask the bank: refund.request';
const READ = 'See whether the bank has answered.';
const DELIVER = 'Tell the merchant: refund.response';
const REMIND = 'The bank is late: note that it is reminded.';
const SEND_REMINDER = 'Remind the bank: refund.request; the first time, tell the merchant: refund.response';
const REFUSAL =
  'Cancellation refused: only the bank knows whether the money has moved, so only its answer ends a refund.';

const { readRefund, remindBank } = proxyLocalActivities<RefundActivities>(local(READ));

/**
 * One refund: asks the bank, reminds it when it is late, and tells the merchant how it ended. Only
 * the bank can end it, for only the bank knows whether the money has moved.
 *
 * @param refundId the row is there before this starts
 * @returns how it ended, and who was told, in words
 */
export async function refund(refundId: string): Promise<string[]> {
  return bankQuestion(REFUSAL, async ({ ask, step, sleep, deliver }) => {
    await ask(['refund.request'], ASK);
    for (;;) {
      const { did, status, reminders, next } = await readRefund.executeWithOptions(step(READ), [refundId]);
      if (next === null) {
        await deliver([did], ['refund.response'], DELIVER);
        return status;
      }
      const received = await sleep(
        next,
        `${did} ${reminders === 0 ? 'First' : 'Next'} reminder at ${next.at}.`,
      );
      if (received.size > 0 && !received.has('foundOverdue')) continue;
      const reminded = await remindBank.executeWithOptions(step(REMIND), [refundId]);
      // Also where nothing was due: a worker may have died between the note and the sending.
      await ask(['refund.request', 'refund.response'], after([reminded.did], SEND_REMINDER));
    }
  });
}
