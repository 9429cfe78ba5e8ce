import { CompleteAsyncError } from '@temporalio/activity';
import { Worker } from '@temporalio/worker';
import type { AttemptResult } from '../../../src/activities/webhook';
import type { webhookDelivery } from '../../../src/workflows';
import { WEBHOOK_TASK_QUEUE, type DeliveryProgress } from '../../../src/domain/workflow/messages';
import { workflowBundle } from '../../support/workflow-worker';
import { newEnvironment } from './server';

/** Seconds between attempts, as decided; here without jitter. */
const RETRY_S = [5, 30, 120, 600, 1800, 3600, 10800, 21600, 43200, 86400, 86400];
const MAX = RETRY_S.length + 1;

let env: ReturnType<typeof newEnvironment>;

const billing = { webhookType: 'billing.response', why: 'answered 500' } as const;

const pending = (attempts: number): AttemptResult => ({
  status: 'pending',
  ...billing,
  attempts,
  maxAttempts: MAX,
  retryInMs: (RETRY_S[attempts - 1] ?? 0) * 1000,
});

const failed = (attempts: number): AttemptResult => ({ status: 'failed', ...billing, attempts });

interface Run {
  /** Virtual milliseconds at which each attempt was made. */
  at: number[];
  result: string;
  workflowId: string;
  /** Its current details, at its end. */
  details: string;
}

/** Runs a delivery whose attempts end as `outcome` says, given the number of each. */
async function deliver(
  outcome: (n: number) => AttemptResult | Promise<AttemptResult>,
  { progress, signals = 0 }: { progress?: DeliveryProgress; signals?: number } = {},
): Promise<Run> {
  const at: number[] = [];
  const worker = await Worker.create({
    connection: env.nativeConnection,
    namespace: env.namespace,
    taskQueue: WEBHOOK_TASK_QUEUE,
    workflowBundle: await workflowBundle(),
    activities: {
      async attemptDelivery(): Promise<AttemptResult> {
        at.push(await env.currentTimeMs());
        return outcome((progress?.attempts ?? 0) + at.length);
      },
    },
  });
  const workflowId = 'webhook-delivery/dlv_1';
  const [result, details] = await worker.runUntil(async () => {
    const handle = await env.client.workflow.start<typeof webhookDelivery>('webhookDelivery', {
      workflowId,
      taskQueue: WEBHOOK_TASK_QUEUE,
      args: progress ? ['dlv_1', progress] : ['dlv_1'],
    });
    for (let i = 0; i < signals; i++) await handle.signal('redeliveryRequested');
    const ended = await handle.result();
    const metadata = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
    return [ended, metadata.currentDetails] as const;
  });
  return { at, result, workflowId, details };
}

const gapsMs = (at: number[]) => at.slice(1).map((ms, i) => ms - (at[i] ?? 0));

/**
 * The timers that it has slept on, in seconds: what an attempt itself takes of the server's time,
 * on a busy machine a second and more, is not in them.
 */
async function sleptS(workflowId: string): Promise<number[]> {
  const { events } = await env.client.workflow.getHandle(workflowId).fetchHistory();
  return (events ?? []).flatMap(({ timerStartedEventAttributes: timer }) =>
    timer ? [Number(timer.startToFireTimeout?.seconds)] : [],
  );
}

async function statusAttribute(workflowId: string): Promise<unknown> {
  const { raw } = await env.client.workflow.getHandle(workflowId).describe();
  const payload = raw.workflowExecutionInfo?.searchAttributes?.indexedFields?.['AssentStatus']?.data;
  return payload && JSON.parse(Buffer.from(payload).toString('utf8'));
}

/** The summaries of timers and activities, in the order in which an operator reads them. */
async function summaries(workflowId: string): Promise<string[]> {
  const { events } = await env.client.workflow.getHandle(workflowId).fetchHistory();
  return (events ?? []).flatMap((event) => {
    const data = event.userMetadata?.summary?.data;
    return data ? [JSON.parse(Buffer.from(data).toString('utf8')) as string] : [];
  });
}

