import { randomUUID } from 'node:crypto';
import { activityInfo } from '@temporalio/activity';
import type { WorkflowHandle } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import type { RecurringActivities } from '../../src/activities/recurring';
import type { ScheduleState } from '../../src/database/recurring-state';
import type { recurring } from '../../src/workflows';
import { TASK_QUEUE, WAKE_SIGNAL } from '../../src/workflows/messages';
import { timeSkippingEnvironment } from '../support/time-skipping';
import { withWorker, workflowBundle } from '../support/workflow-worker';

const SCHEDULE_ID = 'sch_00000000000000000000000001';
const DAY_MS = 86_400_000;

/** The database's part: due dates, and which of them were charged when. Times are the environment's. */
class Plan {
  readonly charged: number[] = [];
  readonly looks: number[] = [];
  readonly runs = new Set<string>();
  deliveries = 0;
  /** Called after a look has been taken, before its result is known to the workflow. */
  afterLook: (workflowId: string) => Promise<void> = () => Promise.resolve();

  constructor(
    private readonly environment: TestWorkflowEnvironment,
    public dues: number[],
  ) {}

  activities(): RecurringActivities {
    return {
      advance: async (scheduleId): Promise<ScheduleState> => {
        expect(scheduleId).toBe(SCHEDULE_ID);
        const { runId, workflowId } = activityInfo().workflowExecution ?? {};
        this.runs.add(String(runId));
        const now = await this.environment.currentTimeMs();
        this.looks.push(now);
        for (const due of this.dues.filter((moment) => moment <= now)) this.charged.push(due);
        this.dues = this.dues.filter((moment) => moment > now);
        const [next] = this.dues;
        await this.afterLook(String(workflowId));
        this.deliveries += 1;
        return next === undefined
          ? { status: 'completed', nextBillingDate: null, sleepMs: null, waitingFor: 'nothing' }
          : {
              status: 'active',
              nextBillingDate: new Date(next).toISOString(),
              sleepMs: next - now,
              waitingFor: 'the next due date',
            };
      },
    };
  }
}

describe('the workflow of a schedule', () => {
  let environment: TestWorkflowEnvironment;
  let start: number;

  beforeAll(async () => {
    await workflowBundle();
  });

  beforeEach(async () => {
    environment = await timeSkippingEnvironment();
    start = await environment.currentTimeMs();
  });

  afterEach(() => environment.teardown());

  async function run(
    plan: Plan,
    story: (handle: WorkflowHandle<typeof recurring>) => Promise<unknown> = () => Promise.resolve(),
  ): Promise<void> {
    await withWorker(environment, plan.activities(), async () => {
      const handle = await environment.client.workflow.start<typeof recurring>('recurring', {
        workflowId: `recurring/${randomUUID()}`,
        taskQueue: TASK_QUEUE,
        args: [SCHEDULE_ID],
      });
      await story(handle);
      await handle.result();
    });
  }

  const monthly = (count: number) => {
    const first = new Date(start);
    return Array.from({ length: count }, (_, n) =>
      Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1 + n, 1),
    );
  };

  it('charges 36 months, each when it is due', async () => {
    const dues = monthly(36);
    const plan = new Plan(environment, dues);
    await run(plan);
    expect(plan.charged).toEqual(dues);
    for (const due of dues) {
      const look = plan.looks.find((moment) => moment >= due) ?? Infinity;
      expect(look - due).toBeLessThan(60_000);
    }
    expect(plan.deliveries).toBe(plan.looks.length);
  }, 120_000);

  it('sleeps through years, looking up once a month', async () => {
    const plan = new Plan(environment, [start + 3 * 365 * DAY_MS]);
    await run(plan);
    expect(plan.charged).toHaveLength(1);
    expect(plan.looks.length).toBeGreaterThanOrEqual(36);
    expect(plan.looks.length).toBeLessThanOrEqual(40);
  });

  it('notices a change made while it sleeps as soon as it is woken', async () => {
    const plan = new Plan(environment, [start + 20 * DAY_MS]);
    await run(plan, async (handle) => {
      await environment.sleep(5 * DAY_MS);
      plan.dues = [start + 6 * DAY_MS];
      await handle.signal(WAKE_SIGNAL);
    });
    expect(plan.charged).toEqual([start + 6 * DAY_MS]);
    expect(((plan.looks.at(-1) ?? 0) - start) / DAY_MS).toBeLessThan(7);
  });

  it('notices a change whose signal was lost at its next look', async () => {
    const plan = new Plan(environment, [start + 20 * DAY_MS]);
    await run(plan, async () => {
      await environment.sleep(5 * DAY_MS);
      plan.dues = [start + 6 * DAY_MS];
    });
    expect(plan.charged).toEqual([start + 6 * DAY_MS]);
    expect(((plan.looks.at(-1) ?? 0) - start) / DAY_MS).toBeGreaterThanOrEqual(20);
  });

  it('takes any number of signals for what they are: looks', async () => {
    const plan = new Plan(environment, monthly(3));
    await run(plan, async (handle) => {
      await Promise.all(Array.from({ length: 10 }, () => handle.signal(WAKE_SIGNAL)));
    });
    expect(plan.charged).toHaveLength(3);
  });

  it('loses no signal that comes while it looks', async () => {
    const plan = new Plan(environment, [start + 20 * DAY_MS]);
    plan.afterLook = async (workflowId) => {
      plan.afterLook = () => Promise.resolve();
      plan.dues = [start + 2 * DAY_MS];
      await environment.client.workflow.getHandle(workflowId).signal(WAKE_SIGNAL);
    };
    await run(plan);
    expect(plan.charged).toEqual([start + 2 * DAY_MS]);
    expect(((plan.looks.at(-1) ?? 0) - start) / DAY_MS).toBeLessThan(3);
  });

  it('goes on in a new run every hundred looks, and charges nothing twice or never', async () => {
    const dues = Array.from({ length: 250 }, (_, n) => start + (n + 1) * DAY_MS);
    const plan = new Plan(environment, dues);
    await run(plan, async (handle) => {
      await environment.sleep(150 * DAY_MS);
      await handle.signal(WAKE_SIGNAL);
    });
    expect(plan.charged).toEqual(dues);
    expect(plan.runs.size).toBe(3);
  }, 120_000);
});
