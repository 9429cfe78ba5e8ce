import {
  proxyLocalActivities,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { Answers, BillingRequestActivities, Credits, EndedCharge } from '../activities/billing-request';
import type { WebhookActivities } from '../activities/webhook';
import type { Moment } from '../domain/moment';
import { after, local } from './local';
import { SEARCH_ATTRIBUTE } from './search-attributes';
import { hearingSignals, type Signals } from './signals';

const ASK = 'Ask the bank: billing.request';
const WAIT = 'Wait a moment for the bank’s answer.';
const CLOSE = 'Decline what the bank has not answered in time.';
const TELL = 'Tell the merchant: billing.response; and the bank that has not answered: billing.closed.';
const SEE = 'See whether the payee’s bank has heard of the money.';

const { askBank, tellMerchant } = proxyLocalActivities<WebhookActivities>(local(ASK));
const { awaitAnswer, closeWindow, awaitCredit } = proxyLocalActivities<BillingRequestActivities>(local(WAIT));

/** For the operator who requests one. */
const REFUSAL =
  'Cancellation refused: the bank has been asked, and only its answer or the end of its window ends a charge.';

/**
 * One bill: a charge, or all the charges of one call.
 *
 * It asks the banks, waits for their answers or for the windows to pass, and tells the merchant and the banks how each
 * charge ended. The rows are there before it starts and name its id.
 *
 * @param billingRequestIds none where it takes up what another run has left: it finds the open ones by its own id
 * @returns how each charge ended, and who was told, in words
 */
export async function billingRequest(billingRequestIds: string[]): Promise<string[]> {
  return hearingSignals((signals) => run(signals, billingRequestIds), REFUSAL);
}

async function run(signals: Signals, billingRequestIds: string[]): Promise<string[]> {
  const { workflowId } = workflowInfo();
  const asked = await askBank(workflowId);
  signals.forget();
  let answers = await awaitAnswer.executeWithOptions(local(after(asked.told, WAIT)), [
    billingRequestIds,
    workflowId,
  ]);
  const ends: EndedCharge[] = [];
  const said: string[] = [];
  let credits: string[] = [];
  for (;;) {
    const { ended, open, closes } = answers;
    if (ended.length > 0) {
      const how = ended.map(inWords);
      const { told } = await tellMerchant.executeWithOptions(local(after(how, TELL)), [workflowId]);
      said.push(...how, ...told);
    }
    ends.push(...ended);
    credits.push(...answers.credits);
    const { waiting, overdue } =
      credits.length > 0 ? await awaitCredit.executeWithOptions(local(SEE), [credits]) : NO_CREDITS;
    credits = waiting;
    const next = earlierOf(closes, overdue);
    if (next === null) return end(ends, said);
    const waitsFor = waitingInWords(answers, overdue);
    setCurrentDetails(waitsFor);
    const heard = await signals.sleep(next.inMs, waitsFor);
    signals.forget();
    if (open.length === 0) answers = NO_ANSWERS;
    else if (heard.size > 0) answers = await awaitAnswer(open, workflowId);
    else answers = await closeWindow.executeWithOptions(local(CLOSE), [open]);
  }
}

const NO_ANSWERS: Answers = { ended: [], open: [], credits: [], closes: null };
const NO_CREDITS: Credits = { waiting: [], overdue: null };

function earlierOf(one: Moment | null, other: Moment | null): Moment | null {
  if (one === null || other === null) return one ?? other;
  return one.inMs < other.inMs ? one : other;
}

function waitingInWords({ open, closes }: Answers, overdue: Moment | null): string {
  return [
    closes &&
      `The bank’s answer to ${open.length === 1 ? 'the charge' : `${open.length} charges`}, until ${closes.at}.`,
    overdue && `The payee’s bank has not heard of its money, which is overdue at ${overdue.at}.`,
  ]
    .filter(Boolean)
    .join(' ');
}

function inWords({ reference, amount, status, declineReason, afterS }: EndedCharge): string {
  const how = status === 'successful' ? 'Approved by the bank' : `Declined (${declineReason})`;
  return `${how} after ${afterS} s: ${amount}, reference ${reference}.`;
}

function end(ends: EndedCharge[], said: string[]): string[] {
  const [first] = ends;
  const status = ends.length === 1 && first !== undefined ? first.status : 'closed';
  setCurrentDetails(said.join('\n'));
  upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.status, value: status }]);
  return said;
}
