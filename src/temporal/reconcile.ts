import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import type { Database, Executor } from '../database/connection';
import { stillOpen, withoutRow, type Work } from '../database/operation/reconcile';
import { TASK_QUEUES } from './task-queues';

/** Temporal's side of `reconcile`: which workflows are there, are stuck, or have no row. */

/** Longest wait for one answer of Temporal. */
const ANSWER_WITHIN_MS = 5_000;
/** Workflows that are asked about, or ended, at once: Temporal answers tens in milliseconds. */
const AT_ONCE = 20;
/** A page of Temporal's list of what runs, and of the rows that are looked for. */
const LIST_PAGE = 200;

const within = <Answer>(client: Client, call: () => Promise<Answer>) =>
  client.withDeadline(Date.now() + ANSWER_WITHIN_MS, call);

/** Those for which it holds; it asks about some at once, and calls `gotOn` after each time. */
async function among<Item>(
  items: readonly Item[],
  holds: (item: Item) => Promise<boolean>,
  gotOn: () => void = () => undefined,
): Promise<Item[]> {
  const found: Item[] = [];
  for (let at = 0; at < items.length; at += AT_ONCE) {
    const some = items.slice(at, at + AT_ONCE);
    const held = await Promise.all(some.map(holds));
    found.push(...some.filter((_, i) => held[i]));
    gotOn();
  }
  return found;
}

const falseWithoutWorkflow = (error: unknown) => {
  if (error instanceof WorkflowNotFoundError) return false;
  throw error;
};

/** Of these, the rows that are open and have had no workflow that runs for `afterS` seconds. */
export async function openWithoutWorkflow(
  db: Executor,
  client: Client,
  work: Work[],
  afterS: number,
): Promise<Work[]> {
  const open = await stillOpen(db, await withoutWorkflow(client, work, afterS));
  // What was just being started is no longer in the outbox now, and is asked about once more.
  return withoutWorkflow(client, open, afterS);
}

export async function withoutWorkflow(client: Client, work: Work[], afterS: number): Promise<Work[]> {
  return among(work, async ({ workflowId, since, now }) => {
    const goneFor = (from: Date) => now.getTime() - from.getTime() >= afterS * 1000;
    try {
      const { status, closeTime } = await within(client, () =>
        client.workflow.getHandle(workflowId).describe(),
      );
      return status.name !== 'RUNNING' && goneFor(closeTime ?? since);
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return goneFor(since);
      throw error;
    }
  });
}

/** `WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR`, as the SDK says it. */
const NON_DETERMINISTIC = 24;
/** The end of a history in which its last task is, and many a signal after it. */
const EVENTS_READ = 100;

/**
 * Ends workflows that another version began, whose steps this one does not know: Temporal would try
 * the same task for ever. Started again, they begin with what the rows say.
 *
 * @param gotOn is called when Temporal has answered about some: about all it may take minutes
 */
export async function endStuck(client: Client, work: Work[], gotOn?: () => void): Promise<void> {
  const endIfStuck = async ({ workflowId }: Work): Promise<boolean> => {
    const { runId, raw } = await client.workflow.getHandle(workflowId).describe();
    // A workflow that sleeps, or has ended, has no task.
    if (!raw.pendingWorkflowTask || !(await lastTaskFailed(client, workflowId, runId))) return false;
    await client.workflow.getHandle(workflowId, runId).terminate('begun by another version: started anew');
    return true;
  };
  await among(work, (one) => within(client, () => endIfStuck(one)).catch(falseWithoutWorkflow), gotOn);
}

/** Whether the code did not fit the history at the last task that came to an end. */
async function lastTaskFailed(client: Client, workflowId: string, runId: string): Promise<boolean> {
  const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
    namespace: client.options.namespace,
    execution: { workflowId, runId },
    maximumPageSize: EVENTS_READ,
  });
  const last = history?.events?.find(
    (event) => event.workflowTaskCompletedEventAttributes ?? event.workflowTaskFailedEventAttributes,
  );
  return Number(last?.workflowTaskFailedEventAttributes?.cause) === NON_DETERMINISTIC;
}

export interface RowlessWorkflow {
  workflowId: string;
  runId: string;
  startedAt: Date;
}

/**
 * Each page of our workflows that run, and which of them have no row, as after Postgres was
 * restored to an earlier moment: they read it, fail, and try again for ever. A namespace may hold
 * workflows of others, whose workers poll other queues.
 */
export async function* pagesWithoutRow(
  db: Database,
  client: Client,
): AsyncGenerator<{ checked: number; gone: RowlessWorkflow[] }, void, undefined> {
  let nextPageToken: Uint8Array | undefined;
  do {
    const page = await within(client, () =>
      client.workflowService.listWorkflowExecutions({
        namespace: client.options.namespace,
        query: `ExecutionStatus = 'Running'`,
        pageSize: LIST_PAGE,
        ...(nextPageToken && { nextPageToken }),
      }),
    );
    const running = page.executions
      .filter(({ taskQueue }) => TASK_QUEUES.some((ours) => ours === taskQueue))
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

/** Ends them; what has ended meanwhile is left. Should a row come back, its workflow is started. */
export async function endRowless(client: Client, workflows: RowlessWorkflow[]): Promise<void> {
  await among(workflows, ({ workflowId, runId }) =>
    within(client, () =>
      client.workflow.getHandle(workflowId, runId).terminate('reconcile --end-rowless: its row is gone'),
    ).then(() => true, falseWithoutWorkflow),
  );
}
