import { randomUUID } from 'node:crypto';
import { activityInfo } from '@temporalio/activity';
import { temporal } from '@temporalio/proto';
import type { Answers, BillingRequestActivities } from '../../src/activities/billing-request';
import type { WebhookActivities } from '../../src/activities/webhook';
import { TASK_QUEUE } from '../../src/domain/workflow/messages';
import { timeSkippingServer, type TimeSkippingEnvironment } from '../support/time-skipping';
import { withWorker, workflowBundle } from '../support/workflow-worker';

const HOUR_MS = 3_600_000;

interface Row {
  status: string;
  /**
   * When its credit is overdue; of a payment between customers whose payee's bank has not heard of
   * it.
   */
  creditDueMs?: number;
}

/** Charges of one call, in place of the database; times are the environment's. */
class Call {
  readonly rows = new Map<string, Row>();
  /** What was done, in order. What has been told is not told again, as with the real one. */
  done: string[] = [];
  /** What a bank says while it is waited for. */
  atOnce: () => void | Promise<void> = () => undefined;
  /** What happens while the merchant is being told. */
  meanwhile: () => Promise<void> = () => Promise.resolve();

  constructor(
    private readonly environment: TimeSkippingEnvironment,
    private readonly closesAtMs: number,
  ) {}

  activities(): BillingRequestActivities & Pick<WebhookActivities, 'askBank' | 'tellMerchant'> {
    const note = (what: string) => void this.done.push(what);
    const sent = { delivered: 1, failed: 0, handedOver: 0, told: [] };
    return {
      askBank: async (_workflowId, types) => {
        expect(types).toEqual(['billing.request']);
        note('ask');
        return sent;
      },
      tellMerchant: async (_workflowId, types) => {
        expect(types).not.toContain('billing.request');
        const line = `tell ${this.statuses()}`;
        // A task that a signal meets runs again, and so do its activities.
        if (!this.done.includes(line)) note(line);
        await this.meanwhile();
        return sent;
      },
      awaitAnswer: async (ids) => {
        note(`await ${ids.length}`);
        await this.atOnce();
        return this.answers(ids);
      },
      closeWindow: async (ids) => {
        note(`close ${ids.length}`);
        for (const id of ids) {
          const row = this.rows.get(id);
          if (row?.status === 'pending' && (await this.leftMs(this.closesAtMs)) <= 0) row.status = 'declined';
        }
        return this.answers(ids);
      },
      awaitCredit: async (ids) => {
        note(`credit ${ids.length}`);
        const waiting = [];
        for (const id of ids) {
          const dueMs = this.rows.get(id)?.creditDueMs;
          if (dueMs !== undefined && (await this.leftMs(dueMs)) > 0) waiting.push({ id, dueMs });
        }
        const [first] = waiting;
        const overdue = first && { inMs: await this.leftMs(first.dueMs), at: `${first.dueMs}` };
        return { waiting: waiting.map(({ id }) => id), overdue: overdue ?? null };
      },
    };
  }

  private async leftMs(untilMs: number): Promise<number> {
    return Math.max(0, untilMs - (await this.environment.currentTimeMs()));
  }

  private statuses(): string {
    return [...this.rows.values()].map(({ status }) => status).join(', ');
  }

  private async answers(ids: string[]): Promise<Answers> {
    const found = ids.map((id) => ({ id, row: this.rows.get(id) ?? { status: 'unknown' } }));
    const open = found.filter(({ row }) => row.status === 'pending');
    const ended = found.filter(({ row }) => row.status !== 'pending');
    return {
      open: open.map(({ id }) => id),
      onlyOpen:
        open.length === 1 ? { reference: open[0]?.id ?? '', bank: 'First Bank', amount: '1 NGN' } : null,
      ended: ended.map(({ id, row: { status, creditDueMs } }) => ({
        billingRequestId: id,
        reference: id,
        bank: 'First Bank',
        amount: '1 NGN',
        status,
        afterS: 1,
        ...(creditDueMs !== undefined && { creditWaits: true as const }),
      })),
      closes: open.length > 0 ? { inMs: await this.leftMs(this.closesAtMs), at: 'tomorrow' } : null,
    };
  }
}

