import { randomUUID } from 'node:crypto';
import { activityInfo } from '@temporalio/activity';
import type { WorkflowHandle } from '@temporalio/client';
import type { RecurringActivities, ScheduleState } from '../../src/activities/recurring';
import type { Facts } from '../../src/domain/recurring/recurring-step';
import type { recurring } from '../../src/workflows';
import { TASK_QUEUE } from '../../src/domain/workflow/messages';
import { timeSkippingServer, type TimeSkippingEnvironment } from '../support/time-skipping';
import { eventually } from '../support/engine';
import { withWorker, workflowBundle } from '../support/workflow-worker';

const SCHEDULE_ID = 'sch_00000000000000000000000001';
const DAY_MS = 86_400_000;

/**
 * The database's part: due dates, and which of them were charged when. Times are the environment's.
 */
class Plan {
  readonly charged: number[] = [];
  readonly ran: { name: keyof RecurringActivities; at: number }[] = [];
  /** Up to which event the workflow said that its history has it. */
  readonly reportedUntil: number[] = [];
  readonly runs = new Set<string>();
  /** Whether a bank answers while its answer is waited for. */
  answersAtOnce = true;
  /** Called when an activity is done, before its result is known to the workflow. */
  afterActivity: (workflowId: string) => Promise<void> = () => Promise.resolve();
  /** When the window of the charge in hand closes; null where none is in hand. */
  private askedUntil: number | null = null;

  constructor(
    private readonly environment: TimeSkippingEnvironment,
    public dues: number[],
  ) {}

  activities(): RecurringActivities {
    const names = [
      'readSchedule',
      'chargeBilling',
      'settleBilling',
      'skipBillings',
      'giveNotice',
      'endSchedule',
      'cancelSchedule',
    ] as const;
    const entries = names.map((name) => [
      name,
      (scheduleId: string, reportedUntil: number) => {
        this.reportedUntil.push(reportedUntil);
        return this.run(name, scheduleId);
      },
    ]);
    return Object.fromEntries(entries) as RecurringActivities;
  }

  names(): string[] {
    return this.ran.map(({ name }) => name);
  }

  answer(): void {
    this.askedUntil = null;
  }

  private async run(name: keyof RecurringActivities, scheduleId: string): Promise<ScheduleState> {
    expect(scheduleId).toBe(SCHEDULE_ID);
    const { runId, workflowId } = activityInfo().workflowExecution ?? {};
    this.runs.add(String(runId));
    const now = await this.environment.currentTimeMs();
    this.ran.push({ name, at: now });
    const [due] = this.dues;
    if (name === 'chargeBilling' && due !== undefined && due <= now) {
      this.charged.push(due);
      this.dues = this.dues.slice(1);
      this.askedUntil = this.answersAtOnce ? null : now + DAY_MS / 2;
    }
    const state = this.state(now);
    await this.afterActivity(String(workflowId));
    return state;
  }

  private state(now: number): ScheduleState {
    const [next] = this.dues;
    const hasEnded = next === undefined && this.askedUntil === null;
    return {
      facts: {
        now,
        status: hasEnded ? 'completed' : 'active',
        failedInARow: 0,
        next: next === undefined ? null : billing(next),
        open: this.askedUntil === null ? null : asked(this.askedUntil),
      },
      did: [],
      told: [],
      sequence: this.ran.length,
      nextBillingDate: next === undefined ? null : new Date(next).toISOString(),
      delayMs: 0,
      waitingFor: 'the next due date',
    };
  }
}

const billing = (dueAt: number): Facts['next'] => ({
  n: 1,
  dueAt,
  noticeAt: null,
  chargeFrom: dueAt,
  arrearsFrom: Number.MAX_SAFE_INTEGER,
  heldFor: null,
});
const asked = (expiresAt: number): Facts['open'] => ({
  n: 0,
  attempts: 1,
  overAt: Number.MAX_SAFE_INTEGER,
  maybeDebited: false,
  isBooked: false,
  lapsed: false,
  status: 'pending',
  charge: { status: 'pending', expiresAt },
});