describe('a delivery', () => {
  beforeEach(() => {
    env = newEnvironment();
  });

  it('whose receiver stays dead is tried twelve times, as the table says, and then failed', async () => {
    const run = await deliver((n) => (n < MAX ? pending(n) : failed(n)));
    expect(run.result).toBe('failed');
    expect(run.at).toHaveLength(12);
    expect(await sleptS(run.workflowId)).toEqual(RETRY_S);
    for (const [i, ms] of gapsMs(run.at).entries())
      expect(ms).toBeGreaterThanOrEqual((RETRY_S[i] ?? 0) * 1000);
    expect(await statusAttribute(run.workflowId)).toBe('failed');
  });

  it('whose worker dies in the middle of an attempt is attempted by another after ten seconds', async () => {
    const run = await deliver((n) => {
      // To Temporal it looks the same: nobody ever says how it ended.
      if (n === 1) throw new CompleteAsyncError();
      return { status: 'delivered', attempts: n };
    });
    expect(run.result).toBe('delivered');
    const { events } = await env.client.workflow.getHandle(run.workflowId).fetchHistory();
    const [attempt] = (events ?? []).flatMap((event) => event.activityTaskScheduledEventAttributes ?? []);
    expect(Number(attempt?.heartbeatTimeout?.seconds)).toBe(10);
    // And the pause before an activity is tried again.
    expect(Number(attempt?.retryPolicy?.initialInterval?.seconds)).toBe(1);
    const [gapMs = 0] = gapsMs(run.at);
    expect(gapMs).toBeGreaterThanOrEqual(10_000);
    // By when an attempt that is under way must have ended.
    expect(gapMs).toBeLessThan(75_000);
  });

  it('that found no place at its receiver waits without losing an attempt', async () => {
    let calls = 0;
    const run = await deliver((n) =>
      ++calls === 1
        ? { status: 'pending', ...billing, attempts: 0, maxAttempts: MAX, retryInMs: 40_000 }
        : { status: 'delivered', attempts: n - 1 },
    );
    expect(await sleptS(run.workflowId)).toEqual([40]);
  });

  it('is tried at once when it is signalled', async () => {
    const startedAt = await env.currentTimeMs();
    const run = await deliver((n) => ({ status: 'delivered', attempts: n }), {
      progress: { ...billing, attempts: 10, maxAttempts: MAX, retryInMs: 86_400_000 },
      signals: 1,
    });
    expect((run.at[0] ?? Infinity) - startedAt).toBeLessThan(86_400_000);
  });

  it('asked for again during its last attempt is read once more, so that the wish is not lost', async () => {
    const run = await deliver(async (n) => {
      if (n === 1)
        await env.client.workflow.getHandle('webhook-delivery/dlv_1').signal('redeliveryRequested');
      return n === 1 ? failed(n) : { status: 'delivered', attempts: n };
    });
    expect(run.at).toHaveLength(2);
    expect(run.result).toBe('delivered');
    expect(await statusAttribute(run.workflowId)).toBe('delivered');
  });

  it('says why it is not delivered, and at what time it is tried again, for whoever has to answer its receiver', async () => {
    const run = await deliver((n) => (n < 4 ? pending(n) : { status: 'delivered', attempts: n }), {
      progress: { ...billing, why: 'no answer within 10 s', attempts: 1, maxAttempts: MAX, retryInMs: 5_000 },
    });
    const said = await summaries(run.workflowId);
    const moment = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/;
    expect(said.map((line) => line.replace(moment, '<time>'))).toEqual([
      'no answer within 10 s; attempt 2 of 12 at <time>, in 5 s.',
      'attempt 2 of 12',
      'answered 500; attempt 3 of 12 at <time>, in 30 s.',
      'attempt 3 of 12',
      'answered 500; attempt 4 of 12 at <time>, in 2 minutes.',
      'attempt 4 of 12',
    ]);
    // The time that it says is the time at which it is tried.
    const times = said.flatMap((line) => moment.exec(line) ?? []);
    expect(times).toHaveLength(3);
    for (const [i, time] of times.entries()) {
      const late = (run.at[i] ?? 0) - Date.parse(time);
      expect(late).toBeGreaterThanOrEqual(0);
      // The shortest wait: no other attempt's time is as near.
      expect(late).toBeLessThan(5_000);
    }
  });

  it.each([
    ['answered 410', 'billing.response failed after 1 attempt: answered 410. It can be sent again by hand.'],
    [null, 'billing.response failed after 1 attempt. It can be sent again by hand.'],
  ])('that is given up says of what it was, and why where that is known: %j', async (why, words) => {
    const run = await deliver((attempts) => ({
      status: 'failed',
      webhookType: 'billing.response',
      attempts,
      why,
    }));
    expect(run).toMatchObject({ result: 'failed', at: [expect.any(Number)], details: words });
  });
});
