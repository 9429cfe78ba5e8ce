import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { row, rows } from '../../src/database/pool/connection';
import { newId } from '../../src/database/identifier/new-id';
import { runOf, workflowIds as idOf } from '../../src/domain/workflow/workflow-id';
import { triggerReconcile } from '../../src/temporal/schedules';
import { RECURRING_TASK_QUEUE, TASK_QUEUE } from '../../src/domain/workflow/messages';
import { agreement, Cast, type Bank, type Customer, type Merchant } from '../support/cast';
import { copyOfDatabase } from '../support/database';
import { eventually, startEngine, type TestEngine } from '../support/engine';
import { installation } from '../support/installation';
import { metricsOnFreePorts, valueOf, type Metrics } from '../support/metrics';

/**
 * Workflows that somebody terminated by hand: what waited for them is found by its row, and goes
 * on.
 */

let engine: TestEngine;
let metrics: Metrics;
let connection: Connection;
let client: Client;
let cast: Cast;
let bank: Bank;
let merchant: Merchant;
let customer: Customer;

/** Long enough for a workflow to be ended by hand before it ends by itself. */
const WINDOW_S = 6;

beforeAll(async () => {
  metrics = await metricsOnFreePorts();
  engine = await startEngine({
    ...metrics.settings,
    RECONCILE_AFTER_S: '1',
    INTENT_WINDOW_S: String(WINDOW_S),
    APPROVAL_WINDOW_S: String(WINDOW_S),
    SETTLEMENT_WINDOW_S: String(WINDOW_S),
  });
  connection = await Connection.connect({ address: engine.temporalAddress });
  client = new Client({ connection, namespace: engine.namespace });
  cast = new Cast(engine);
  [bank, merchant] = await Promise.all([cast.bank(2), cast.merchant()]);
  customer = bank.customers[0];
});

afterAll(async () => {
  await cast.leave();
  await connection.close();
  await engine.stop();
});

async function terminate(workflowId: string): Promise<WorkflowHandle> {
  const handle = client.workflow.getHandle(workflowId);
  await eventually(() =>
    handle
      .terminate('by hand')
      .then(() => true)
      .catch(() => false),
  );
  return handle;
}

/** Runs `reconcile` as often as it takes, for the sake of time: by itself it runs once a minute. */
async function reconciled(holds: () => Promise<boolean>): Promise<void> {
  await eventually(async () => {
    if (await holds()) return true;
    await triggerReconcile(client);
    return false;
  });
}

const isRunning = (handle: WorkflowHandle) => async () =>
  (await handle.describe().catch(() => undefined))?.status.name === 'RUNNING';

/** What `assent status` says. */
const status = async () => {
  const { assent } = await installation();
  const { LOG_FILE: _, ...env } = engine.environment;
  const { stdout } = await promisify(execFile)(assent, ['status', '--json'], { env });
  return JSON.parse(stdout) as {
    ready: boolean;
    warnings: { path: string; message: string }[];
    queues: { queue: string; waiting: number }[];
  };
};

interface Reconciled {
  rowless: { found: number; ended: number; left: number };
  found: { workflowId: string; wrong: string }[];
}

/** What `assent reconcile` finds. */
async function reconcile(...args: string[]): Promise<{ code: number; told: Reconciled }> {
  return reconcileOn(engine.database.url, ...args);
}

async function reconcileOn(url: string, ...args: string[]): Promise<{ code: number; told: Reconciled }> {
  const { assent } = await installation();
  const { LOG_FILE: _, ...more } = engine.environment;
  const env = { ...more, DATABASE_URL: url };
  return new Promise((resolve, reject) => {
    execFile(assent, ['reconcile', ...args, '--json'], { env }, (error, out, err) => {
      if (out === '') reject(new Error(err));
      else resolve({ code: Number(error?.code ?? 0), told: JSON.parse(out) as Reconciled });
    });
  });
}

