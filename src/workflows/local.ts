import type { LocalActivityOptions } from '@temporalio/workflow';

/**
 * In characters: Temporal takes 400 bytes. What is said here has few characters of more than one.
 */
const SUMMARY_MAX = 200;

/**
 * A summary that first says what came of the step before. The Temporal UI shows summaries in its
 * rows, and results only to who opens them.
 *
 * @param done cut where all of it would be too long
 */
export function after(done: readonly string[], next: string): string {
  const before = done.join(' ');
  const room = SUMMARY_MAX - next.length - 1;
  if (before === '' || room <= 0) return next;
  return `${before.length > room ? `${before.slice(0, room - 1)}…` : before} ${next}`;
}

/**
 * How short effects run: inside the worker that runs the workflow, at the price of one history
 * event.
 *
 * They are retried without end, for what they wait for (Postgres, above all) comes back, and until
 * then nothing is lost. The first retries come quickly; later ones as durable timers of six events
 * each. With one every two minutes an outage of a day adds about four thousand, and Temporal ends a
 * workflow at 51 200.
 */
export function local(summary: string): LocalActivityOptions {
  return {
    summary,
    startToCloseTimeout: '15s',
    localRetryThreshold: '5s',
    retry: { initialInterval: '100ms', backoffCoefficient: 3, maximumInterval: '2m' },
  };
}
