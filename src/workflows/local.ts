import type { LocalActivityOptions } from '@temporalio/workflow';

/** Temporal takes 400 bytes, with its own description of the text. */
const SUMMARY_MAX_BYTES = 340;

/**
 * A summary that first reports the step before. The Temporal UI shows summaries in its rows, and
 * results only after a click.
 *
 * @param done as many of its first sentences as there is room for
 */
export function after(done: readonly string[], next: string): string {
  const said: string[] = [];
  for (const sentence of done) {
    if (bytesOf([...said, sentence, next].join(' ')) > SUMMARY_MAX_BYTES) break;
    said.push(sentence);
  }
  return [...said, next].join(' ');
}

const utf8 = new TextEncoder();
const bytesOf = (text: string) => utf8.encode(text).length;

/**
 * Options of short effects, which run inside the workflow's worker, for a single history event
 * each.
 *
 * Retries have no end: an effect waits for Postgres above all, which comes back, and until then
 * nothing is lost. The first retries come quickly; later ones are durable timers of six events
 * each. At a timer every two minutes an outage of a day adds about four thousand events, and
 * Temporal ends a workflow at 51 200.
 */
export function local(summary: string): LocalActivityOptions {
  return {
    summary,
    startToCloseTimeout: '15s',
    localRetryThreshold: '5s',
    retry: { initialInterval: '100ms', backoffCoefficient: 3, maximumInterval: '2m' },
  };
}
