import { proxyLocalActivities } from '@temporalio/workflow';
import type { Answers, BillingRequestActivities, Credits, EndedCharge } from '../activities/billing-request';
import type { WebhookType } from '../domain/webhook/webhook';
import { spanInWords } from '../domain/words/span';
import type { Moment } from '../domain/workflow/moment';
import { bankQuestion, withinWords } from './bank-question';
import { local } from './local';

const ASK = 'Ask the bank: billing.request';
const WAIT = 'Wait a moment for the bank’s answer.';
const CLOSE = 'Decline what the bank has not answered in time.';
const DELIVER = 'Tell the merchant: billing.response; and the bank that has not answered: billing.closed.';
const SEE = 'See whether the payee’s bank has heard of the money.';
const REFUSAL =
  'Cancellation refused: the bank has been asked, and only its answer, its merchant or the end of its window ends a charge.';

/**
 * Merchant and payee's bank are notified of an end, and the payer's bank of an end that it did not
 * cause.
 */
const ENDS: WebhookType[] = ['billing.response', 'billing.credit', 'billing.closed', 'exception.opened'];

const { awaitAnswer, closeWindow, awaitCredit } = proxyLocalActivities<BillingRequestActivities>(local(WAIT));

/**
 * One bill: a charge, or all the charges of one call.
 *
 * It asks the banks, and waits for their answers, for the merchant to cancel or for the windows to
 * pass. It tells the merchant and the banks how each charge ended. The rows are there before it
 * starts and name its id.
 *
 * @param billingRequestIds none where it takes up what another run has left: it finds the open ones
 * by its own id
 * @returns how each charge ended, and who was told, in words
 */
export async function billingRequest(billingRequestIds: string[]): Promise<string[]> {
  return bankQuestion(REFUSAL, async ({ workflowId, ask, step, sleep, deliver }) => {
    await ask(['billing.request'], ASK);
    // A run that was ended before may have left ends that it has not told.
    if (billingRequestIds.length === 0) await deliver([], ENDS, DELIVER);
    let answers = await awaitAnswer.executeWithOptions(step(WAIT), [billingRequestIds, workflowId]);
    const ends: EndedCharge[] = [];
    let credits: string[] = [];
    for (;;) {
      const { ended, open, closes } = answers;
      if (ended.length > 0) await deliver(ended.map(inWords), ENDS, DELIVER);
      ends.push(...ended);
      credits.push(...answers.credits);
      const { waiting, overdue } =
        credits.length > 0 ? await awaitCredit.executeWithOptions(step(SEE), [credits]) : NO_CREDITS;
      credits = waiting;
      const next = earlierOf(closes, overdue);
      if (next === null) return statusOf(ends);
      const received = await sleep(next, waitingInWords(answers, overdue));
      if (open.length === 0) answers = NO_ANSWERS;
      else if (received.size > 0)
        answers = await awaitAnswer.executeWithOptions(step(WAIT), [open, workflowId]);
      else answers = await closeWindow.executeWithOptions(step(CLOSE), [open]);
    }
  });
}

const NO_ANSWERS: Answers = { ended: [], open: [], onlyOpen: null, credits: [], closes: null };
const NO_CREDITS: Credits = { waiting: [], overdue: null };

function earlierOf(one: Moment | null, other: Moment | null): Moment | null {
  if (one === null || other === null) return one ?? other;
  return one.inMs < other.inMs ? one : other;
}

function waitingInWords({ open, onlyOpen, closes }: Answers, overdue: Moment | null): string {
  const asked = onlyOpen
    ? `the charge of ${onlyOpen.amount}, reference ${onlyOpen.reference}`
    : `${open.length} charges`;
  return [
    closes && `Waiting for ${onlyOpen?.bank ?? 'the banks'} to answer ${asked}: ${withinWords(closes)}.`,
    overdue && `The payee’s bank has not heard of its money, which is overdue at ${overdue.at}.`,
  ]
    .filter(Boolean)
    .join(' ');
}

function inWords({
  reference,
  amount,
  bank,
  status,
  declineReason,
  cancelledBy,
  afterS,
}: EndedCharge): string {
  const declined = cancelledBy ? `Cancelled by the ${cancelledBy}` : `Declined (${declineReason})`;
  const how = status === 'successful' ? `Approved by ${bank}` : declined;
  return `${how} after ${spanInWords(afterS * 1000)}: ${amount}, reference ${reference}.`;
}

/** Ends that no bank has caused, which an operator tells apart from a bank’s refusal. */
const OWN_ENDS = ['expired', 'not_delivered', 'cancelled'];

/** A list of workflows is read for trouble: one charge of a call that was not paid. */
function statusOf(ends: EndedCharge[]): string {
  const shown = ends.find(({ status }) => status !== 'successful') ?? ends[0];
  if (shown === undefined) return 'closed';
  return OWN_ENDS.find((own) => own === shown.declineReason) ?? shown.status;
}