test('a charge whose workflow was terminated is closed after its window, and its limits are free again', async () => {
  const paymentID = await agreement(bank, merchant, customer, { spendingLimits: { daily: 100 } });
  await bank.answerCharges('silence', { times: 1 });
  const { billingRequestId } = await merchant.charge({ paymentIDs: [paymentID] }, 100);
  await bank.hears('billing.request', billingRequestId);
  await terminate(idOf.billingRequest(billingRequestId));
  expect(await merchant.retrieve(billingRequestId)).toMatchObject({ status: 'pending' });

  await reconciled(async () => (await merchant.retrieve(billingRequestId))['status'] === 'declined');
  expect(await merchant.hears('billing.response', billingRequestId)).toMatchObject({
    declineReason: 'expired',
  });
  await bank.hears('billing.closed', billingRequestId);
  // What it held is free: the next charge of the whole limit is taken.
  expect(await merchant.charge({ paymentIDs: [paymentID] }, 100)).toMatchObject({ statusCode: 201 });
  const counted = 'assent_reconciled_total{kind="charges",outcome="restarted"}';
  expect(valueOf(await metrics.worker(), counted)).toBeGreaterThanOrEqual(1);
  expect(await engine.log()).toContain(idOf.billingRequest(billingRequestId));
});

/** Of the first task of a queue, as the API has it. */
const waitingFor = async (queue: string) =>
  valueOf(await metrics.api(), `assent_task_queue_oldest_age_seconds{task_queue="${queue}"}`);

test('a charge that another version has begun, and this one cannot go on with, is closed after its window', async () => {
  const paymentID = await agreement(bank, merchant, customer);
  await bank.answerCharges('silence', { times: 1 });
  await engine.worker.stop();
  const { billingRequestId } = await merchant.charge({ paymentIDs: [paymentID] }, 20);
  const workflowId = idOf.billingRequest(billingRequestId);
  const begun = await client.workflow.start('billingRequest', {
    workflowId,
    taskQueue: TASK_QUEUE,
    args: [[billingRequestId]],
  });
  // Meanwhile its first task waits for any worker, and an operator sees it.
  await eventually(async () =>
    (await status()).queues.some(({ queue, waiting }) => queue === TASK_QUEUE && waiting > 0),
  );
  // So does whoever watches over it, of a process that needs no worker.
  await eventually(async () => ((await waitingFor(TASK_QUEUE)) ?? 0) > 0);
  expect(await waitingFor('assent-webhook')).toBe(0);
  const native = await NativeConnection.connect({ address: engine.temporalAddress });
  const otherVersion = await Worker.create({
    connection: native,
    namespace: engine.namespace,
    taskQueue: TASK_QUEUE,
    workflowsPath: require.resolve('../support/other-workflows'),
  });
  await otherVersion.runUntil(
    eventually(async () =>
      Boolean((await begun.fetchHistory()).events?.some((event) => event.timerStartedEventAttributes)),
    ),
  );
  await native.close();

  await engine.worker.start();
  await reconciled(async () => (await merchant.retrieve(billingRequestId))['status'] === 'declined');
  expect(await merchant.hears('billing.response', billingRequestId)).toMatchObject({
    declineReason: 'expired',
  });
  // Its task would have been tried for ever.
  const run = client.workflow.getHandle(workflowId, begun.firstExecutionRunId);
  expect((await run.describe()).status.name).toBe('TERMINATED');
});

test('an intent whose workflow was terminated is declined after its window', async () => {
  const [, other] = bank.customers;
  await bank.answerIntents('silence', { times: 1 });
  const intentId = await merchant.ask(other ?? customer);
  await bank.hears('billing.intent', intentId);
  await terminate(idOf.intent(intentId));

  await reconciled(async () => (await merchant.retrieve(intentId))['status'] === 'declined');
  expect(await merchant.hears('billing.intent.response', intentId)).toMatchObject({ status: 'declined' });
});

test('a schedule and a refund that are not due for long have their workflows back', async () => {
  const paymentID = await agreement(bank, merchant, customer);
  const { billingRequestId, reference } = await merchant.charge({ paymentIDs: [paymentID] }, 10);
  await merchant.hears('billing.response', billingRequestId);
  const refund = await merchant.api.post('/v1/refunds/initiate', { reference }, randomUUID());
  const schedule = await merchant.api.post(
    '/v1/billing/recurring/create',
    {
      customerId: customer.customerId,
      paymentID,
      amount: 40,
      currency: 'NGN',
      frequency: 'daily',
      startDate: new Date(Date.now() + 86_400_000).toISOString(),
    },
    randomUUID(),
  );
  const waiting = [
    idOf.refund(String(refund.body.data['refundId'])),
    idOf.recurring(String(schedule.body.data['scheduleId'])),
  ];
  const ended = await Promise.all(waiting.map(terminate));

  for (const handle of ended) await reconciled(isRunning(handle));
  expect(await Promise.all(ended.map((handle) => isRunning(handle)()))).toEqual([true, true]);
});

