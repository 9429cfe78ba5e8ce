import {
  proxyLocalActivities,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
  type LocalActivityOptions,
} from '@temporalio/workflow';
import type { WebhookActivities } from '../activities/webhook';
import type { WebhookType } from '../domain/webhook/webhook';
import { spanInWords } from '../domain/words/span';
import type { Moment } from '../domain/workflow/moment';
import { after, local } from './local';
import { SEARCH_ATTRIBUTE } from '../temporal/search-attribute-keys';
import { withSignals, type ReceivedSignals } from './signals';

/**
 * Said after a restart or a reset of the workflow, and where the receiver has no URL, or is
 * failing.
 */
const NOTHING_TO_SEND =
  'Nothing was left to send: it had been sent, goes on in a workflow of its own, or is in the feed alone.';

const { askBank, tellMerchant } = proxyLocalActivities<WebhookActivities>(local(''));

/**
 * The common part of a charge, an intent and a refund. A bank is asked, its answer is awaited, and
 * the merchant is told the outcome. Each step's summary first reports the step before.
 */
interface BankQuestion {
  workflowId: string;
  /** Sends the bank the webhooks of its types. */
  ask: (types: WebhookType[], summary: string) => Promise<void>;
  /** Options of the next step, which reads or changes the rows. */
  step: (summary: string) => LocalActivityOptions;
  /**
   * Sleeps until the moment or a signal; returns at once for a past moment, or a signal since the
   * last `ask` or `sleep`. The caller reads the rows afterwards.
   *
   * @returns the signals that came; none where the time is over
   */
  sleep: (until: Moment, waitsFor: string) => Promise<ReceivedSignals>;
  /** Sends the webhooks of the end, to the merchant and the other parties that must know it. */
  deliver: (how: string[], types: WebhookType[], summary: string) => Promise<void>;
}

/** The latest moment of an answer, for readers of the timer. */
export const withinWords = ({ inMs, at }: Moment) => `within ${spanInWords(inMs)}, until ${at}`;

/**
 * Runs the workflow of a question to a bank.
 *
 * @param refusal for the operator who requests its cancellation
 * @param run asks the bank and settles; returns the status that it ended with
 * @returns the outcome and its receivers, in words
 */
export async function bankQuestion(
  refusal: string,
  run: (question: BankQuestion) => Promise<string>,
): Promise<string[]> {
  const { workflowId } = workflowInfo();
  const said: string[] = [];
  /** Results that no summary has reported yet. */
  let done: string[] = [];

  function step(summary: string): LocalActivityOptions {
    const options = local(after(done, summary));
    done = [];
    return options;
  }

  return withSignals(async (signals) => {
    const status = await run({
      workflowId,
      step,
      async ask(types, summary) {
        const { told } = await askBank.executeWithOptions(step(summary), [workflowId, types]);
        done = told.length > 0 ? told : [NOTHING_TO_SEND];
        signals.forget();
      },
      async sleep(until, waitsFor) {
        setCurrentDetails(waitsFor);
        const received = await signals.sleep(until.inMs, waitsFor, done);
        done = [];
        signals.forget();
        return received;
      },
      async deliver(how, types, summary) {
        done = how;
        const { told } = await tellMerchant.executeWithOptions(step(summary), [workflowId, types]);
        done = told.length > 0 ? told : [NOTHING_TO_SEND];
        said.push(...how, ...done);
      },
    });
    setCurrentDetails(said.join('\n'));
    upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.status, value: status }]);
    return said;
  }, refusal);
}
