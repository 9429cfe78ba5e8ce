import { proxyLocalActivities, type LocalActivityOptions } from '@temporalio/workflow';
import type { Told } from '../activities/telling';
import type { WebhookActivities } from '../activities/webhook';

/**
 * How short effects run: inside the worker that runs the workflow, at the price of one history event.
 *
 * They are retried without end, for what they wait for (Postgres, above all) comes back, and until then
 * nothing is lost. The first retries come quickly; later ones as durable timers of six events each. With one
 * every two minutes an outage of a day adds about four thousand, and Temporal ends a workflow at 51 200.
 */
export function local(summary: string): LocalActivityOptions {
  return {
    summary,
    startToCloseTimeout: '15s',
    localRetryThreshold: '5s',
    retry: { initialInterval: '100ms', backoffCoefficient: 3, maximumInterval: '2m' },
  };
}

const { deliverFirstAttempts } = proxyLocalActivities<WebhookActivities>(
  local('First attempt of each new webhook'),
);

/**
 * Sends what a look left unsent. Looks tell by themselves now; those in histories from before have no `told`, and the
 * workflows they belong to go on as they began.
 */
export async function tellUnlessTold({ told }: Partial<Told>, carrier: string): Promise<void> {
  if (!told) await deliverFirstAttempts(carrier);
}
