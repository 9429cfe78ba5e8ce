import type { WorkerOptions } from '@temporalio/worker';

/**
 * Slots and pollers. A charge is a local activity of some milliseconds, so two cores run few at
 * once. Many pollers keep the hand-over short: fewer leave a tail of two seconds on the dev server.
 * A sleeping workflow in the cache costs about 0.1 MB: 500 for each of two queues keep the worker
 * well below 512 MB.
 */
export const BILLING = {
  maxConcurrentWorkflowTaskExecutions: 80,
  maxConcurrentWorkflowTaskPolls: 40,
  maxConcurrentLocalActivityExecutions: 100,
  maxConcurrentActivityTaskExecutions: 40,
  maxConcurrentActivityTaskPolls: 10,
  maxCachedWorkflows: 500,
} satisfies Partial<WorkerOptions>;

/**
 * As many, but half of the slots: a burst of due schedules leaves the other half of a worker to
 * calls.
 */
export const SCHEDULES = {
  ...BILLING,
  maxConcurrentWorkflowTaskExecutions: 40,
  maxConcurrentLocalActivityExecutions: 50,
} satisfies Partial<WorkerOptions>;

/**
 * Attempts at webhooks wait for receivers, up to ten seconds each; a slot that waits costs a
 * socket.
 */
export const WEBHOOKS = {
  maxConcurrentWorkflowTaskExecutions: 20,
  maxConcurrentWorkflowTaskPolls: 10,
  maxConcurrentActivityTaskExecutions: 100,
  maxConcurrentActivityTaskPolls: 20,
  maxCachedWorkflows: 200,
} satisfies Partial<WorkerOptions>;

/**
 * Pages of customers are transactions of some ten milliseconds that no caller waits for. Two at a
 * time leave the other six connections to Postgres to the charges.
 */
export const CUSTOMER_MIGRATIONS: Partial<WorkerOptions> = {
  maxConcurrentActivityTaskExecutions: 2,
  maxConcurrentActivityTaskPolls: 2,
};

/** Steps of bank files, each of transactions of some tens of milliseconds, one after the other. */
export const BANK_FILES: Partial<WorkerOptions> = {
  maxConcurrentActivityTaskExecutions: 1,
  maxConcurrentActivityTaskPolls: 1,
};
