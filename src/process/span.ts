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
  /** Whether a trace with this id is kept, in all processes of an installation alike. */
  keeps(traceId: string): boolean;
  /** Sends what is left, but does not wait for a collector that hangs. */
  stop(): Promise<void>;
}

export interface SpanToOpen {
  name: string;
  kind: 'server' | 'client' | 'producer' | 'internal';
  attributes: SpanAttributes;
  /** Left out: the span at hand. None: the span begins a trace. */
  parent?: TraceContext | undefined;
  /** A caller names the parent, so the parent does not decide whether the span is kept. */
  byCaller?: boolean;
  /** A span of another trace that caused this one. */
  link?: TraceContext | undefined;
  /** Ids of a span whose children were made before it; otherwise it gets new ones. */
  ids?: { traceId: string; spanId: string };
  startedAt?: Date;
}

/** Undefined values are left out. */
export type SpanAttributes = Record<string, string | number | undefined>;

export interface OpenSpan {
  readonly context: TraceContext;
  rename(name: string): void;
  describe(attributes: SpanAttributes): void;
  /** @param error a code, never a message */
  end(error?: string): void;
}
