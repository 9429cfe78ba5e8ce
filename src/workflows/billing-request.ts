import { proxyLocalActivities } from '@temporalio/workflow';
import type { Answers, BillingRequestActivities, EndedCharge } from '../activities/billing-request';
import type { WebhookType } from '../domain/webhook/webhook';
import { spanInWords } from '../domain/words/span';
import type { Moment } from '../domain/workflow/moment';
import { bankQuestion, withinWords, type BankQuestion } from './bank-question';
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
 * It asks the banks, waits for their answers, and then for the credits of payments between
 * customers. The rows are there before it starts and name its id.
 *
 * @param billingRequestIds none where it takes up what another run has left: it finds the open ones
 * by its own id
 * @returns how each charge ended, and who was told, in words
 */
export async function billingRequest(billingRequestIds: string[]): Promise<string[]> {
  return bankQuestion(REFUSAL, async (question) => {
    await question.ask(['billing.request'], ASK);
    // A run that was ended before may have left ends that it has not told.
    if (billingRequestIds.length === 0) await question.deliver([], ENDS, DELIVER);
    const ends = await untilAllHaveEnded(billingRequestIds, question);
    await untilAllAreCredited(ends, question);
    return statusOf(ends);
  });
}

/**
 * Waits for the banks to answer, for the merchant to cancel or for the windows to pass. The
 * merchant and the banks are told of each end as it comes.
 */
async function untilAllHaveEnded(
  billingRequestIds: string[],
  { workflowId, step, sleep, deliver }: BankQuestion,
): Promise<EndedCharge[]> {
  const ends: EndedCharge[] = [];
  let answers = await awaitAnswer.executeWithOptions(step(WAIT), [billingRequestIds, workflowId]);
  for (;;) {
    const { ended, open, closes } = answers;
    if (ended.length > 0) await deliver(ended.map(inWords), ENDS, DELIVER);
    ends.push(...ended);
    if (closes === null) return ends;
    const received = await sleep(closes, waitingInWords(answers, closes));
    answers =
      received.size > 0
        ? await awaitAnswer.executeWithOptions(step(WAIT), [open, workflowId])
        : await closeWindow.executeWithOptions(step(CLOSE), [open]);
  }
}

/**
 * Waits for the payees' banks to hear of the money of payments between customers. No credit is
 * overdue before all charges of its call have ended: it has a day, and `APPROVAL_WINDOW_S` no more.
 */
async function untilAllAreCredited(ends: EndedCharge[], { step, sleep }: BankQuestion): Promise<void> {
  let waiting = ends.filter(({ creditWaits }) => creditWaits).map((end) => end.billingRequestId);
  while (waiting.length > 0) {
    const credits = await awaitCredit.executeWithOptions(step(SEE), [waiting]);
    const { overdue } = credits;
    if (overdue === null) return;
    await sleep(overdue, `The payee’s bank has not heard of its money, which is overdue at ${overdue.at}.`);
    waiting = credits.waiting;
  }
}

function waitingInWords({ open, onlyOpen }: Answers, closes: Moment): string {
  const asked = onlyOpen
    ? `the charge of ${onlyOpen.amount}, reference ${onlyOpen.reference}`
    : `${open.length} charges`;
  return `Waiting for ${onlyOpen?.bank ?? 'the banks'} to answer ${asked}: ${withinWords(closes)}.`;
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
