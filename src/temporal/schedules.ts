import {
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
  type Client,
  type ScheduleOptions,
  type ScheduleOptionsStartWorkflowAction,
  type Workflow,
} from '@temporalio/client';
import { TASK_QUEUE, WORKFLOW_TYPE } from '../workflows/messages';
import { ForeignNamespaceError } from './foreign-namespace';

/** Temporal Schedules: what they start, and how they are. */

/** Each starts the workflow of its name. */
export const SCHEDULED = [WORKFLOW_TYPE.reconcile, WORKFLOW_TYPE.chain, WORKFLOW_TYPE.verify] as const;
type Scheduled = (typeof SCHEDULED)[number];

/** The memo that names the database owning the namespace. */
const OWNER = 'installation';
/**
 * Longest wait for a schedule, which is a workflow of the server's own: a busy server takes a while
 * to answer.
 */
const ANSWER_WITHIN_MS = 15_000;

type Runs = Omit<ScheduleOptions<ScheduleOptionsStartWorkflowAction<Workflow>>, 'scheduleId'>;

/** A run that no worker takes up must not keep all later ones from starting. */
const RUNS: Record<
  Scheduled,
  Pick<Runs, 'spec'> & { summary: string; timeout: '2h' | '20h'; catchUp: '1m' | '23h' }
> = {
  reconcile: {
    spec: { intervals: [{ every: '1m' }] },
    summary: 'Starts again what is overdue or has lost its workflow',
    timeout: '2h',
    catchUp: '1m',
  },
  chain: {
    spec: { intervals: [{ every: '5m' }] },
    summary: 'Chains what was written since, and signs it',
    timeout: '2h',
    catchUp: '1m',
  },
  // At two in the morning, UTC, or as soon as a machine is on again that is off each night.
  verify: {
    spec: { intervals: [{ every: '1d', offset: '2h' }] },
    summary: 'Compares the books, and keeps how many differences there are',
    timeout: '20h',
    catchUp: '23h',
  },
};

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
 * Makes the Temporal Schedules, or brings them up to date; a paused one stays paused.
 *
 * The schedule of `reconcile` also marks whose the namespace is, by a memo on the runs that it
 * starts: every process makes it before anything else, and the server lets one of several be the
 * first.
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
  await client.withDeadline(Date.now() + ANSWER_WITHIN_MS, async () => {
    for (const scheduleId of SCHEDULED) {
      const marks = scheduleId === 'reconcile';
      const runs = runsOf(scheduleId, marks ? { [OWNER]: installation } : undefined);
      try {
        await client.schedule.create({ scheduleId, ...runs });
      } catch (error) {
        if (!(error instanceof ScheduleAlreadyRunning)) throw error;
        await client.schedule.getHandle(scheduleId).update(({ state, action }) => {
          if (marks && (action.memo?.[OWNER] ?? installation) !== installation)
            throw new ForeignNamespaceError(client.options.namespace, address);
          return { ...runs, state };
        });
      }
    }
  });
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
  id: Scheduled,
): Promise<ScheduleState> {
  try {
    const { state, info } = await client.withDeadline(Date.now() + ANSWER_WITHIN_MS, () =>
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

/** Runs `reconcile` now, unless it runs already. */
export async function triggerReconcile(client: Pick<Client, 'schedule' | 'withDeadline'>): Promise<void> {
  await client.withDeadline(Date.now() + ANSWER_WITHIN_MS, () =>
    client.schedule.getHandle('reconcile').trigger(ScheduleOverlapPolicy.SKIP),
  );
}
