import type { RefundActivities } from '../../src/activities/refund';
import type { WebhookActivities } from '../../src/activities/webhook';
import { randomUUID } from 'node:crypto';
import { TASK_QUEUE } from '../../src/domain/workflow/messages';
import { timeSkippingServer, type TimeSkippingEnvironment } from '../support/time-skipping';
import { withWorker, workflowBundle } from '../support/workflow-worker';

const REFUND_ID = 'rfd_00000000000000000000000001';
const DAY_MS = 86_400_000;

describe('the workflow of a refund', () => {
  const newEnvironment = timeSkippingServer();
  let environment: TimeSkippingEnvironment;
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

  beforeAll(async () => {
    await workflowBundle();
  });

  beforeEach(async () => {
    environment = newEnvironment();
    remindAtMs = (await environment.currentTimeMs()) + 3 * DAY_MS;
    status = 'pending';
    reminders = 0;
    told = [];
  });

  afterEach(async () => {});

  /** @returns the summaries of its timeline, from top to bottom */
  const run = (
    story: (signal: () => Promise<void>, cancel: () => Promise<unknown>) => Promise<void>,
  ): Promise<string[]> =>
    withWorker(environment, activities, async () => {
      const handle = await environment.client.workflow.start('refund', {
        workflowId: `refund/${randomUUID()}`,
        taskQueue: TASK_QUEUE,
        args: [REFUND_ID],
      });
      await story(
        () => handle.signal('bankAnswered'),
        () => handle.cancel(),
      );
      await handle.result();
      const { events } = await handle.fetchHistory();
      return (events ?? []).flatMap(({ userMetadata }) => {
        const data = userMetadata?.summary?.data;
        return data ? [JSON.parse(Buffer.from(data).toString()) as string] : [];
      });
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

  it('says when the first reminder comes, and when the next', async () => {
    const said = await run(async (signal) => {
      await environment.sleep(4 * DAY_MS);
      status = 'completed';
      await signal();
    });
    expect(said.filter((line) => line.includes('reminder at')).slice(0, 2)).toEqual([
      expect.stringMatching(/^pending First reminder at \d{4}-/),
      expect.stringMatching(/Next reminder at \d{4}-/),
    ]);
  });

  it('that asks nobody, for another run has asked, says so', async () => {
    status = 'completed';
    const said = await run(() => Promise.resolve());
    expect(said[1]).toBe(
      'Nothing was left to send: it had been sent, goes on in a workflow of its own, or is in the feed alone. See whether the bank has answered.',
    );
  });

  it('still says what it waits for once its cancellation is refused, and then why', async () => {
    const said = await run(async (signal, cancel) => {
      await environment.sleep(DAY_MS);
      await cancel();
      await environment.sleep(DAY_MS);
      status = 'completed';
      await signal();
    });
    expect(said).toContainEqual(
      expect.stringMatching(/^pending First reminder at \S+Z\. Cancellation refused: only the bank knows/),
    );
  });
});
