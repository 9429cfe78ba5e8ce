import type { LocalActivityOptions } from '@temporalio/workflow';

/** Temporal takes 400 bytes, those of its own description of the text among them. */
const SUMMARY_MAX_BYTES = 340;

/**
 * A summary that first says what came of the step before. The Temporal UI shows summaries in its
 * rows, and results only to who opens them.
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
