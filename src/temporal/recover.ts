import { WorkflowNotFoundError, type Client, type WorkflowExecutionDescription } from '@temporalio/client';
import type { Executor } from '../database/pool/connection';
import { openWork, stillOpen, withoutRow, type Work, type WorkKind } from '../database/recover/open-work';
import { eachOf } from '../domain/each-of';
import { TASK_QUEUES } from './task-queues';

/* Temporal's side of `reconcile`: workflows that are missing, are stuck, or have no row. */

/** Longest wait for a response of Temporal. */
const ANSWER_WITHIN_MS = 5_000;
/** Rows of a page. Temporal is asked about all at once, some milliseconds each. */
const PAGE = 100;
/** Workflows that are examined or terminated side by side. */
const AT_ONCE = 20;
/** Workflows in a page of Temporal's list. */
const LIST_PAGE = 200;

const within = <Answer>(client: Client, call: () => Promise<Answer>) =>
  client.withDeadline(Date.now() + ANSWER_WITHIN_MS, call);

const unlessGone = (error: unknown) => {
  if (!(error instanceof WorkflowNotFoundError)) throw error;
};

/**
 * Goes page by page through the open rows of a kind. Yields the rows whose workflow has not run, or
 * has been stuck, for `afterS` seconds, each workflow once.
 *
 * @param after key of the row before the first page; `next` is '' after the last page
 */
export async function* missingWork(
  db: Executor,
  client: Client,
  kind: WorkKind,
  { after, afterS }: { after: string; afterS: number },
): AsyncGenerator<{ checked: number; missing: Work[]; next: string }, void, undefined> {
  let next = after;
  do {
    const page = await openWork(db, kind, next, PAGE);
    const gone = (await withoutWorkflow(client, page, afterS)).map(({ key }) => key);
    // A row that was closed meanwhile no longer needs its workflow.
    const open = gone.length > 0 ? await stillOpen(db, kind, gone) : [];
    const missing = [...new Map(open.map((one) => [one.workflowId, one])).values()];
    next = page[PAGE - 1]?.key ?? '';
    yield { checked: page.length, missing, next };
  } while (next !== '');
}

/** A stuck workflow counts as missing: `endStuck` ends it before its new start. */
export async function withoutWorkflow(client: Client, work: Work[], afterS: number): Promise<Work[]> {
  const missing = await Promise.all(
    work.map(async ({ workflowId, since, now }) => {
      const handle = client.workflow.getHandle(workflowId);
      const found = await within(client, () => handle.describe()).catch(unlessGone);
      const isRunning = found?.status.name === 'RUNNING';
      const lostSince = isRunning ? await stuckSince(client, found) : (found?.closeTime ?? since);
      return lostSince !== undefined && now.getTime() - lostSince.getTime() >= afterS * 1000;
    }),
  );
  return work.filter((_, i) => missing[i]);
}

/** `WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR` of the SDK. */
const NON_DETERMINISTIC = 24;
/** Holds the last workflow task, even with many signals after it. */
const EVENTS_READ = 100;

/**
 * Terminates workflows of another version whose steps this version does not know: Temporal would
 * retry their task for ever. A new start continues from the rows.
 *
 * @param gotOn called after each workflow, as a sign of life: all may take minutes
 */
export const endStuck = (client: Client, work: Work[], gotOn: () => void = () => undefined): Promise<void> =>
  eachOf(work, AT_ONCE, async ({ workflowId }) => {
    await within(client, () => endIfStuck(client, workflowId)).catch(unlessGone);
    gotOn();
  });

async function endIfStuck(client: Client, workflowId: string): Promise<void> {
  const found = await client.workflow.getHandle(workflowId).describe();
  if ((await stuckSince(client, found)) === undefined) return;
  await client.workflow
    .getHandle(workflowId, found.runId)
    .terminate('started by another version, whose steps differ: started again');
}

/** The first failure of the task that Temporal retries, if its steps differ from ours. */
async function stuckSince(
  client: Client,
  { workflowId, runId, raw }: WorkflowExecutionDescription,
): Promise<Date | undefined> {
  // A workflow that waits or has ended has no pending task. The first attempt has not failed yet.
  if ((raw.pendingWorkflowTask?.attempt ?? 0) < 2) return undefined;
  const { history } = await within(client, () =>
    client.workflowService.getWorkflowExecutionHistoryReverse({
      namespace: client.options.namespace,
      execution: { workflowId, runId },
      maximumPageSize: EVENTS_READ,
    }),
  );
  const last = history?.events?.find(
    (event) => event.workflowTaskCompletedEventAttributes ?? event.workflowTaskFailedEventAttributes,
  );
  if (Number(last?.workflowTaskFailedEventAttributes?.cause) !== NON_DETERMINISTIC) return undefined;
  return new Date(Number(last?.eventTime?.seconds ?? 0) * 1000);
}

export interface RowlessWorkflow {
  workflowId: string;
  runId: string;
  /** Start of the run. */
  since: Date;
}

/** Other services may share the namespace; their workers poll other queues. */
const OURS_THAT_RUN = `ExecutionStatus = 'Running' AND TaskQueue IN ('${TASK_QUEUES.join(`', '`)}')`;

/**
 * Pages of our running workflows, each with the workflows that have no row. After Postgres was
 * restored to an earlier moment they read their row, fail, and retry for ever.
 */
export async function* pagesWithoutRow(
  db: Executor,
  client: Client,
): AsyncGenerator<{ checked: number; gone: RowlessWorkflow[] }, void, undefined> {
  const list = client.workflow.list({ query: OURS_THAT_RUN, pageSize: LIST_PAGE })[Symbol.asyncIterator]();
  for (let done = false; !done;) {
    const running: (RowlessWorkflow & { type: string })[] = [];
    while (running.length < LIST_PAGE) {
      const next = await within(client, () => list.next());
      done = next.done === true;
      if (next.done) break;
      const { workflowId, runId, type, startTime: since } = next.value;
      running.push({ workflowId, runId, type, since });
    }
    yield { checked: running.length, gone: await withoutRow(db, running) };
  }
}

/** Skips workflows that have ended meanwhile. A row that comes back gets a new workflow. */
export const endRowless = (client: Client, workflows: RowlessWorkflow[]): Promise<void> =>
  eachOf(workflows, AT_ONCE, async ({ workflowId, runId }) => {
    const handle = client.workflow.getHandle(workflowId, runId);
    const end = () => handle.terminate('reconcile --end-rowless: its row is gone');
    await within(client, end).catch(unlessGone);
  });