describe('the workflow of a schedule', () => {
  const newEnvironment = timeSkippingServer();
  let environment: TimeSkippingEnvironment;
  let start: number;

  beforeAll(async () => {
    await workflowBundle();
  });

  beforeEach(async () => {
    environment = newEnvironment();
    start = await environment.currentTimeMs();
  });

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

  it('charges each month when it is due, at one wake-up each', async () => {
    const dues = monthly(12);
    const plan = new Plan(environment, dues);
    let tasks = 0;
    await run(plan, async (handle) => {
      await handle.result();
      const { events } = await handle.fetchHistory();
      tasks = (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes).length;
    });
    expect(plan.charged).toEqual(dues);
    for (const due of dues) {
      const charge = plan.ran.find(({ name, at }) => name === 'chargeBilling' && at >= due);
      expect((charge?.at ?? Infinity) - due).toBeLessThan(60_000);
    }
    expect(tasks).toBe(1 + dues.length);
  }, 120_000);

  it('sleeps through years, reading once a month', async () => {
    const plan = new Plan(environment, [start + 3 * 365 * DAY_MS]);
    await run(plan);
    expect(plan.charged).toHaveLength(1);
    expect(plan.ran.length).toBeGreaterThanOrEqual(35);
    expect(plan.ran.length).toBeLessThanOrEqual(40);
  });

  it('notices a change made while it sleeps as soon as it is signalled', async () => {
    const plan = new Plan(environment, [start + 20 * DAY_MS]);
    await run(plan, async (handle) => {
      await environment.sleep(5 * DAY_MS);
      plan.dues = [start + 6 * DAY_MS];
      await handle.signal('termsChanged');
    });
    expect(plan.charged).toEqual([start + 6 * DAY_MS]);
    expect(plan.names()).toEqual(['readSchedule', 'readSchedule', 'chargeBilling']);
    expect(((plan.ran.at(-1)?.at ?? 0) - start) / DAY_MS).toBeLessThan(7);
  });

  it('notices a change whose signal was lost when it wakes by itself', async () => {
    const plan = new Plan(environment, [start + 20 * DAY_MS]);
    await run(plan, async () => {
      await environment.sleep(5 * DAY_MS);
      plan.dues = [start + 6 * DAY_MS];
    });
    expect(plan.charged).toEqual([start + 6 * DAY_MS]);
    expect(((plan.ran.at(-1)?.at ?? 0) - start) / DAY_MS).toBeGreaterThanOrEqual(20);
  });

  it('settles as soon as a bank that took its time has answered', async () => {
    const plan = new Plan(environment, [start + DAY_MS]);
    plan.answersAtOnce = false;
    await run(plan, async (handle) => {
      await environment.sleep(DAY_MS + 3_600_000);
      plan.answer();
      await handle.signal('bankAnswered');
    });
    expect(plan.names()).toEqual(['readSchedule', 'chargeBilling', 'settleBilling', 'settleBilling']);
    expect(((plan.ran.at(-1)?.at ?? 0) - start) / DAY_MS).toBeLessThan(1.25);
  });

  it('charges what a test clock has come to, without reading first', async () => {
    const plan = new Plan(environment, [start + 20 * DAY_MS]);
    await run(plan, async (handle) => {
      await environment.sleep(5 * DAY_MS);
      plan.dues = [start + 5 * DAY_MS];
      await handle.signal('fellDue');
    });
    expect(plan.names()).toEqual(['readSchedule', 'chargeBilling']);
    expect(plan.charged).toHaveLength(1);
  });

  it('is cancelled by a request to cancel its workflow, and a charge in hand runs to its end', async () => {
    const plan = new Plan(environment, [start + DAY_MS, start + 20 * DAY_MS]);
    plan.answersAtOnce = false;
    await run(plan, async (handle) => {
      await environment.sleep(DAY_MS + 3_600_000);
      await handle.cancel();
      await eventually(() => Promise.resolve(plan.names().includes('cancelSchedule')));
      plan.dues = [];
      plan.answer();
      await handle.signal('bankAnswered');
    });
    expect(plan.names()).toEqual([
      'readSchedule',
      'chargeBilling',
      'settleBilling',
      'cancelSchedule',
      'settleBilling',
    ]);
  });

  it('loses no signal that comes while it reads', async () => {
    const plan = new Plan(environment, [start + 20 * DAY_MS]);
    plan.afterActivity = async (workflowId) => {
      plan.afterActivity = () => Promise.resolve();
      plan.dues = [start + 2 * DAY_MS];
      await environment.client.workflow.getHandle(workflowId).signal('termsChanged');
    };
    await run(plan);
    expect(plan.charged).toEqual([start + 2 * DAY_MS]);
    expect(((plan.ran.at(-1)?.at ?? 0) - start) / DAY_MS).toBeLessThan(3);
  });

  it('goes on in a new run every two hundred activities, and charges nothing twice or never', async () => {
    const dues = Array.from({ length: 220 }, (_, n) => start + (n + 1) * DAY_MS);
    const plan = new Plan(environment, dues);
    await run(plan, async (handle) => {
      await environment.sleep(60 * DAY_MS);
      await handle.signal('termsChanged');
    });
    expect(plan.charged).toEqual(dues);
    expect(plan.runs.size).toBe(2);
    // Each says up to where the one before it reported, across the runs too.
    expect(plan.reportedUntil).toEqual([1, ...plan.ran.slice(1).map((_, before) => before + 1)]);
  }, 120_000);

  it('is cancelled also where the request comes as a run has done its two hundred activities', async () => {
    const dues = Array.from({ length: 240 }, (_, n) => start + (n + 1) * DAY_MS);
    const plan = new Plan(environment, dues);
    plan.afterActivity = async (workflowId) => {
      const handle = environment.client.workflow.getHandle(workflowId);
      if (plan.ran.length !== 200) return;
      await handle.cancel();
      plan.dues = [];
    };
    await run(plan);
    expect(plan.names().slice(199)).toEqual(['chargeBilling', 'cancelSchedule']);
  }, 120_000);
});
