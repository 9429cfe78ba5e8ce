/**
 * W3C Trace Context (https://www.w3.org/TR/trace-context/): the `traceparent` by which the spans of
 * one trace find each other across processes and companies. Its companion `tracestate` is neither
 * read nor sent: what one party's tracing says of itself is not for the other party of a payment.
 */
export interface TraceContext {
  /** 32 hexadecimal digits in lower case, not all of them 0. */
  traceId: string;
  /** 16 of the same. */
  spanId: string;
  /** Whoever made it keeps the span. */
  sampled: boolean;
}

const SAMPLED = 1;
/** Of a later version more may follow; what stands here stays as it is. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** Of the first version's 55 characters, with room for what a later one adds. */
const LENGTH_MAX = 256;

/** @returns undefined where there is none, or none that is valid: the caller is as without one */
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