test('an intent past its window shows in the metrics of the API, though no worker is there to close it', async () => {
  const [, other] = bank.customers;
  await bank.answerIntents('silence', { times: 1 });
  const intentId = await merchant.ask(other ?? customer);
  await bank.hears('billing.intent', intentId);
  await engine.worker.kill();
  await rows(
    engine.database.db,
    `UPDATE entities SET clock_offset = clock_offset + interval '1 hour', clock_moved_at = NULL WHERE id = :id`,
    { id: merchant.entityId },
  );

  const told = await metrics.api();
  expect(valueOf(told, 'assent_overdue{kind="intents"}')).toBe(1);
  expect(valueOf(told, 'assent_overdue_oldest_age_seconds{kind="intents"}')).toBeGreaterThan(3000);
  for (const kind of ['charges', 'refunds']) {
    expect([kind, valueOf(told, `assent_overdue{kind="${kind}"}`)]).toEqual([kind, expect.any(Number)]);
  }
  await engine.worker.start();
  await reconciled(async () => (await merchant.retrieve(intentId))['status'] === 'declined');
  expect(await row(engine.database.db, `SELECT 1 FROM intents WHERE status = 'pending'`)).toBeUndefined();
});

const temporalSchedule = () => client.schedule.getHandle('reconcile');
const lastRanLongAgo = () =>
  rows(
    engine.database.db,
    `UPDATE temporal_state SET reconciled_at = clock_timestamp() - interval '10 minutes'`,
  );
describe('reconcile itself', () => {
  test('that was paused by hand stays paused, and status, metrics and the log say that it does not run', async () => {
    await temporalSchedule().pause();
    await eventually(async () => (await temporalSchedule().describe()).info.runningActions.length === 0);
    await lastRanLongAgo();
    const paused = /^has not run for 6\d\d s: its Temporal Schedule is paused; unpause it/;
    expect(await status()).toMatchObject({
      ready: true,
      warnings: [{ path: 'reconcile', message: expect.stringMatching(paused) }],
    });
    expect((await fetch(`${engine.apiUrl}/readyz`)).status).toBe(200);
    expect(valueOf(await metrics.api(), 'assent_reconcile_age_seconds')).toBeGreaterThan(500);
    await eventually(async () => (await engine.log()).includes('reconcile has not run for'));
    expect(await temporalSchedule().describe()).toMatchObject({ state: { paused: true } });
    await temporalSchedule().unpause();
    await reconciled(async () => (await status()).warnings.length === 0);
  });

  test('whose Schedule was deleted by hand has it made anew', async () => {
    // What was said of the other test is said again a minute later; a worker started anew has said
    // nothing yet.
    await engine.worker.kill();
    await engine.worker.start();
    await temporalSchedule().delete();
    await eventually(async () => {
      await lastRanLongAgo();
      return temporalSchedule()
        .describe()
        .then(
          () => true,
          () => false,
        );
    });
    await reconciled(async () => (await status()).warnings.length === 0);
    expect(await temporalSchedule().describe()).toMatchObject({ state: { paused: false } });
  });
});

/** Starts a workflow for a row that is not there, as ours would be unless said otherwise. */
function startRowless(workflowId: string, workflowType: string, taskQueue = RECURRING_TASK_QUEUE) {
  return client.workflow.start(workflowType, { workflowId, taskQueue, args: runOf(workflowId).args });
}

const rowlessOf = (told: Reconciled) =>
  told.found.filter(({ wrong }) => wrong === 'without a row').map(({ workflowId }) => workflowId);

/** A schedule that is not due before tomorrow, and its workflow that sleeps. */
async function sleepingSchedule(): Promise<WorkflowHandle> {
  const paymentID = await agreement(bank, merchant, customer);
  const schedule = await merchant.api.post(
    '/v1/billing/recurring/create',
    {
      customerId: customer.customerId,
      paymentID,
      amount: 5,
      currency: 'NGN',
      frequency: 'daily',
      startDate: new Date(Date.now() + 86_400_000).toISOString(),
    },
    randomUUID(),
  );
  const handle = client.workflow.getHandle(idOf.recurring(String(schedule.body.data['scheduleId'])));
  await eventually(isRunning(handle));
  return handle;
}

