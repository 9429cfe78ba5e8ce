import type { Client } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import type { Problem } from '../domain/failures';
import { TASK_QUEUE } from '../workflows/messages';

const { TASK_QUEUE_TYPE_WORKFLOW } = temporal.api.enums.v1.TaskQueueType;

/** Longest that a readiness check waits for Temporal. */
const ANSWER_WITHIN_MS = 2_000;
/** A worker that lives begins a new poll at least once a minute; Temporal remembers dead ones for longer. */
const POLLED_WITHIN_MS = 70_000;

/** What keeps workflows from going on: Temporal away, or no worker that polls. */
export async function temporalProblems(client: Client): Promise<Problem[]> {
  try {
    const { pollers } = await client.withDeadline(Date.now() + ANSWER_WITHIN_MS, () =>
      client.workflowService.describeTaskQueue({
        namespace: client.options.namespace,
        taskQueue: { name: TASK_QUEUE },
        taskQueueType: TASK_QUEUE_TYPE_WORKFLOW,
      }),
    );
    const since = (Date.now() - POLLED_WITHIN_MS) / 1000;
    if (pollers.some(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) > since)) return [];
    return [{ path: 'worker', message: 'is not polling' }];
  } catch {
    return [{ path: 'temporal', message: 'does not answer' }];
  }
}
