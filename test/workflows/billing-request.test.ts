import { randomUUID } from 'node:crypto';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import type { BillingRequestActivities, SettledRequests } from '../../src/activities/billing-request';
import { telling } from '../../src/activities/telling';
import { TASK_QUEUE, WAKE_SIGNAL } from '../../src/workflows/messages';
import { timeSkippingEnvironment } from '../support/time-skipping';
import { withWorker, workflowBundle } from '../support/workflow-worker';

const IDS = ['brq_00000000000000000000000001'];
const HOUR_MS = 3_600_000;

/** A bank that answers after `answerMs`, in place of the database; times are the environment's. */
class Charge {
  status = 'pending';
  looks = 0;
  told: string[] = [];

  constructor(
    private readonly environment: TestWorkflowEnvironment,
    private readonly closesAtMs: number,
  ) {}

  activities(): BillingRequestActivities {
    // As the real one: what has been told is not told again, however often the effect runs.
    const tell = async (carrier: string) => {
      const news = `${this.status} by ${carrier}`;
      if (!this.told.includes(news)) this.told.push(news);
    };
    return {
      settleRequests: (ids, carrier) =>
        telling(tell, carrier, async (): Promise<SettledRequests> => {
          expect(ids).toEqual(IDS);
          this.looks += 1;
          const inMs = this.closesAtMs - (await this.environment.currentTimeMs());
          if (this.status === 'pending' && inMs <= 0) this.status = 'declined';
          const open = this.status === 'pending' ? 1 : 0;
          const nextClose = open ? { inMs, at: new Date(this.closesAtMs).toISOString() } : null;
          return { open, status: this.status, nextClose };
        }),
    };
  }
}

describe('the workflow of a bill', () => {
  let environment: TestWorkflowEnvironment;
  let charge: Charge;

  beforeAll(async () => {
    await workflowBundle();
  });

  beforeEach(async () => {
    environment = await timeSkippingEnvironment();
    charge = new Charge(environment, (await environment.currentTimeMs()) + 24 * HOUR_MS);
  });

  afterEach(async () => {
    await environment.teardown();
  });

  const run = (story: (workflowId: string) => Promise<void>) =>
    withWorker(environment, charge.activities(), async () => {
      const workflowId = `billing-request/${randomUUID()}`;
      const handle = await environment.client.workflow.start('billingRequest', {
        workflowId,
        taskQueue: TASK_QUEUE,
        args: [IDS],
      });
      await story(workflowId);
      await handle.result();
      return workflowId;
    });

  it('declines a charge that nobody answered once its window has passed, and tells the merchant', async () => {
    const startedAt = await environment.currentTimeMs();
    const workflowId = await run(() => Promise.resolve());
    expect(charge.status).toBe('declined');
    expect(charge.told).toEqual([`pending by ${workflowId}`, `declined by ${workflowId}`]);
    expect((await environment.currentTimeMs()) - startedAt).toBeGreaterThanOrEqual(24 * HOUR_MS);
  });

  it("ends as soon as the bank's answer is in and it is woken", async () => {
    await run(async (workflowId) => {
      await environment.sleep(HOUR_MS);
      charge.status = 'successful';
      await environment.client.workflow.getHandle(workflowId).signal(WAKE_SIGNAL);
    });
    expect(charge.told.at(-1)).toMatch(/^successful/);
    expect(charge.looks).toBe(2);
  });

  it('learns of an answer whose signal was lost when the window ends, and reports the answer', async () => {
    await run(async () => {
      await environment.sleep(HOUR_MS);
      charge.status = 'successful';
    });
    expect(charge.told.at(-1)).toMatch(/^successful/);
  });

  it('takes a doubled signal for one, and a signal without news for nothing', async () => {
    await run(async (workflowId) => {
      const handle = environment.client.workflow.getHandle(workflowId);
      await environment.sleep(HOUR_MS);
      await handle.signal(WAKE_SIGNAL);
      await environment.sleep(HOUR_MS);
      charge.status = 'successful';
      await Promise.all([handle.signal(WAKE_SIGNAL), handle.signal(WAKE_SIGNAL)]);
    });
    expect(charge.told).toEqual([
      expect.stringMatching(/^pending/) as string,
      expect.stringMatching(/^successful/) as string,
    ]);
  });
});
