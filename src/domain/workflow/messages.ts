/**
 * What workflows and their callers agree on: task queues, types of workflows, and what a workflow
 * hands to its next run. A payload holds ids, and the names of merchants and banks; never a
 * customer's name, address or account. The ids of workflows are in
 * `domain/workflow/workflow-id.ts`, the signals in `domain/workflow/signal.ts`.
 */

import type { WebhookType } from '../webhook/webhook';

/** Workflow tasks and the short, local effects. */
export const TASK_QUEUE = 'assent';
/**
 * Schedules: thousands fall due at one moment, and a charge that somebody waits for must not queue
 * behind them.
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
 * The matching of statements, one step at a time: whoever waits for it waits for a file, and the
 * charges keep the connections to Postgres.
 */
export const BANK_STATEMENT_TASK_QUEUE = 'assent-bank-statement';

/** Names of the workflow types, as registered with the worker and shown to operators. */
export const WORKFLOW_TYPE = {
  intent: 'intent',
  billingRequest: 'billingRequest',
  recurring: 'recurring',
  refund: 'refund',
  webhookDelivery: 'webhookDelivery',
  sandboxClock: 'sandboxClock',
  customerMigration: 'customerMigration',
  bankStatement: 'bankStatement',
  reconcile: 'reconcile',
  chain: 'chain',
  verify: 'verify',
} as const;

/** How far a webhook delivery has come when another attempt follows. */
export interface DeliveryProgress {
  webhookType: WebhookType;
  /** Why it is not delivered yet, of a fixed set of words: see `failureInWords`. */
  why: string;
  /** Made so far. */
  attempts: number;
  /** The one with this number is the last. */
  maxAttempts: number;
  retryInMs: number;
}
