import type { RefundActivities } from '../../../src/activities/refund';
import type { WebhookActivities } from '../../../src/activities/webhook';
import { randomUUID } from 'node:crypto';
import { TASK_QUEUE } from '../../../src/domain/workflow/messages';
import { withWorker } from '../../support/workflow-worker';
import { newEnvironment } from './server';

const REFUND_ID = 'rfd_00000000000000000000000001';
const DAY_MS = 86_400_000;

describe('the workflow of a refund', () => {
  let environment: ReturnType<typeof newEnvironment>;
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
    return { did: status, status, reminders, next: status === 'pending' ? next : null };
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

  beforeEach(async () => {
    environment = newEnvironment();
    remindAtMs = (await environment.currentTimeMs()) + 3 * DAY_MS;
    status = 'pending';
    reminders = 0;
    told = [];
  });

  it('reminds a silent bank and goes on waiting, for only the bank knows whether the money moved, and says when it reminds', async () => {
    const said = await withWorker(environment, activities, async () => {
      const handle = await environment.client.workflow.start('refund', {
        workflowId: `refund/${randomUUID()}`,
        taskQueue: TASK_QUEUE,
        args: [REFUND_ID],
      });
      await environment.sleep(5 * DAY_MS);
      status = 'completed';
      await handle.signal('bankAnswered');
      await handle.result();
      const { events } = await handle.fetchHistory();
      return (events ?? []).flatMap(({ userMetadata }) => {
        const data = userMetadata?.summary?.data;
        return data ? [JSON.parse(Buffer.from(data).toString()) as string] : [];
      });
    });
    expect(told.slice(0, 3)).toEqual(['pending after 0', 'pending after 1', 'pending after 2']);
    expect(told.at(-1)).toMatch(/^completed/);
    expect(said.filter((line) => line.includes('reminder at')).slice(0, 2)).toEqual([
      expect.stringMatching(/^pending First reminder at \d{4}-/),
      expect.stringMatching(/Next reminder at \d{4}-/),
    ]);
  });
});
