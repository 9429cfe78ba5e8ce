import {
  proxyLocalActivities,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { Answers, BillingRequestActivities, Credits, EndedCharge } from '../activities/billing-request';
import type { WebhookActivities } from '../activities/webhook';
import type { Moment } from '../domain/moment';
import { local } from './local';
import { SEARCH_ATTRIBUTE } from './search-attributes';
import { hearingSignals, type Signals } from './signals';

const { askBank } = proxyLocalActivities<WebhookActivities>(local('Ask the bank: billing.request'));
const { awaitAnswer } = proxyLocalActivities<BillingRequestActivities>(
  local('Wait a moment for the bank’s answer'),
);
const { closeWindow } = proxyLocalActivities<BillingRequestActivities>(
  local('Decline what the bank has not answered in time'),
);
const { tellMerchant } = proxyLocalActivities<WebhookActivities>(
  local('Tell the merchant: billing.response; and the bank, where it has not answered: billing.closed'),
);
const { awaitCredit } = proxyLocalActivities<BillingRequestActivities>(
  local('See whether the payee’s bank has heard of the money'),
);

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
 * @returns how each charge ended
 */
export async function billingRequest(billingRequestIds: string[]): Promise<EndedCharge[]> {
  return hearingSignals((signals) => run(signals, billingRequestIds), REFUSAL);
}

async function run(signals: Signals, billingRequestIds: string[]): Promise<EndedCharge[]> {
  const { workflowId } = workflowInfo();
  await askBank(workflowId);
  signals.forget();
  let answers = await awaitAnswer(billingRequestIds, workflowId);
  const ends: EndedCharge[] = [];
  let credits: string[] = [];
  for (;;) {
    const { ended, open, closes } = answers;
    if (ended.length > 0) await tellMerchant(workflowId);
    ends.push(...ended);
    credits.push(...answers.credits);
    const { waiting, overdue } = credits.length > 0 ? await awaitCredit(credits) : NO_CREDITS;
    credits = waiting;
    const next = earlierOf(closes, overdue);
    if (next === null) return end(ends);
    const waitsFor = inWords(answers, overdue);
    setCurrentDetails(waitsFor);
    const heard = await signals.sleep(next.inMs, waitsFor);
    signals.forget();
    if (open.length === 0) answers = NO_ANSWERS;
    else answers = heard.size > 0 ? await awaitAnswer(open, workflowId) : await closeWindow(open);
  }
}

const NO_ANSWERS: Answers = { ended: [], open: [], credits: [], closes: null };
const NO_CREDITS: Credits = { waiting: [], overdue: null };

function earlierOf(one: Moment | null, other: Moment | null): Moment | null {
  if (one === null || other === null) return one ?? other;
  return one.inMs < other.inMs ? one : other;
}

function inWords({ open, closes }: Answers, overdue: Moment | null): string {
  return [
    closes && `${open.length} open: a bank may answer until ${closes.at}.`,
    overdue && `The payee’s bank has not heard of its money, which is overdue at ${overdue.at}.`,
  ]
    .filter(Boolean)
    .join(' ');
}

function end(ends: EndedCharge[]): EndedCharge[] {
  const [first] = ends;
  const status = ends.length === 1 && first !== undefined ? first.status : 'closed';
  setCurrentDetails(
    ends
      .map(({ reference, status: how, declineReason, afterS }) =>
        [reference, how, declineReason, `after ${afterS} s`].filter(Boolean).join(' '),
      )
      .join('\n'),
  );
  upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.status, value: status }]);
  return ends;
}
