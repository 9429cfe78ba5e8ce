import { randomUUID } from 'node:crypto';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { newId } from '../../src/database/identifier/new-id';
import { runOf, workflowIds as idOf } from '../../src/domain/workflow/workflow-id';
import { triggerRecover } from '../../src/temporal/schedules';
import { RECURRING_TASK_QUEUE, TASK_QUEUE, WEBHOOK_TASK_QUEUE } from '../../src/domain/workflow/messages';
import { expected } from '../parties/client';
import { agreement, Cast, type Bank, type Customer, type Merchant } from '../support/cast';
import { runAssent } from '../support/cli';
import { asSchemaLogin, createTestDatabase } from '../support/database';
import { eventually, startEngine, type TestEngine } from '../support/engine';
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
let other: Customer;

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
  other = bank.customers[1] ?? customer;
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
async function recovered(holds: () => Promise<boolean>): Promise<void> {
  await eventually(async () => {
    if (await holds()) return true;
    await triggerRecover(client);
    return false;
  });
}

const isRunning = async (handle: WorkflowHandle) =>
  (await handle.describe().catch(() => undefined))?.status.name === 'RUNNING';

const isDeclined = async (id: string) => (await merchant.retrieve(id))['status'] === 'declined';

interface Output {
  code: number;
  told: {
    ready: boolean;
    warnings: { path: string; message: string }[];
    queues: { queue: string; waiting: number }[];
    rowless: { found: number; ended: number };
    found: { workflowId: string; wrong: string }[];
  };
}

/** `npx assent` beside the engine, or on another database than its own. */
async function assent(args: string[], url = engine.database.url): Promise<Output> {
  const environment = { ...engine.environment, DATABASE_URL: url };
  const { code, out, err } = await runAssent([...args, '--json'], environment);
  if (out === '') throw new Error(err);
  return { code: Number(code), told: JSON.parse(out) as Output['told'] };
}

