import {
  proxyLocalActivities,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
  type LocalActivityOptions,
} from '@temporalio/workflow';
import type { WebhookActivities } from '../activities/webhook';
import { spanInWords } from '../domain/words/span';
import type { Moment } from '../domain/workflow/moment';
import { after, local } from './local';
import { SEARCH_ATTRIBUTE } from '../temporal/search-attribute-keys';
import { hearingSignals, type Heard } from './signals';

/**
 * Of a run that was started again, or reset; and where the receiver has no URL, or is failing.
 */
const NOTHING_TO_SEND =
  'Nothing was left to send: it had been sent, goes on in a workflow of its own, or is in the feed alone.';

const { askBank, tellMerchant } = proxyLocalActivities<WebhookActivities>(local(''));

/**
 * What a charge, an intent and a refund have in common: a bank is asked, its answer is waited for,
 * and the merchant is told how it ended. Each step's summary first says what came of the step
 * before.
 */
export interface BankQuestion {
  workflowId: string;
  /** Sends the bank what has been announced to it. */
  ask: (summary: string) => Promise<void>;
  /** How the next step runs: one that reads or changes the rows. */
  step: (summary: string) => LocalActivityOptions;
  /**
   * Sleeps until the moment or a signal; not at all where it has come, or one came since the last
   * `ask` or `sleep`. The rows are read after it.
   *
   * @returns the signals that came; none where the time is over
   */
  sleep: (until: Moment, waitsFor: string) => Promise<Heard>;
  /** Sends the merchant, or whoever else is to know it, how something has ended. */
  deliver: (how: string[], summary: string) => Promise<void>;
}

/** Until when something may come, for who reads the timer. */
export const withinWords = ({ inMs, at }: Moment) => `within ${spanInWords(inMs)}, until ${at}`;

/**
 * Runs the workflow of a question to a bank.
 *
 * @param refusal for the operator who requests its cancellation
 * @param run the story; it returns the status that it ended with
 * @returns how it ended, and who was told, in words
 */
export async function bankQuestion(
  refusal: string,
  run: (question: BankQuestion) => Promise<string>,
): Promise<string[]> {
  const { workflowId } = workflowInfo();
  const said: string[] = [];
  /** What has been done and not been said in a summary. */
  let done: string[] = [];

  function step(summary: string): LocalActivityOptions {
    const options = local(after(done, summary));
    done = [];
    return options;
  }

  return hearingSignals(async (signals) => {
    const status = await run({
      workflowId,
      step,
      async ask(summary) {
        const { told } = await askBank.executeWithOptions(step(summary), [workflowId]);
        done = told.length > 0 ? told : [NOTHING_TO_SEND];
        signals.forget();
      },
      async sleep(until, waitsFor) {
        setCurrentDetails(waitsFor);
        const heard = await signals.sleep(until.inMs, waitsFor, done);
        done = [];
        signals.forget();
        return heard;
      },
      async deliver(how, summary) {
        done = how;
        const { told } = await tellMerchant.executeWithOptions(step(summary), [workflowId]);
        done = told.length > 0 ? told : [NOTHING_TO_SEND];
        said.push(...how, ...done);
      },
    });
    setCurrentDetails(said.join('\n'));
    upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.status, value: status }]);
    return said;
  }, refusal);
}
