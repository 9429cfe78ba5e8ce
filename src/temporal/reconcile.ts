import {
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
  WorkflowNotFoundError,
  type Client,
  type IntervalSpec,
  type ScheduleOptions,
  type ScheduleOptionsStartWorkflowAction,
  type Workflow,
} from '@temporalio/client';
import type { Executor } from '../database/connection';
import { stillOpen, type OpenWork } from '../database/operation/reconcile';
import { TASK_QUEUE, WORKFLOW_TYPE } from '../workflows/messages';
import { ForeignNamespaceError } from './foreign-namespace';

/**
 * Temporal's side of `reconcile`: the schedule that runs it, those of `chain` and `verify`, and
 * which of our workflows it has.
 */

/** Its id, and the beginning of its runs' ids. */
const RECONCILE = 'reconcile';
/** The name of the memo that says whose the namespace is. */
const OWNER = 'installation';
/** Longest wait for one call. */
const CALL_TIMEOUT_MS = 5_000;
/**
 * Longest wait for the schedule, which is a workflow of the server's own: a busy one takes a while
 * to answer.
 */
const SCHEDULE_TIMEOUT_MS = 15_000;
/** Workflows that are asked about at once. */
const DESCRIBED_AT_ONCE = 10;

/** The ids of the other schedules, and the beginnings of their runs' ids. */
const CHAIN = 'chain';
const VERIFY = 'verify';

/** What runs on a Temporal Schedule. */
export const SCHEDULED = [RECONCILE, CHAIN, VERIFY] as const;

type Runs = Omit<ScheduleOptions<ScheduleOptionsStartWorkflowAction<Workflow>>, 'scheduleId'>;

const runsOf = (
  workflowType: string,
  interval: IntervalSpec,
  staticSummary: string,
  { workflowRunTimeout, catchupWindow }: { workflowRunTimeout: '2h' | '20h'; catchupWindow: '1m' | '1d' },
): Runs => ({
  spec: { intervals: [interval] },
  action: {
    type: 'startWorkflow',
    workflowId: workflowType,
    workflowType,
    taskQueue: TASK_QUEUE,
    staticSummary,
    // One that no worker takes up must not keep all later ones from starting.
    workflowRunTimeout,
  },
  policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow },
});

const OFTEN = { workflowRunTimeout: '2h', catchupWindow: '1m' } as const;
const RUNS = runsOf(
  WORKFLOW_TYPE.reconcile,
  { every: '1m' },
  'Starts again what is overdue or has lost its workflow',
  OFTEN,
);
const CHAIN_RUNS = runsOf(
  WORKFLOW_TYPE.chain,
  { every: '5m' },
  'Chains what was written since, and signs it',
  OFTEN,
);
/** At two in the morning, UTC. The next night makes up for one that Temporal was away for. */
const VERIFY_RUNS = runsOf(
  WORKFLOW_TYPE.verify,
  { every: '1d', offset: '2h' },
  'Compares the books, and keeps how many differences there are',
  { workflowRunTimeout: '20h', catchupWindow: '1m' },
);

/**
 * Makes the Temporal Schedules, or brings them up to date; whoever has paused one keeps it paused.
 *
 * That of `reconcile` also marks whose the namespace is, by a memo on the runs that it starts:
 * everybody makes it before anything else, and the server lets one of several be the first. (A
 * memo of the schedule itself could not be added to one that an older version has made.)
 *
 * @param installation whose the namespace is to be
 * @param address for the message
 * @throws ForeignNamespaceError where it is another's already, and is left as it was
 */
