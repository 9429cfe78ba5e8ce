import type { IntentActivities } from '../../src/activities/intent';
import type { WebhookActivities } from '../../src/activities/webhook';
import { randomUUID } from 'node:crypto';
import { TASK_QUEUE } from '../../src/domain/workflow/messages';
import { timeSkippingServer, type TimeSkippingEnvironment } from '../support/time-skipping';
import { withWorker, workflowBundle } from '../support/workflow-worker';

const INTENT_ID = 'int_00000000000000000000000001';
const HOUR_MS = 3_600_000;

describe('the workflow of an intent', () => {
  const newEnvironment = timeSkippingServer();
  let environment: TimeSkippingEnvironment;
  let closesAtMs: number;
  let status: string;
  let told: string[];
  let reads: number;

  // In place of the database: the intent's row, and what has been told to whom.
  const deliver = async () => {
    if (!told.includes(status)) told.push(status);
    return { delivered: 1, failed: 0, handedOver: 0, told: [] };
  };
  const activities: IntentActivities & Pick<WebhookActivities, 'askBank' | 'tellMerchant'> = {
    askBank: deliver,
    tellMerchant: deliver,
    async readDecision(intentId) {
      expect(intentId).toBe(INTENT_ID);
      reads += 1;
      const inMs = closesAtMs - (await environment.currentTimeMs());
      if (status === 'pending' && inMs <= 0) status = 'declined';
      const closes = { inMs, at: new Date(closesAtMs).toISOString() };
      return { did: status, status, closes: status === 'pending' ? closes : null };
    },
  };

  beforeAll(async () => {
    await workflowBundle();
  });

  beforeEach(async () => {
    environment = newEnvironment();
    closesAtMs = (await environment.currentTimeMs()) + 24 * HOUR_MS;
    status = 'pending';
    told = [];
    reads = 0;
  });

  afterEach(async () => {});

  const run = (story: (workflowId: string) => Promise<void>) =>
    withWorker(environment, activities, async () => {
      const workflowId = `intent/${randomUUID()}`;
      const handle = await environment.client.workflow.start('intent', {
        workflowId,
        taskQueue: TASK_QUEUE,
        args: [INTENT_ID],
      });
      await story(workflowId);
      await handle.result();
    });

  it('declines an intent that the customer did not answer in time, and tells both sides', async () => {
    await run(() => Promise.resolve());
    expect(told).toEqual(['pending', 'declined']);
  });

  it('tells the merchant of the decision as soon as it is signalled', async () => {
    await run(async (workflowId) => {
      await environment.sleep(HOUR_MS);
      status = 'approved';
      await environment.client.workflow.getHandle(workflowId).signal('bankAnswered');
    });
    expect(told).toEqual(['pending', 'approved']);
    expect(reads).toBe(2);
  });

  it('learns of a decision whose signal was lost when the window ends, and tells that one', async () => {
    await run(async () => {
      await environment.sleep(HOUR_MS);
      status = 'approved';
    });
    expect(told).toEqual(['pending', 'approved']);
  });

  it('takes a doubled signal for one', async () => {
    await run(async (workflowId) => {
      const handle = environment.client.workflow.getHandle(workflowId);
      await environment.sleep(HOUR_MS);
      status = 'superseded';
      await Promise.all([handle.signal('bankAnswered'), handle.signal('bankAnswered')]);
    });
    expect(told).toEqual(['pending', 'superseded']);
  });
});
