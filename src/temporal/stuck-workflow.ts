import { WorkflowNotFoundError, type Client } from '@temporalio/client';

/**
 * Workflows that run in vain: they were begun by another version, whose steps this one does not
 * know. Temporal tries the same task of theirs for ever.
 */

/** `WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR`, as the SDK says it. */
const NON_DETERMINISTIC = 24;
/** The end of a history in which its last task is, and many a signal after it. */
const EVENTS_READ = 100;
/** Longest wait for an answer of Temporal. */
const ANSWER_WITHIN_MS = 5_000;

/** Temporal answers tens of them in milliseconds. */
const ASKED_AT_ONCE = 20;

/**
 * Ends those that cannot go on, so that others can begin with what the rows say.
 *
 * @param gotOn is called whenever Temporal has answered about some of them: about all of them it
 *   may take minutes
 * @returns the ids of those that it has ended
 * @throws what the connection failed with
 */
export async function endStuck(
  client: Client,
  workflowIds: readonly string[],
  gotOn: () => void = () => undefined,
): Promise<string[]> {
  const ended: string[] = [];
  for (let at = 0; at < workflowIds.length; at += ASKED_AT_ONCE) {
    const some = workflowIds.slice(at, at + ASKED_AT_ONCE);
    const were = await Promise.all(some.map((workflowId) => endIfStuck(client, workflowId)));
    ended.push(...some.filter((_, i) => were[i]));
    gotOn();
  }
  return ended;
}

async function endIfStuck(client: Client, workflowId: string): Promise<boolean> {
  return client.withDeadline(Date.now() + ANSWER_WITHIN_MS, async () => {
    const handle = client.workflow.getHandle(workflowId);
    try {
      const { runId, raw } = await handle.describe();
      // One that sleeps, or has ended, has no task.
      if (!raw.pendingWorkflowTask || !(await lastTaskFailed(client, workflowId, runId))) return false;
      await client.workflow.getHandle(workflowId, runId).terminate('begun by another version: started anew');
      return true;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      throw error;
    }
  });
}

/** Whether the code did not fit the history at the last task that came to an end. */
async function lastTaskFailed(client: Client, workflowId: string, runId: string): Promise<boolean> {
  const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
    namespace: client.options.namespace,
    execution: { workflowId, runId },
    maximumPageSize: EVENTS_READ,
  });
  for (const one of history?.events ?? []) {
    if (one.workflowTaskCompletedEventAttributes) return false;
    const failed = one.workflowTaskFailedEventAttributes;
    if (failed) return Number(failed.cause) === NON_DETERMINISTIC;
  }
  return false;
}
