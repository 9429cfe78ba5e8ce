export const WEBHOOK_TYPES = [
  'billing.intent',
  'billing.request',
  'billing.intent.response',
  'billing.response',
  'billing.closed',
  'billing.intent.closed',
  'decision.updated',
  'decision.expiring',
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

/**
 * Why an attempt failed, for the history of its workflow: the status, or the connector's own words
 * and codes. A receiver's words and address stay out of Temporal.
 */
export function failureInWords({
  httpStatus,
  error,
}: {
  httpStatus: number | null;
  error: string | null;
}): string {
  return httpStatus === null ? (error ?? 'the request failed') : `answered ${httpStatus}`;
}
