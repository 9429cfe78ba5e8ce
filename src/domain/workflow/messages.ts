/**
 * The contract of workflows and their callers: task queues, workflow types, and the state that a
 * workflow hands to its next run. A payload holds ids, and the names of merchants and banks; never
 * a customer's name, address or account. The ids of workflows are in
 * `domain/workflow/workflow-id.ts`, the signals in `domain/workflow/signal.ts`.
 */

import type { WebhookType } from '../webhook/webhook';

/** Workflow tasks and the short, local effects. */
export const TASK_QUEUE = 'assent';
/**
 * Schedules: thousands fall due at the same moment, and an interactive charge must not queue behind
 * them.
 */
export const RECURRING_TASK_QUEUE = 'assent-recurring';
/**
 * Webhook retries, whose receivers may take seconds each, run beside the charges and not before
 * them.
 */
export const WEBHOOK_TASK_QUEUE = 'assent-webhook';
/**
 * Pages of a customer migration, few at a time, so that the charges keep the connections to
 * Postgres.
 */
export const CUSTOMER_MIGRATION_TASK_QUEUE = 'assent-customer-migration';
/**
 * Matching of bank files, step by step: a bank file is never urgent, and the charges keep the
 * connections to Postgres.
 */
export const BANK_FILE_TASK_QUEUE = 'assent-bank-file';

/** Names of the workflow types, as registered with the worker and shown to operators. */
export const WORKFLOW_TYPE = {
  consent: 'consent',
  intent: 'intent',
  billingRequest: 'billingRequest',
  recurring: 'recurring',
  refund: 'refund',
  webhookDelivery: 'webhookDelivery',
  sandboxClock: 'sandboxClock',
  customerMigration: 'customerMigration',
  bankFile: 'bankFile',
  reconcile: 'reconcile',
  chain: 'chain',
  verify: 'verify',
  sweep: 'sweep',
} as const;

/** Kinds of rows that the workflow `sweep` takes away, in its order. */
export const SWEPT = [
  'idempotency keys',
  'token buckets',
  'prompts',
  'batches of customers',
  'pages of bank files',
  'counted differences',
  'console sessions',
  'webhooks',
  'retired secrets',
  'changes of balances',
] as const;
export type Swept = (typeof SWEPT)[number];

/** A webhook delivery's progress, handed on when another attempt follows. */
export interface DeliveryProgress {
  webhookType: WebhookType;
  /** The reason for the failure, see `failureInWords`. */
  why: string;
  /** Attempts so far. */
  attempts: number;
  /** The attempt with this number is the last. */
  maxAttempts: number;
  retryInMs: number;
}
