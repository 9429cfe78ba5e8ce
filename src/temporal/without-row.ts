import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import type { Database } from '../database/connection';
import { withoutRow } from '../database/operation/workflow-rows';
import { TASK_QUEUES } from './task-queues';

/**
 * Workflows whose row is gone, as after Postgres was restored to an earlier moment. They read it,
 * fail, and try again for ever.
 */

/** A page of visibility, and of the rows that are looked for. */
const PAGE = 200;
/** Longest wait for one answer of Temporal. */
const ANSWER_WITHIN_MS = 10_000;
/** Those that are ended at once. */
const ENDED_AT_ONCE = 10;
/** A namespace may hold workflows of others, whose workers poll elsewhere. */
const OUR_QUEUES = new Set<string>(TASK_QUEUES);

export interface RowlessWorkflow {
  workflowId: string;
  runId: string;
  startedAt: Date;
}

/**
 * Each page of what runs of ours in the namespace, and which of it has no row. Temporal's list may
 * lag: of what has ended meanwhile nothing is left to end.
 */
export async function* pagesWithoutRow(
  db: Database,
  client: Client,
): AsyncGenerator<{ checked: number; gone: RowlessWorkflow[] }, void, undefined> {
  let nextPageToken: Uint8Array | undefined;
  do {
    const page = await client.withDeadline(Date.now() + ANSWER_WITHIN_MS, () =>
      client.workflowService.listWorkflowExecutions({
        namespace: client.options.namespace,
        query: `ExecutionStatus = 'Running'`,
        pageSize: PAGE,
        ...(nextPageToken && { nextPageToken }),
      }),
    );
    const running = page.executions
      .filter(({ taskQueue }) => OUR_QUEUES.has(taskQueue ?? ''))
      .map(({ execution, type, startTime }) => ({
        workflowId: execution?.workflowId ?? '',
        runId: execution?.runId ?? '',
        type: type?.name ?? '',
        startedAt: new Date(Number(startTime?.seconds ?? 0) * 1_000),
      }));
    const gone = await withoutRow(db, running);
    yield { checked: running.length, gone: running.filter(({ workflowId }) => gone.has(workflowId)) };
    nextPageToken = page.nextPageToken;
  } while (nextPageToken?.length);
}

/**
 * Ends them. Should a row come back nevertheless, `reconcile` finds that it has no workflow, and
 * starts one.
 */
export async function endRowless(client: Client, workflows: RowlessWorkflow[]): Promise<void> {
  for (let at = 0; at < workflows.length; at += ENDED_AT_ONCE) {
    await Promise.all(workflows.slice(at, at + ENDED_AT_ONCE).map((one) => end(client, one)));
  }
}

async function end(client: Client, { workflowId, runId }: RowlessWorkflow): Promise<void> {
  try {
    await client.withDeadline(Date.now() + ANSWER_WITHIN_MS, () =>
      client.workflow.getHandle(workflowId, runId).terminate('reconcile --end-rowless: its row is gone'),
    );
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}