/** A schedule that is not due before tomorrow. */
async function makeSchedule(paymentID: string): Promise<string> {
  const { body } = await merchant.api.post(
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
  return idOf.recurring(String(body.data['scheduleId']));
}

const temporalSchedule = () => client.schedule.getHandle('reconcile');
const lastRanLongAgo = () =>
  engine.database.db.rows`
  UPDATE temporal_state SET recovered_at = clock_timestamp() - interval '10 minutes'`;
const recoverAgeS = async () => valueOf(await metrics.api(), 'assent_reconcile_age_seconds') ?? Infinity;

const silent = (ageS: string) =>
  expect.stringMatching(new RegExp(`^has not run for ${ageS} s: .*"assent doctor"`)) as string;

test('reconcile, chain and sweep that were paused by hand stay paused, and status, metrics and the log say that they do not run', async () => {
  const chain = client.schedule.getHandle('chain');
  const sweep = client.schedule.getHandle('sweep');
  // A second run might end after the pause. A head is the last thing that a run writes.
  await chain.trigger();
  await eventually(async () => (await engine.database.db.rows`SELECT number FROM chain_heads`).length > 0);
  for (const schedule of [temporalSchedule(), chain, sweep]) {
    await schedule.pause();
    await eventually(async () => (await schedule.describe()).info.runningActions.length === 0);
  }
  await lastRanLongAgo();
  await engine.database.db.rows`
    UPDATE chain_progress SET chained_at = clock_timestamp() - interval '1 hour' WHERE stream = 'audit'`;
  await engine.database.db.rows`
    UPDATE temporal_state
    SET swept = swept || jsonb_build_object('webhooks', clock_timestamp() - interval '2 hours')`;
  const { told } = await assent(['status']);
  expect(told).toMatchObject({
    ready: true,
    warnings: [
      { path: 'reconcile', message: silent('6\\d\\d') },
      { path: 'chain', message: silent('36\\d\\d') },
      { path: 'sweep', message: silent('72\\d\\d') },
    ],
  });
  expect((await fetch(`${engine.apiUrl}/readyz`)).status).toBe(200);
  expect(await recoverAgeS()).toBeGreaterThan(500);
  expect(valueOf(await metrics.api(), 'assent_chain_age_seconds')).toBeGreaterThan(3_500);
  expect(valueOf(await metrics.api(), 'assent_sweep_age_seconds')).toBeGreaterThan(7_000);
  await eventually(async () => (await engine.log()).includes('reconcile has not run for'));
  for (const schedule of [temporalSchedule(), chain, sweep]) {
    expect(await schedule.describe()).toMatchObject({ state: { paused: true } });
    await schedule.unpause();
  }
  await recovered(async () => (await recoverAgeS()) < 500);
  await eventually(async () => {
    await Promise.all([chain.trigger(), sweep.trigger()]);
    const measured = await metrics.api();
    const ages = ['chain', 'sweep'].map((id) => valueOf(measured, `assent_${id}_age_seconds`) ?? Infinity);
    return Math.max(...ages) < 500;
  });
});

test('a charge and an intent whose workflows were terminated end after their windows, and a schedule and a refund go on', async () => {
  const paymentID = await agreement(bank, merchant, customer, { spendingLimits: { daily: 100 } });
  const { billingRequestId: paid, reference } = await merchant.charge({ paymentIDs: [paymentID] }, 10);
  await merchant.hears('billing.response', paid);
  const refund = await merchant.api.post('/v1/refunds/initiate', { reference }, randomUUID());
  const schedule = await makeSchedule(paymentID);
  await bank.answerCharges('silence', { times: 1 });
  await bank.answerIntents('silence', { times: 1 });
  const [{ billingRequestId: charge }, intent] = await Promise.all([
    merchant.charge({ paymentIDs: [paymentID] }, 90),
    merchant.ask(other),
  ]);
  await bank.hears('billing.request', charge);
  await bank.hears('billing.intent', intent);
  const [, , ...waiting] = await Promise.all(
    [
      idOf.billingRequest(charge),
      idOf.intent(intent),
      idOf.refund(String(refund.body.data['refundId'])),
      schedule,
    ].map(terminate),
  );
  expect(await merchant.retrieve(charge)).toMatchObject({ status: 'pending' });

  await recovered(async () => (await isDeclined(charge)) && (await isDeclined(intent)));
  expect(await merchant.hears('billing.response', charge)).toMatchObject({ declineReason: 'expired' });
  await bank.hears('billing.closed', charge);
  expect(await merchant.hears('billing.intent.response', intent)).toMatchObject({ status: 'declined' });
  for (const handle of waiting) await recovered(() => isRunning(handle));
  // Its money did not move, so the next charge of the whole limit is taken.
  const [{ exceptionId }] = (await bank.api.get('/v1/reconciliation/exceptions')).data['exceptions'] as [
    { exceptionId: string },
  ];
  const respond = `/v1/reconciliation/exceptions/${exceptionId}/respond`;
  expected(200, await bank.api.post(respond, { resolution: 'no_money_moved' }, randomUUID()));
  expect(await merchant.charge({ paymentIDs: [paymentID] }, 90)).toMatchObject({ statusCode: 201 });
  const counted = 'assent_reconciled_total{kind="charges",outcome="restarted"}';
  expect(valueOf(await metrics.worker(), counted)).toBeGreaterThanOrEqual(1);
  expect(await engine.log()).toContain(idOf.billingRequest(charge));
});

/** A server that has no task to give answers a little before. */
const POLL_WITHIN_MS = 70_000;

/**
 * Begins a workflow as a version might that ours has nothing in common with: it only sets a timer.
 *
 * @param whileItWaits called while its first task waits for any worker
 */
async function beginAsAnotherVersion(
  workflowId: string,
  taskQueue: string,
  timerS: number,
  whileItWaits = () => Promise.resolve(),
): Promise<WorkflowHandle> {
  const { type, args } = runOf(workflowId);
  const begun = await client.workflow.start(type, { workflowId, taskQueue, args });
  await whileItWaits();
  const { namespace } = engine;
  const poll = () =>
    client.withDeadline(Date.now() + POLL_WITHIN_MS, () =>
      client.workflowService.pollWorkflowTaskQueue({ namespace, taskQueue: { name: taskQueue } }),
    );
  let task = await poll();
  // Others come again in ten seconds.
  while (task.workflowExecution?.workflowId !== workflowId) task = await poll();
  const startTimerCommandAttributes = {
    timerId: 'another',
    startToFireTimeout: { seconds: timerS as never },
  };
  await client.workflowService.respondWorkflowTaskCompleted({
    namespace,
    taskToken: task.taskToken,
    commands: [
      {
        commandType: temporal.api.enums.v1.CommandType.COMMAND_TYPE_START_TIMER,
        startTimerCommandAttributes,
      },
    ],
  });
  return client.workflow.getHandle(workflowId, begun.firstExecutionRunId);
}

/** The age of the first task of a queue, as the API has it, which needs no worker. */
const waitingFor = async (queue: string) =>
  valueOf(await metrics.api(), `assent_task_queue_oldest_age_seconds{task_queue="${queue}"}`);

test('what is overdue while no worker runs shows in the metrics of the API, and ends once one does, also where another version began it', async () => {
  const paymentID = await agreement(bank, merchant, customer);
  await bank.answerCharges('silence', { times: 1 });
  await bank.answerIntents('silence', { times: 1 });
  const intent = await merchant.ask(other);
  await bank.hears('billing.intent', intent);
  await engine.worker.stop();
  const { billingRequestId: charge } = await merchant.charge({ paymentIDs: [paymentID] }, 20);
  const run = await beginAsAnotherVersion(idOf.billingRequest(charge), TASK_QUEUE, 86_400, async () => {
    await eventually(async () => ((await waitingFor(TASK_QUEUE)) ?? 0) > 0);
    expect(await waitingFor('assent-webhook')).toBe(0);
    const { told } = await assent(['status']);
    expect(told.queues.find(({ queue }) => queue === TASK_QUEUE)?.waiting).toBeGreaterThan(0);
  });
  await engine.database.db.rows`
    UPDATE entities SET clock_offset = clock_offset + interval '1 hour', clock_moved_at = NULL
    WHERE id = ${merchant.entityId}`;

  const told = await metrics.api();
  for (const kind of ['intents', 'charges']) {
    expect([kind, valueOf(told, `assent_overdue{kind="${kind}"}`)]).toEqual([kind, 1]);
    const age = valueOf(told, `assent_overdue_oldest_age_seconds{kind="${kind}"}`);
    expect(age).toBeGreaterThan(3000);
  }
  expect(valueOf(told, 'assent_overdue{kind="refunds"}')).toEqual(expect.any(Number));
  await engine.worker.start();
  await recovered(async () => (await isDeclined(charge)) && (await isDeclined(intent)));
  const end = await merchant.hears('billing.response', charge);
  expect(end).toMatchObject({ declineReason: expect.stringMatching(/^(expired|not_delivered)$/) as string });
  // Its task would have been tried for ever.
  expect((await run.describe()).status.name).toBe('TERMINATED');
  expect(await engine.database.db.row`SELECT 1 FROM intents WHERE status = 'pending'`).toBeUndefined();
});

test('a webhook between two attempts, whose workflow another version began, arrives', async () => {
  await temporalSchedule().pause();
  await eventually(async () => (await temporalSchedule().describe()).info.runningActions.length === 0);
  const paymentID = await agreement(bank, merchant, customer);
  await merchant.server.misbehave({ kind: 'status', status: 503, type: 'billing.response', times: 1 });
  const { billingRequestId: charge } = await merchant.charge({ paymentIDs: [paymentID] }, 5);
  let id: string | undefined;
  await eventually(async () => {
    const waits = await engine.database.db.row<{ id: string }>`
      SELECT id FROM webhook_deliveries
      WHERE status = 'pending' AND attempts = 1 AND webhook_type = 'billing.response'`;
    id = waits?.id;
    return id !== undefined;
  });
  await engine.worker.kill();
  const workflowId = idOf.webhookDelivery(String(id));
  await client.workflow
    .getHandle(workflowId)
    .terminate('rolled back')
    .catch(() => undefined);
  const run = await beginAsAnotherVersion(workflowId, WEBHOOK_TASK_QUEUE, 1);
  await engine.worker.start();
  await eventually(async () => ((await run.describe()).raw.pendingWorkflowTask?.attempt ?? 0) > 1);
  // The dead worker may have leased the start that it left in the outbox.
  await eventually(async () => {
    const { told } = await assent(['reconcile']);
    return told.found.some((one) => one.workflowId === workflowId);
  });
  await recovered(async () => !(await isRunning(run)));
  expect(await merchant.hears('billing.response', charge)).toMatchObject({ status: 'successful' });
  await temporalSchedule().unpause();
});

test('reconcile whose Schedule was deleted by hand has it created again', async () => {
  // The log's line about a paused one is written again, and attended to, a minute later. The worker
  // is a new one.
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
  await recovered(async () => (await recoverAgeS()) < 500);
  expect(await temporalSchedule().describe()).toMatchObject({ state: { paused: false } });
});

/** Starts a workflow for a row that is not there, as ours would be unless said otherwise. */
function startRowless(workflowId: string, workflowType: string, taskQueue = RECURRING_TASK_QUEUE) {
  return client.workflow.start(workflowType, { workflowId, taskQueue, args: runOf(workflowId).args });
}

const rowlessOf = ({ told }: Output) =>
  told.found.filter(({ wrong }) => wrong === 'without a row').map(({ workflowId }) => workflowId);

/** Temporal lists what runs a moment after it was started. */
async function listed(workflowIds: string[]): Promise<void> {
  await eventually(async () => {
    const running = new Set<string>();
    for await (const { workflowId } of client.workflow.list({ query: `ExecutionStatus = 'Running'` }))
      running.add(workflowId);
    return workflowIds.every((one) => running.has(one));
  });
}

test('workflows whose row is gone, as after a restore, are named, and ended where somebody says so', async () => {
  const withRow = client.workflow.getHandle(await makeSchedule(await agreement(bank, merchant, customer)));
  await eventually(() => isRunning(withRow));
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
  await listed(goneIds);
  const named = await assent(['reconcile', '--fix']);
  expect(named).toMatchObject({ code: 1, told: { rowless: { found: 2, ended: 0 } } });
  expect(rowlessOf(named).toSorted()).toEqual(goneIds.toSorted());
  for (const handle of gone) expect(await isRunning(handle)).toBe(true);

  const tooMany = await assent(['reconcile', '--fix', '--end-rowless', '1']);
  expect(tooMany).toMatchObject({ code: 1, told: { rowless: { found: 2, ended: 0 } } });
  for (const handle of gone) expect(await isRunning(handle)).toBe(true);

  const fixed = await assent(['reconcile', '--fix', '--end-rowless', '2', '--reason', 'restored, ticket 4']);
  expect(fixed).toMatchObject({ code: 0, told: { rowless: { found: 2, ended: 2 } } });
  for (const handle of gone) {
    expect((await handle.describe()).status.name).toBe('TERMINATED');
    await expect(handle.result()).rejects.toMatchObject({
      cause: { message: 'reconcile --end-rowless: its row is gone' },
    });
  }
  const acts = await engine.database.db.rows<{ action: string; after: Record<string, unknown> }>`
    SELECT action, after FROM audit_events WHERE reason = 'restored, ticket 4' ORDER BY id`;
  expect(acts).toMatchObject([
    { action: 'reconcile.begun', after: { endRowless: 2 } },
    {
      action: 'reconcile.rowless_ended',
      after: { workflowIds: expect.arrayContaining(goneIds) as string[] },
    },
    { action: 'reconcile.ended', after: { rowless: { ended: 2 } } },
  ]);
  for (const handle of foreign) expect(await isRunning(handle)).toBe(true);
  expect(await withRow.describe()).toMatchObject({ status: { name: 'RUNNING' }, runId });

  // A copy of the database passes for the original, whose namespace it names, and lacks what was
  // begun since.
  const copy = await createTestDatabase();
  const [original] = await engine.database.db.rows`SELECT installation, namespace_id FROM temporal_state`;
  const { installation: id, namespaceId } = original as Record<string, string>;
  await asSchemaLogin(
    copy.url,
    `UPDATE temporal_state SET installation = '${id}', namespace_id = '${namespaceId}'`,
  );
  const byCopy = await assent(['reconcile', '--fix'], copy.url);
  expect(byCopy).toMatchObject({ code: 1, told: { rowless: { ended: 0 } } });
  expect(rowlessOf(byCopy)).toContain(withRow.workflowId);
  expect(await isRunning(withRow)).toBe(true);
  await copy.drop();
});
