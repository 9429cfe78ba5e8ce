/**
 * W3C Trace Context (https://www.w3.org/TR/trace-context/): the `traceparent` that connects the
 * spans of one trace across processes and companies. `tracestate` is neither read nor sent: one
 * party's tracing data is not for the other party of a payment.
 */
export interface TraceContext {
  /** 32 hexadecimal digits in lower case, not all of them 0. */
  traceId: string;
  /** 16 hexadecimal digits in lower case, not all of them 0. */
  spanId: string;
  /** The caller keeps the span. */
  sampled: boolean;
}

const SAMPLED = 1;
/** A later version may add fields at the end; the known fields stay. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** The first version has 55 characters; a later version may add some. */
const LENGTH_MAX = 256;

/** @returns undefined without a valid text; the call is then handled as without one */
export function readTraceparent(text: unknown): TraceContext | undefined {
  if (typeof text !== 'string' || text.length > LENGTH_MAX) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(text) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (parseInt(flags, 16) & SAMPLED) === SAMPLED };
}

export function traceparentOf({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}