export async function ensureSchedules(
  client: Pick<Client, 'schedule' | 'withDeadline' | 'options'>,
  installation: string,
  address: string,
): Promise<void> {
  const runs = { ...RUNS, action: { ...RUNS.action, memo: { [OWNER]: installation } } };
  await client.withDeadline(Date.now() + SCHEDULE_TIMEOUT_MS, async () => {
    await ensure(client, RECONCILE, runs, (action) => {
      // One from an older version has no owner, and gets one.
      const owner = action.memo?.[OWNER] ?? installation;
      if (owner !== installation) throw new ForeignNamespaceError(client.options.namespace, address);
    });
    await ensure(client, CHAIN, CHAIN_RUNS);
    await ensure(client, VERIFY, VERIFY_RUNS);
  });
}

async function ensure(
  client: Pick<Client, 'schedule'>,
  scheduleId: string,
  runs: Runs,
  judge: (action: { memo?: Record<string, unknown> }) => void = () => undefined,
): Promise<void> {
  try {
    await client.schedule.create({ scheduleId, ...runs });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    await client.schedule.getHandle(scheduleId).update(({ state, action }) => {
      judge(action);
      return { ...runs, state };
    });
  }
}

/** What a Temporal Schedule is: it may have been paused, or deleted, by hand. */
export type ScheduleState =
  | { is: 'paused' | 'missing' }
  | {
      is: 'running';
      /** When it last started a run; absent before its first. */
      startedAt: Date | undefined;
      nextAt: Date | undefined;
      /** Whether one that it has started is still open. */
      hasOpenRun: boolean;
    };

export async function scheduleState(
  client: Pick<Client, 'schedule' | 'withDeadline'>,
  id: (typeof SCHEDULED)[number],
): Promise<ScheduleState> {
  try {
    const { state, info } = await client.withDeadline(Date.now() + SCHEDULE_TIMEOUT_MS, () =>
      client.schedule.getHandle(id).describe(),
    );
    if (state.paused) return { is: 'paused' };
    return {
      is: 'running',
      startedAt: info.recentActions.at(-1)?.takenAt,
      nextAt: info.nextActionTimes[0],
      hasOpenRun: info.runningActions.length > 0,
    };
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return { is: 'missing' };
    throw error;
  }
}

/** Runs it now, unless it runs already. */
export async function triggerReconcile(client: Pick<Client, 'schedule' | 'withDeadline'>): Promise<void> {
  await client.withDeadline(Date.now() + SCHEDULE_TIMEOUT_MS, () =>
    client.schedule.getHandle(RECONCILE).trigger(ScheduleOverlapPolicy.SKIP),
  );
}

/**
 * Of these, what has had no workflow for `afterS` seconds: there is none, or it has ended, though
 * the row is open.
 */
export async function withoutWorkflow(client: Client, work: OpenWork[], afterS: number): Promise<OpenWork[]> {
  const missing: OpenWork[] = [];
  for (let at = 0; at < work.length; at += DESCRIBED_AT_ONCE) {
    const some = work.slice(at, at + DESCRIBED_AT_ONCE);
    const gone = await Promise.all(some.map((one) => isGone(client, one, afterS)));
    missing.push(...some.filter((_, i) => gone[i]));
  }
  return missing;
}

/**
 * Of these, what is still open and has had no workflow for `afterS` seconds, nor has a start of one
 * in the outbox.
 */
export async function openWithoutWorkflow(
  db: Executor,
  client: Client,
  work: OpenWork[],
  afterS: number,
): Promise<OpenWork[]> {
  const open = await stillOpen(db, await withoutWorkflow(client, work, afterS));
  // What was just being started is no longer in the outbox now, and is asked about once more.
  return withoutWorkflow(client, open, afterS);
}

async function isGone(
  client: Client,
  { workflowId, since, now }: OpenWork,
  afterS: number,
): Promise<boolean> {
  const goneFor = (from: Date) => now.getTime() - from.getTime() >= afterS * 1000;
  try {
    const { status, closeTime } = await client.withDeadline(Date.now() + CALL_TIMEOUT_MS, () =>
      client.workflow.getHandle(workflowId).describe(),
    );
    return status.name !== 'RUNNING' && goneFor(closeTime ?? since);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return goneFor(since);
    throw error;
  }
}
