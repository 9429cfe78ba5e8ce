/** What an entity can be told by webhook, and finds in its events feed. */
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

/** Whether a receiver may have a message after an attempt: surely not, perhaps, for it met silence, or surely. */
export type Reached = 'no' | 'maybe' | 'yes';
