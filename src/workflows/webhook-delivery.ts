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
import { withSignals, type Signals } from './signals';

const { attemptDelivery } = proxyActivities<WebhookActivities>({
  // The longest time-out that can be set for a receiver is 60 s; the rest is for the database.
  startToCloseTimeout: '75s',
  // A worker that died is noticed sooner than that.
  heartbeatTimeout: '10s',
  // A receiver's failure is an answer, not an error. Retries are for Postgres being away, however
  // long: the delivery has its own end, and giving up before it would lose the message.
  retry: { initialInterval: '1s', maximumInterval: '1m' },
});

type Failed = Extract<AttemptResult, { status: 'failed' }>;

/** For the operator who requests one. */
const REFUSAL =
  'Cancellation refused: a webhook is given up after its last attempt, or when its receiver answers 410.';

/**
 * A webhook that was not delivered at the first attempt, or got none. Attempts end when it is
 * delivered, when the table of retries ends, or when its receiver is gone (410).
 *
 * A signal makes the workflow read the row, which says when the next attempt is due. A redelivery
 * after the end starts another run.
 *
 * @param progress left by the latest attempt; without it, the first attempt of this run comes now
 */
export async function webhookDelivery(
  deliveryId: string,
  progress?: DeliveryProgress,
): Promise<'delivered' | 'failed'> {
  return withSignals((signals) => run(signals, deliveryId, progress), REFUSAL);
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
      const received = await signals.sleep(retryInMs, `${why}; ${then}, in ${spanInWords(retryInMs)}.`);
      signalled = received.size > 0;
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
    } else if (signals.receivedAny()) {
      // A redelivery was requested during the attempt. The database knows whether the attempt
      // answered it.
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
