import {
  allHandlersFinished,
  continueAsNew,
  proxyActivities,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { counted } from '../domain/words/counted';
import { spanInWords } from '../domain/words/span';
import type { AttemptResult, WebhookActivities } from '../activities/webhook';
import type { DeliveryProgress } from '../domain/workflow/messages';
import { SEARCH_ATTRIBUTE } from '../temporal/search-attribute-keys';
import { hearingSignals, type Signals } from './signals';

const { attemptDelivery } = proxyActivities<WebhookActivities>({
  // The longest time-out that can be set for a receiver is 60 s; the rest is for the database.
  startToCloseTimeout: '75s',
  // A worker that died is noticed sooner than that.
  heartbeatTimeout: '10s',
  // A receiver's failure is an answer, not an error. What is retried here is Postgres being away,
  // for as long as it is: the delivery has its own end, and giving up before it would lose the
  // message.
  retry: { initialInterval: '1s', maximumInterval: '1m' },
});

type Failed = Extract<AttemptResult, { status: 'failed' }>;

/** For the operator who requests one. */
const REFUSAL =
  'Cancellation refused: a webhook is given up after its last attempt, or when its receiver answers 410.';

/**
 * One webhook that was not delivered at the first attempt, or got none: it is tried until it is
 * delivered, the table of retries is at its end, or the receiver says that it is gone (410).
 *
 * A signal has the row read, which says whether the next attempt is due: at once where somebody has
 * asked for it. Otherwise it sleeps on until then. Sent again by hand after its end, a delivery has
 * another run.
 *
 * @param progress what the attempt in passing left behind; without it, the first attempt of this
 *   run comes now
 */
export async function webhookDelivery(
  deliveryId: string,
  progress?: DeliveryProgress,
): Promise<'delivered' | 'failed'> {
  return hearingSignals((signals) => run(signals, deliveryId, progress), REFUSAL);
}

async function run(
  signals: Signals,
  deliveryId: string,
  progress?: DeliveryProgress,
): Promise<'delivered' | 'failed'> {
  let next = progress;
  let signalled = false;
  for (;;) {
    if (next) {
      const { webhookType, why, attempts, maxAttempts, retryInMs } = next;
      const at = new Date(Date.now() + retryInMs).toISOString();
      const then = `attempt ${attempts + 1} of ${maxAttempts} at ${at}`;
      setCurrentDetails(
        `${webhookType} is not delivered yet: ${why}. ${attempts} of ${maxAttempts} attempts made; ${then}.`,
      );
      const heard = await signals.sleep(retryInMs, `${why}; ${then}, in ${spanInWords(retryInMs)}.`);
      signalled = heard.size > 0;
      if (workflowInfo().continueAsNewSuggested && allHandlersFinished()) {
        await continueAsNew<typeof webhookDelivery>(deliveryId, { ...next, retryInMs: 0 });
      }
    }
    signals.forget();
    const summary = next ? `attempt ${next.attempts + 1} of ${next.maxAttempts}` : 'attempt at once';
    const result = await attemptDelivery.executeWithOptions(
      { summary: signalled ? `${summary}, if it is due or was asked for` : summary },
      [deliveryId],
    );
    if (result.status === 'pending') {
      next = result;
    } else if (signals.heardAny()) {
      // Asked for once more while the attempt was being made. Whether that was the answer, the
      // database knows.
      next = undefined;
    } else {
      setCurrentDetails(
        result.status === 'delivered' ? `Delivered at attempt ${result.attempts}.` : failedInWords(result),
      );
      upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.status, value: result.status }]);
      return result.status;
    }
  }
}

function failedInWords({ webhookType, attempts, why }: Failed): string {
  const because = why === null ? '' : `: ${why}`;
  return `${webhookType} failed after ${counted(attempts, 'attempts')}${because}. It can be sent again by hand.`;
}
