import type { RefundActivities } from '../../src/activities/refund';
import type { WebhookActivities } from '../../src/activities/webhook';
import { randomUUID } from 'node:crypto';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { TASK_QUEUE } from '../../src/workflows/messages';
import { timeSkippingEnvironment } from '../support/time-skipping';
import { withWorker, workflowBundle } from '../support/workflow-worker';

const REFUND_ID = 'rfd_00000000000000000000000001';
const DAY_MS = 86_400_000;

describe('the workflow of a refund', () => {
  let environment: TestWorkflowEnvironment;
  let remindAtMs: number;
  let status: string;
  let reminders: number;
  let told: string[];

  // In place of the database: the refund's row, its reminders a day apart, and what has been told.
  const deliver = async () => {
    const line = `${status} after ${reminders}`;
    if (!told.includes(line)) told.push(line);
    return { delivered: 1, failed: 0, handedOver: 0, told: [] };
  };
  const read: RefundActivities['readRefund'] = async (refundId) => {
    expect(refundId).toBe(REFUND_ID);
    const inMs = Math.max(0, remindAtMs - (await environment.currentTimeMs()));
    const next = { inMs, at: new Date(remindAtMs).toISOString() };
    return { did: status, status, next: status === 'pending' ? next : null };
  };
  const activities: RefundActivities & Pick<WebhookActivities, 'askBank' | 'tellMerchant'> = {
    askBank: deliver,
    tellMerchant: deliver,
    readRefund: read,
    async remindBank(refundId) {
      if (status === 'pending' && (await environment.currentTimeMs()) >= remindAtMs) {
        reminders += 1;
        remindAtMs += DAY_MS;
      }
      return read(refundId);
    },
  };

  beforeAll(async () => {
    await workflowBundle();
  });

  beforeEach(async () => {
    environment = await timeSkippingEnvironment();
    remindAtMs = (await environment.currentTimeMs()) + 3 * DAY_MS;
    status = 'pending';
    reminders = 0;
    told = [];
  });

  afterEach(async () => {
    await environment.teardown();
  });

  const run = (story: (signal: () => Promise<void>) => Promise<void>) =>
    withWorker(environment, activities, async () => {
      const handle = await environment.client.workflow.start('refund', {
        workflowId: `refund/${randomUUID()}`,
        taskQueue: TASK_QUEUE,
        args: [REFUND_ID],
      });
      await story(() => handle.signal('bankAnswered'));
      await handle.result();
    });

  it('reminds a silent bank and goes on waiting, for only the bank knows whether the money moved', async () => {
    await run(async (signal) => {
      await environment.sleep(5 * DAY_MS);
      status = 'completed';
      await signal();
    });
    expect(told.slice(0, 3)).toEqual(['pending after 0', 'pending after 1', 'pending after 2']);
    expect(told.at(-1)).toMatch(/^completed/);
  });

  it('tells the merchant as soon as the bank has answered, without a reminder', async () => {
    await run(async (signal) => {
      await environment.sleep(DAY_MS);
      status = 'rejected';
      await signal();
    });
    expect(told).toEqual(['pending after 0', 'rejected after 0']);
  });
});
