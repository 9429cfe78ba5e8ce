import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import type { Executor } from '../database/connection';
import { openWork, stillOpen, withoutRow, type Work, type WorkKind } from '../database/reconcile/open-work';
import { eachOf } from '../domain/each-of';
import { TASK_QUEUES } from './task-queues';

/** Temporal's side of `reconcile`: which workflows are there, are stuck, or have no row. */

/** Longest wait for one answer of Temporal. */
const ANSWER_WITHIN_MS = 5_000;
/** Rows of a page, whose workflows Temporal is asked about at once: some milliseconds each. */
const PAGE = 100;
/** Workflows whose last task is looked at, or that are ended, at once. */
const AT_ONCE = 20;
/** A page of Temporal's list of what runs. */
const LIST_PAGE = 200;

const within = <Answer>(client: Client, call: () => Promise<Answer>) =>
  client.withDeadline(Date.now() + ANSWER_WITHIN_MS, call);

const unlessGone = (error: unknown) => {
  if (!(error instanceof WorkflowNotFoundError)) throw error;
};

/**
 * Goes page by page through the open rows of a kind, and says which have had no workflow that runs
 * for `afterS` seconds: each workflow once.
 *
 * @param after the key of the row after which the first page begins; `next` is '' after the last
 */
export async function* missingWork(
  db: Executor,
  client: Client,
  kind: WorkKind,
  after: string,
  afterS: number,
): AsyncGenerator<{ checked: number; missing: Work[]; next: string }, void, undefined> {
  let next = after;
  do {
    const page = await openWork(db, kind, next, PAGE);
    const gone = (await withoutWorkflow(client, page, afterS)).map(({ key }) => key);
    // A row that was closed meanwhile has done with its workflow.
    const open = gone.length > 0 ? await stillOpen(db, kind, gone) : [];
    const missing = [...new Map(open.map((one) => [one.workflowId, one])).values()];
    next = page[PAGE - 1]?.key ?? '';
    yield { checked: page.length, missing, next };
  } while (next !== '');
}

export async function withoutWorkflow(client: Client, work: Work[], afterS: number): Promise<Work[]> {
  const missing = await Promise.all(
    work.map(async ({ workflowId, since, now }) => {
      const handle = client.workflow.getHandle(workflowId);
      const found = await within(client, () => handle.describe()).catch(unlessGone);
      if (found?.status.name === 'RUNNING') return false;
      return now.getTime() - (found?.closeTime ?? since).getTime() >= afterS * 1000;
    }),
  );
  return work.filter((_, i) => missing[i]);
}

/** `WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR`, as the SDK says it. */
const NON_DETERMINISTIC = 24;
/** The end of a history in which its last task is, and many a signal after it. */
const EVENTS_READ = 100;

/**
 * Ends workflows that another version began, whose steps this one does not know: Temporal would try
 * the same task for ever. Started again, they begin with what the rows say.
 *
 * @param gotOn is called when Temporal has answered about one: about all it may take minutes
 */
export const endStuck = (client: Client, work: Work[], gotOn: () => void = () => undefined): Promise<void> =>
  eachOf(work, AT_ONCE, async ({ workflowId }) => {
    await within(client, () => endIfStuck(client, workflowId)).catch(unlessGone);
    gotOn();
  });

async function endIfStuck(client: Client, workflowId: string): Promise<void> {
  const { runId, raw } = await client.workflow.getHandle(workflowId).describe();
  // A workflow that sleeps, or has ended, has no task.
  if (!raw.pendingWorkflowTask) return;
  const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
    namespace: client.options.namespace,
    execution: { workflowId, runId },
    maximumPageSize: EVENTS_READ,
  });
  const last = history?.events?.find(
    (event) => event.workflowTaskCompletedEventAttributes ?? event.workflowTaskFailedEventAttributes,
  );
  if (Number(last?.workflowTaskFailedEventAttributes?.cause) !== NON_DETERMINISTIC) return;
  await client.workflow.getHandle(workflowId, runId).terminate('begun by another version: started anew');
}

export interface RowlessWorkflow {
  workflowId: string;
  runId: string;
  /** When it was started. */
  since: Date;
}

/** Others may share the namespace; their workers poll other queues. */
const OURS_THAT_RUN = `ExecutionStatus = 'Running' AND TaskQueue IN ('${TASK_QUEUES.join(`', '`)}')`;

/**
 * Each page of our workflows that run, and which of them have no row, as after Postgres was
 * restored to an earlier moment: they read it, fail, and try again for ever.
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

/** Ends them; what has ended meanwhile is left. Should a row come back, its workflow is started. */
export const endRowless = (client: Client, workflows: RowlessWorkflow[]): Promise<void> =>
  eachOf(workflows, AT_ONCE, async ({ workflowId, runId }) => {
    const handle = client.workflow.getHandle(workflowId, runId);
    const end = () => handle.terminate('reconcile --end-rowless: its row is gone');
    await within(client, end).catch(unlessGone);
  });
