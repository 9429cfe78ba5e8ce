import { AsyncLocalStorage } from 'node:async_hooks';
import { traceparentOf, type TraceContext } from '../domain/workflow/trace-context';

/** The span that the code at hand works in. Log and outbox read it; nothing depends on it. */
const atHand = new AsyncLocalStorage<TraceContext>();

export function withinSpan<Result>(span: TraceContext, work: () => Result): Result {
  return atHand.run(span, work);
}

export function spanAtHand(): TraceContext | undefined {
  return atHand.getStore();
}

export function traceparentAtHand(): string | undefined {
  const span = atHand.getStore();
  return span && traceparentOf(span);
}

/** For a line of the log, by OpenTelemetry's names. */
export function traceFields(span = atHand.getStore()): { trace_id?: string; span_id?: string } {
  return span ? { trace_id: span.traceId, span_id: span.spanId } : {};
}
