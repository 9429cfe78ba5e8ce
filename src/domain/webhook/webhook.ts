export const WEBHOOK_TYPES = [
  'billing.intent',
  'billing.request',
  'billing.intent.response',
  'billing.response',
  'billing.closed',
  'billing.intent.closed',
  'decision.updated',
  'refund.request',
  'refund.response',
  'refund.returned',
  'exception.opened',
  'exception.resolved',
  'recurring.upcoming',
  'recurring.updated',
  'billing.credit',
  'billing.reversed',
  'migration.completed',
  'webhook.test',
  'webhook.endpoint_changed',
] as const;

export type WebhookType = (typeof WEBHOOK_TYPES)[number];

/** Whether a receiver may have a message after an attempt; `maybe` after silence. */
export type Reached = 'no' | 'maybe' | 'yes';

/** Errors of an attempt, in the words of its delivery's history. */
const REASONS = new Map([
  ['connection refused', 'refused the connection'],
  ['connection reset', 'reset the connection'],
  ['connection closed before the answer', 'closed the connection before its answer'],
  ['connection timed out', 'no connection in time'],
  ['host unreachable', 'host unreachable'],
  ['network unreachable', 'network unreachable'],
  ['host name not found', 'host name not found'],
  ['host name lookup failed', 'host name lookup failed'],
  ['request failed (CERT_HAS_EXPIRED)', 'its certificate has expired'],
  ['request failed (ERR_TLS_CERT_ALTNAME_INVALID)', 'its certificate is for another name'],
  ['request failed (DEPTH_ZERO_SELF_SIGNED_CERT)', 'its certificate is of no known authority'],
  ['request failed (SELF_SIGNED_CERT_IN_CHAIN)', 'its certificate is of no known authority'],
  ['request failed (UNABLE_TO_VERIFY_LEAF_SIGNATURE)', 'its certificate is of no known authority'],
  ['not a URL', 'its URL is none'],
  ['no URL is set', 'no URL is set'],
  ['only https is allowed', 'only https is allowed'],
  ['the address is not public', 'its address is not public'],
]);

/**
 * Why an attempt failed, for the history of its workflow: the status, or words of a fixed set. A
 * receiver's own words and address stay out of Temporal.
 */
export function failureInWords({
  httpStatus,
  error,
}: {
  httpStatus: number | null;
  error: string | null;
}): string {
  if (httpStatus !== null) return `answered ${httpStatus}`;
  const withinMs = /^no answer within (\d{1,6}) ms$/.exec(error ?? '')?.[1];
  if (withinMs !== undefined) return `no answer within ${Number(withinMs) / 1000} s`;
  return REASONS.get(error ?? '') ?? 'the request failed';
}
