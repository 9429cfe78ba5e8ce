import { TraceFlags } from '@opentelemetry/api';
import type { SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';

/** How often the log says at most that spans are lost. */
export const SAY_EVERY_MS = 60_000;

export interface SpanLosses {
  /** The exporter, whose every request is heard of. */
  exporter: SpanExporter;
  /** The processor that has this exporter, with a queue in front that counts what it turns away. */
  before(processor: SpanProcessor): SpanProcessor;
  /** What has not been delivered by now never will be. */
  close(): void;
}

/**
 * Counts the spans that were to be sent and do not get to the collector: those that find the queue
 * full, those of a request that fails, and those that a stop leaves behind. Each is counted once.
 * The log says so at the first, each minute while there are more, and at the end.
 *
 * @param queueMax no more than the processor's own queue holds, so that this one is what is full
 * @param count is told of each loss
 */
export function countLosses(
  exporter: SpanExporter,
  queueMax: number,
  log: Pick<Logger, 'warn'>,
  count: (spans: number) => void,
): SpanLosses {
  let waiting = 0;
  let inHand = 0;
  let lost = 0;
  let said = 0;
  let err: Error | undefined;
  let quiet: NodeJS.Timeout | undefined;
  let closed = false;

  function say(): void {
    if (lost === said) return;
    log.warn({ err, lost }, 'spans could not be sent to the collector');
    said = lost;
    err = undefined;
    if (!closed) quiet = setTimeout(unquiet, SAY_EVERY_MS).unref();
  }

  function unquiet(): void {
    quiet = undefined;
    say();
  }

  function lose(spans: number): void {
    if (spans === 0) return;
    lost += spans;
    count(spans);
    if (quiet === undefined) say();
  }

  return {
    exporter: {
      export(spans, done) {
        waiting -= spans.length;
        inHand += spans.length;
        exporter.export(spans, (result) => {
          // Those that a stop gave up are counted already.
          if (!closed) {
            inHand -= spans.length;
            if (result.error) {
              err = result.error;
              lose(spans.length);
            }
          }
          done(result);
        });
      },
      shutdown: () => exporter.shutdown(),
    },

    before: (processor) => ({
      onStart: (span, context) => processor.onStart(span, context),
      onEnd(span) {
        if (closed || (span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return;
        if (waiting >= queueMax) {
          lose(1);
          return;
        }
        waiting += 1;
        processor.onEnd(span);
      },
      forceFlush: () => processor.forceFlush(),
      shutdown: () => processor.shutdown(),
    }),

    close() {
      if (closed) return;
      closed = true;
      clearTimeout(quiet);
      // Said in one line with what is not said yet.
      quiet = undefined;
      const left = waiting + inHand;
      lost += left;
      if (left > 0) count(left);
      say();
    },
  };
}
