import type { TraceContext } from '../domain/workflow/trace-context';

/**
 * Spans, as the rest of the engine makes them; `opentelemetry.ts` exports them. What a span says is
 * what the log says: words of the code, ids and codes. Never a name, an address, a body, a URL or a
 * token.
 */
export interface Tracing {
  /** Opens a span now. Whoever does ends it. */
  open(span: SpanToOpen): OpenSpan;
  /**
   * Does the work in a span, which ends with it; where the work throws, it says what kind of error.
   */
  within<Result>(span: SpanToOpen, work: (span: OpenSpan) => Promise<Result>): Promise<Result>;
  /** Whether a trace with this id is kept: for all processes of an installation alike. */
  keeps(traceId: string): boolean;
  /** Sends what is left, but does not wait for a collector that hangs. */
  stop(): Promise<void>;
}

export interface SpanToOpen {
  name: string;
  kind: 'server' | 'client' | 'producer' | 'internal';
  attributes: SpanAttributes;
  /** Left out: the span at hand. None: it begins a trace. */
  parent?: TraceContext | undefined;
  /** The parent is a caller's word: that he keeps his span is no reason for us to keep ours. */
  byCaller?: boolean;
  /** A span of another trace that this one came of. */
  link?: TraceContext | undefined;
  /** Of a span whose children were made before it; otherwise it gets new ids. */
  ids?: { traceId: string; spanId: string };
  startedAt?: Date;
}

/** Undefined values are left out. */
export type SpanAttributes = Record<string, string | number | undefined>;

export interface OpenSpan {
  readonly context: TraceContext;
  rename(name: string): void;
  describe(attributes: SpanAttributes): void;
  /** @param error what kind of failure it ended with: a code, never a message */
  end(error?: string): void;
}
