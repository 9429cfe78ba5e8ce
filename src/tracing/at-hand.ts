import { AsyncLocalStorage } from 'node:async_hooks';
import { traceparentOf, type TraceContext } from '../domain/workflow/trace-context';

/**
 * The span that the code at hand works in, however many calls lie between. With tracing off there
 * is never one. Only what tells of the work reads it, the log and the outbox; nothing is decided by
 * it.
 */
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

/** For a line of the log, in the names that OpenTelemetry has for them. */
export function traceFields(span = atHand.getStore()): { trace_id?: string; span_id?: string } {
  return span ? { trace_id: span.traceId, span_id: span.spanId } : {};
}
