import {
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
  type Client,
  type ScheduleOptions,
  type ScheduleOptionsStartWorkflowAction,
  type Workflow,
} from '@temporalio/client';
import type { Duration } from '@temporalio/common';
import { OperatorError } from '../domain/failures';
import { TASK_QUEUE, type WORKFLOW_TYPE } from '../domain/workflow/messages';

/** The memo with the database that owns the namespace. */
const INSTALLATION = 'installation';
/** A Schedule is a workflow of the server's own, and a busy server answers late. */
const ANSWER_WITHIN_MS = 15_000;

type Runs = Omit<ScheduleOptions<ScheduleOptionsStartWorkflowAction<Workflow>>, 'scheduleId'>;

type Run = Pick<Runs, 'spec'> & { summary: string; timeout: Duration; catchUp: Duration };

/** A run that was missed is made up for by the next one. */
const OFTEN = { timeout: '2h', catchUp: '1m' } as const;

/**
 * Each Schedule starts the workflow of its name. The timeout ends a run that no worker takes up,
 * since an open run blocks all later runs.
 */
const RUNS = {
  reconcile: {
    spec: { intervals: [{ every: '1m' }] },
    summary: 'Starts again what is overdue or has lost its workflow',
    ...OFTEN,
  },
  chain: {
    spec: { intervals: [{ every: '5m' }] },
    summary: 'Chains what was written since, and signs it',
    ...OFTEN,
  },
  // 02:00 UTC; a machine that is off at night catches up once it is on.
  verify: {
    spec: { intervals: [{ every: '1d', offset: '2h' }] },
    summary: 'Compares the books, and keeps how many differences there are',
    timeout: '20h',
    catchUp: '23h',
  },
  sweep: {
    spec: { intervals: [{ every: '1m' }] },
    summary: 'Deletes what has expired, and folds balances',
    ...OFTEN,
  },
} satisfies Partial<Record<keyof typeof WORKFLOW_TYPE, Run>>;

type Scheduled = keyof typeof RUNS;
export const SCHEDULED = Object.keys(RUNS) as Scheduled[];

function runsOf(workflowType: Scheduled, memo?: Record<string, unknown>): Runs {
  const { spec, summary, timeout, catchUp } = RUNS[workflowType];
  return {
    spec,
    action: {
      type: 'startWorkflow',
      workflowId: workflowType,
      workflowType,
      taskQueue: TASK_QUEUE,
      staticSummary: summary,
      workflowRunTimeout: timeout,
      ...(memo && { memo }),
    },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: catchUp },
  };
}

/**
 * Creates or updates the Temporal Schedules; a paused Schedule stays paused.
 *
 * The Schedule of `reconcile` also names the namespace's installation, by a memo on its runs. Each
 * process creates it before anything else, and the server decides which of several processes is
 * first.
 *
 * @param installation id of the database that claims the namespace
 * @param address for the message
 * @throws OperatorError if the namespace is another database's; its Schedules stay
 */
export async function ensureSchedules(
  client: Pick<Client, 'schedule' | 'withDeadline' | 'options'>,
  installation: string,
  address: string,
): Promise<void> {
  await client.withDeadline(Date.now() + ANSWER_WITHIN_MS, async () => {
    for (const scheduleId of SCHEDULED) {
      const marks = scheduleId === 'reconcile';
      const runs = runsOf(scheduleId, marks ? { [INSTALLATION]: installation } : undefined);
      try {
        await client.schedule.create({ scheduleId, ...runs });
      } catch (error) {
        if (!(error instanceof ScheduleAlreadyRunning)) throw error;
        await client.schedule.getHandle(scheduleId).update(({ state, action }) => {
          if (marks && (action.memo?.[INSTALLATION] ?? installation) !== installation)
            throw new OperatorError(
              `The namespace "${client.options.namespace}" at ${address} belongs to another Assent: correct TEMPORAL_ADDRESS or TEMPORAL_NAMESPACE.`,
            );
          return { ...runs, state };
        });
      }
    }
  });
}

/** Operators may pause or delete a Schedule by hand. */
interface ScheduleState {
  is: 'running' | 'paused' | 'missing';
  nextAt?: Date | undefined;
}

export async function scheduleState(
  client: Pick<Client, 'schedule' | 'withDeadline'>,
  id: Scheduled,
): Promise<ScheduleState> {
  try {
    const { state, info } = await client.withDeadline(Date.now() + ANSWER_WITHIN_MS, () =>
      client.schedule.getHandle(id).describe(),
    );
    return { is: state.paused ? 'paused' : 'running', nextAt: info.nextActionTimes[0] };
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return { is: 'missing' };
    throw error;
  }
}

/** Does nothing while a run of `reconcile` is open. */
export async function triggerRecover(client: Pick<Client, 'schedule' | 'withDeadline'>): Promise<void> {
  await client.withDeadline(Date.now() + ANSWER_WITHIN_MS, () =>
    client.schedule.getHandle('reconcile').trigger(ScheduleOverlapPolicy.SKIP),
  );
}
