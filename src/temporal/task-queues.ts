import type { Client } from '@temporalio/client';
import {
  BANK_FILE_TASK_QUEUE,
  CUSTOMER_MIGRATION_TASK_QUEUE,
  RECURRING_TASK_QUEUE,
  TASK_QUEUE,
  WEBHOOK_TASK_QUEUE,
} from '../domain/workflow/messages';

export const TASK_QUEUES = [
  TASK_QUEUE,
  RECURRING_TASK_QUEUE,
  WEBHOOK_TASK_QUEUE,
  CUSTOMER_MIGRATION_TASK_QUEUE,
  BANK_FILE_TASK_QUEUE,
] as const;

/** Workflow tasks and activity tasks, which Temporal queues apart. */
const TYPES = [1, 2] as const;

/** Longest wait for the responses of Temporal. */
const ANSWER_WITHIN_MS = 2_000;

interface QueueState {
  queue: string;
  /** Temporal's estimate of the waiting tasks. */
  waiting: number;
  /** Age of the oldest waiting task; 0 without any. */
  oldestAgeS: number;
}

/**
 * Leaves out a queue without Temporal's statistics, since a 0 would mean that no task waits.
 *
 * @throws the error of the connection
 */
export async function taskQueues(client: Client): Promise<QueueState[]> {
  const states = await client.withDeadline(Date.now() + ANSWER_WITHIN_MS, () =>
    allToTheirEnd(TASK_QUEUES.map((queue) => queueState(client, queue))),
  );
  return states.filter((state) => state !== undefined);
}

/** Waits for all calls: a call that is retried while its connection closes ends the process. */
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