test('workflows whose row is gone, as after a restore, are named, and ended where somebody says how many they are', async () => {
  const withRow = await sleepingSchedule();
  const { runId } = await withRow.describe();
  // What it was started for was written after the moment that Postgres is at now.
  const gone = await Promise.all([
    startRowless(idOf.recurring(newId('schedule')), 'recurring'),
    startRowless(idOf.webhookDelivery(newId('delivery')), 'webhookDelivery'),
  ]);
  const foreign = await Promise.all([
    startRowless('refund/x', 'refund'),
    startRowless(idOf.refund(newId('refund')), 'repay'),
    startRowless(idOf.refund(newId('refund')), 'refund', 'accounting'),
  ]);
  const goneIds = gone.map(({ workflowId }) => workflowId);
  // Temporal lists what runs a moment after it was started.
  await eventually(async () => {
    const { code, told } = await reconcile();
    return code === 1 && goneIds.every((one) => rowlessOf(told).includes(one));
  });
  // Of more than there are, as of fewer, nobody has looked at all that would be ended.
  for (const more of [[], ['--end-rowless', '3'], ['--end-rowless', '1']]) {
    const { code, told } = await reconcile('--fix', ...more);
    expect({ code, rowless: told.rowless }).toMatchObject({
      code: 1,
      rowless: { found: 2, ended: 0, left: 2 },
    });
    expect(rowlessOf(told).toSorted()).toEqual(goneIds.toSorted());
  }
  for (const handle of gone) expect(await isRunning(handle)()).toBe(true);

  const fixed = await reconcile('--fix', '--end-rowless', '2', '--reason', 'restored, ticket 4');
  expect(fixed).toMatchObject({ code: 0, told: { rowless: { found: 2, ended: 2, left: 0 } } });
  for (const handle of gone) {
    expect((await handle.describe()).status.name).toBe('TERMINATED');
    await expect(handle.result()).rejects.toMatchObject({
      cause: { message: 'reconcile --end-rowless: its row is gone' },
    });
  }
  const acts = await rows<{ action: string; after: Record<string, unknown> }>(
    engine.database.db,
    `SELECT action, after FROM audit_events WHERE reason = 'restored, ticket 4' ORDER BY id`,
  );
  expect(acts).toMatchObject([
    { action: 'reconcile.begun', after: { endRowless: 2 } },
    {
      action: 'reconcile.rowless_ended',
      after: { workflowIds: expect.arrayContaining(goneIds) as string[] },
    },
    { action: 'reconcile.ended', after: { rowless: { ended: 2 } } },
  ]);
  for (const handle of foreign) expect(await isRunning(handle)()).toBe(true);
  expect(await withRow.describe()).toMatchObject({ status: { name: 'RUNNING' }, runId });
});

test('the books are chained by a workflow on a Schedule, and status and metrics say when it does not run', async () => {
  const schedule = client.schedule.getHandle('chain');
  const heads = async () => (await rows(engine.database.db, `SELECT number FROM chain_heads`)).length;
  await eventually(async () => {
    await schedule.trigger();
    return (await heads()) > 0;
  });
  const [last] = (await schedule.describe()).info.recentActions.slice(-1);
  expect(last?.action.type).toBe('startWorkflow');
  await eventually(async () => {
    const { workflowId = '' } = last?.action.workflow ?? {};
    const { status: state } = await client.workflow.getHandle(workflowId).describe();
    return state.name === 'COMPLETED';
  });
  await schedule.pause();
  await rows(
    engine.database.db,
    `UPDATE chain_progress SET chained_at = clock_timestamp() - interval '1 hour' WHERE stream = 'audit'`,
  );
  expect((await status()).warnings).toEqual([
    {
      path: 'chain',
      message: expect.stringMatching(/^has not run for 36\d\d s: its Temporal Schedule is paused/) as string,
    },
  ]);
  expect(valueOf(await metrics.api(), 'assent_chain_age_seconds')).toBeGreaterThan(3_500);
  await schedule.unpause();
});

test('what a database has begun since a copy of it was made goes on, whatever --fix does by that copy', async () => {
  await Promise.all([engine.api.stop(), engine.worker.stop()]);
  const copy = await copyOfDatabase(engine.database);
  await Promise.all([engine.api.start(), engine.worker.start()]);
  const begun = await sleepingSchedule();
  // The copy passes for the original, whose namespace it names.
  await eventually(async () => {
    const { code, told } = await reconcileOn(copy.url, '--fix');
    return code === 1 && rowlessOf(told).includes(begun.workflowId);
  });
  expect(await isRunning(begun)()).toBe(true);
  await copy.drop();
});
