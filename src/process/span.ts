import type { TraceContext } from '../domain/workflow/trace-context';

/**
 * Spans, as the engine makes them; `opentelemetry.ts` exports them. A span has words of the code,
 * ids and codes, as the log has. It never has a name, an address, a body, a URL or a token.
 */
export interface Tracing {
  /** Opens a span now; its opener ends it. */
  open(span: SpanToOpen): OpenSpan;
  /** Does the work in a span, which ends with it, and says what kind of error the work throws. */
  within<Result>(span: SpanToOpen, work: (span: OpenSpan) => Promise<Result>): Promise<Result>;
  /** Sends what is left, but does not wait for a collector that hangs. */
  stop(): Promise<void>;
}

export interface SpanToOpen {
  name: string;
  kind: 'server' | 'client' | 'producer' | 'internal';
  attributes: SpanAttributes;
  /** Left out: the span at hand. None: the span begins a trace. */
  parent?: TraceContext | undefined;
}

/** Undefined values are left out. */
type SpanAttributes = Record<string, string | number | undefined>;

export interface OpenSpan {
  readonly context: TraceContext;
  rename(name: string): void;
  describe(attributes: SpanAttributes): void;
  /** @param error a code, never a message */
  end(error?: string): void;
}
