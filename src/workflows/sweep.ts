import {
  ApplicationFailure,
  isCancellation,
  proxyLocalActivities,
  setCurrentDetails,
} from '@temporalio/workflow';
import type { SweepActivities } from '../activities/sweep';
import { SWEPT } from '../domain/workflow/messages';

const { sweepAway } = proxyLocalActivities<SweepActivities>({
  // The batches of a kind take some seconds.
  startToCloseTimeout: '1m',
  // An outage of Postgres is waited for, since each run that failed would stay in the Temporal UI.
  // All ten kinds have their time within the run's two hours; no other run starts meanwhile.
  scheduleToCloseTimeout: '10m',
  retry: { initialInterval: '1s', maximumInterval: '30s' },
  // A longer wait is a timer, and holds no slot of the worker.
  localRetryThreshold: '5s',
});

/**
 * Runs once a minute, by a Temporal Schedule, and sweeps each kind away. An error of one kind does
 * not stop the others; it fails the run at its end.
 *
 * @returns what is left, in words, for readers of the Temporal UI
 */
export async function sweep(): Promise<string> {
  const left: string[] = [];
  const failed: string[] = [];
  for (const kind of SWEPT) {
    try {
      if (await sweepAway.executeWithOptions({ summary: `Sweep ${kind}` }, [kind])) left.push(kind);
    } catch (error) {
      if (isCancellation(error)) throw error;
      failed.push(kind);
    }
  }
  if (failed.length > 0)
    throw ApplicationFailure.nonRetryable(`An error stopped the sweep of ${failed.join(', ')}.`);
  const said = left.length > 0 ? `The next run goes on with ${left.join(', ')}.` : 'Nothing expired is left.';
  setCurrentDetails(said);
  return said;
}
