import type { Client } from '@temporalio/client';
import {
  BANK_STATEMENT_TASK_QUEUE,
  CUSTOMER_MIGRATION_TASK_QUEUE,
  RECURRING_TASK_QUEUE,
  TASK_QUEUE,
  WEBHOOK_TASK_QUEUE,
} from '../workflows/messages';

/** What waits in Temporal for a worker. */

export const TASK_QUEUES = [
  TASK_QUEUE,
  RECURRING_TASK_QUEUE,
  WEBHOOK_TASK_QUEUE,
  CUSTOMER_MIGRATION_TASK_QUEUE,
  BANK_STATEMENT_TASK_QUEUE,
] as const;

/** Tasks of workflows, and of activities: Temporal keeps them apart. */
const TYPES = [1, 2] as const;

/** Longest wait for the answers of Temporal. */
const ANSWER_WITHIN_MS = 2_000;

export interface QueueState {
  queue: string;
  /** Tasks, as Temporal reckons: it is near, and not exact. */
  waiting: number;
  /** For how long the first of them has; 0 where there is none. */
  oldestAgeS: number;
}

/**
 * Of each queue what waits. One of which Temporal does not say it is left out: a 0 would be taken
 * for none.
 *
 * @throws what the connection failed with
 */
export async function taskQueues(client: Client): Promise<QueueState[]> {
  const states = await client.withDeadline(Date.now() + ANSWER_WITHIN_MS, () =>
    allToTheirEnd(TASK_QUEUES.map((queue) => queueState(client, queue))),
  );
  return states.filter((state) => state !== undefined);
}

/**
 * Waits for each, whatever becomes of the others: a call that is still being tried when its
 * connection is closed ends the process.
 */
async function allToTheirEnd<T>(calls: Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(calls);
  return Promise.all(calls);
}

async function queueState(client: Client, queue: string): Promise<QueueState | undefined> {
  const { namespace } = client.options;
  const answers = await allToTheirEnd(
    TYPES.map((taskQueueType) =>
      client.workflowService.describeTaskQueue({
        namespace,
        taskQueue: { name: queue },
        taskQueueType,
        reportStats: true,
      }),
    ),
  );
  const stats = answers.flatMap((one) => one.stats ?? []);
  if (stats.length < TYPES.length) return undefined;
  return {
    queue,
    waiting: stats.reduce((sum, one) => sum + Number(one.approximateBacklogCount ?? 0), 0),
    oldestAgeS: Math.max(0, ...stats.map((one) => Number(one.approximateBacklogAge?.seconds ?? 0))),
  };
}
