import type { LocalActivityOptions } from '@temporalio/workflow';

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