describe('the workflow of a bill', () => {
  const newEnvironment = timeSkippingServer();
  let environment: TimeSkippingEnvironment;
  let call: Call;

  beforeAll(async () => {
    await workflowBundle();
  });

  beforeEach(async () => {
    environment = newEnvironment();
    call = new Call(environment, (await environment.currentTimeMs()) + 24 * HOUR_MS);
    call.rows.set('brq_1', { status: 'pending' });
  });

  const run = (
    story: (handle: Awaited<ReturnType<typeof start>>) => Promise<void>,
    charges = [...call.rows.keys()],
  ) =>
    withWorker(environment, call.activities(), async () => {
      const handle = await start(charges);
      await story(handle);
      await handle.result();
      return (await handle.fetchHistory()).events ?? [];
    });
  const start = (charges: string[]) =>
    environment.client.workflow.start('billingRequest', {
      workflowId: `billing-request/${randomUUID()}`,
      taskQueue: TASK_QUEUE,
      args: [charges],
    });
  const answer = (id: string, status: string) => void call.rows.set(id, { status });
  /** For an activity: signals its workflow; once, although the task is run again. */
  function signalOnce(): () => Promise<void> {
    let sent = false;
    return async () => {
      if (sent) return;
      sent = true;
      const { workflowId = '' } = activityInfo().workflowExecution ?? {};
      await environment.client.workflow.getHandle(workflowId).signal('bankAnswered');
    };
  }

  it('ends in its first task where the bank answers at once', async () => {
    call.atOnce = () => answer('brq_1', 'successful');
    expect(await run(() => Promise.resolve())).toHaveLength(9);
    expect(call.done).toEqual(['ask', 'await 1', 'tell successful']);
  });

  describe('that a signal meets in the middle of its last task', () => {
    it.each(['awaitAnswer', 'tellMerchant'] as const)(
      'during %s, ends all the same: the task runs once more, and finds all of it done',
      async (step) => {
        const signal = signalOnce();
        call.atOnce = async () => {
          answer('brq_1', 'successful');
          if (step === 'awaitAnswer') await signal();
        };
        if (step === 'tellMerchant') call.meanwhile = signal;
        const events = await run(() => Promise.resolve());
        expect(call.done).toEqual(['ask', 'await 1', 'tell successful', 'ask', 'await 1']);
        // Temporal lets no workflow end beside a signal that it has not seen. Nothing else went
        // wrong.
        const failed = events.flatMap((event) => event.workflowTaskFailedEventAttributes ?? []);
        expect(failed.map(({ cause }) => cause)).toEqual([
          temporal.api.enums.v1.WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND,
        ]);
      },
    );
  });

  it('declines a charge that nobody answered once its window has passed, and tells the merchant', async () => {
    const startedAt = await environment.currentTimeMs();
    await run(() => Promise.resolve());
    expect(call.done).toEqual(['ask', 'await 1', 'close 1', 'tell declined']);
    expect((await environment.currentTimeMs()) - startedAt).toBeGreaterThanOrEqual(24 * HOUR_MS);
  });

  it("ends as soon as the bank's answer is in and it is signalled", async () => {
    await run(async (handle) => {
      await environment.sleep(HOUR_MS);
      answer('brq_1', 'successful');
      await handle.signal('bankAnswered');
    });
    expect(call.done).toEqual(['ask', 'await 1', 'await 1', 'tell successful']);
  });

  it('learns of an answer whose signal was lost when the window ends, and reports the answer', async () => {
    await run(async () => {
      await environment.sleep(HOUR_MS);
      answer('brq_1', 'successful');
    });
    expect(call.done).toEqual(['ask', 'await 1', 'close 1', 'tell successful']);
  });

  it('tells of each charge of a call as it ends, and asks no more about it', async () => {
    call.rows.set('brq_2', { status: 'pending' });
    const events = await run(async (handle) => {
      await environment.sleep(HOUR_MS);
      answer('brq_2', 'successful');
      await handle.signal('bankAnswered');
    });
    expect(call.done).toEqual([
      'ask',
      'await 2',
      'await 2',
      'tell pending, successful',
      'close 1',
      'tell declined, successful',
    ]);
    // An operator who looks for what was declined finds the call.
    const indexed = events.flatMap(({ upsertWorkflowSearchAttributesEventAttributes: upserted }) => {
      const status = upserted?.searchAttributes?.indexedFields?.['AssentStatus'];
      return status ? [Buffer.from(status.data ?? []).toString()] : [];
    });
    expect(indexed).toEqual(['"declined"']);
  });

  it('that is started again without its charges tells the ends that an earlier run left untold', async () => {
    answer('brq_1', 'successful');
    await run(() => Promise.resolve(), []);
    expect(call.done).toEqual(['ask', 'tell successful', 'await 0']);
  });

  it('takes a doubled signal for one, and a signal without a change for nothing', async () => {
    await run(async (handle) => {
      await environment.sleep(HOUR_MS);
      await handle.signal('bankAnswered');
      await environment.sleep(HOUR_MS);
      answer('brq_1', 'successful');
      await Promise.all([handle.signal('bankAnswered'), handle.signal('bankAnswered')]);
    });
    expect(call.done.filter((what) => what.startsWith('tell'))).toEqual(['tell successful']);
  });

  it('watches over a payment between customers until the payee’s bank has heard of it', async () => {
    const creditDueMs = (await environment.currentTimeMs()) + 48 * HOUR_MS;
    call.atOnce = () => void call.rows.set('brq_1', { status: 'successful', creditDueMs });
    await run(async (handle) => {
      await environment.sleep(30 * HOUR_MS);
      answer('brq_1', 'successful');
      await handle.signal('bankAnswered');
    });
    expect(call.done).toEqual(['ask', 'await 1', 'tell successful', 'credit 1', 'credit 1']);
  });

  it('looks after the credits of a call once all its charges have ended, each until it is overdue', async () => {
    const startedAt = await environment.currentTimeMs();
    const creditDueMs = startedAt + 26 * HOUR_MS;
    call.atOnce = () => void call.rows.set('brq_1', { status: 'successful', creditDueMs });
    call.rows.set('brq_2', { status: 'pending' });
    await run(() => Promise.resolve());
    const tells = ['tell successful, pending', 'close 1', 'tell successful, declined'];
    expect(call.done).toEqual(['ask', 'await 2', ...tells, 'credit 1', 'credit 1']);
    expect((await environment.currentTimeMs()) - startedAt).toBeGreaterThanOrEqual(26 * HOUR_MS);
  });
});
