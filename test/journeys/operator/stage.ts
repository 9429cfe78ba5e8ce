import { randomUUID } from 'node:crypto';
import { Client, Connection, ScheduleOverlapPolicy, type WorkflowHandle } from '@temporalio/client';
import { formatInstant } from '../../../src/domain/calendar';
import { workflowIds as idOf } from '../../../src/domain/workflow/workflow-id';
import { agreement, Cast, type Bank, type Customer, type Merchant } from '../../support/cast';
import { eventually, startEngine, type TestEngine } from '../../support/engine';

/**
 * An operator at the Temporal UI, on an engine of the test file that imports this.
 */

export let engine: TestEngine;
let connection: Connection;
export let temporal: Client;
export let cast: Cast;
export let bank: Bank;
export let merchant: Merchant;
export let customer: Customer;
export let paymentID: string;

beforeAll(async () => {
  engine = await startEngine({
    RECONCILE_AFTER_S: '1',
    CLOCK_WAIT_S: '1',
    // No attempt is due before a test is over.
    WEBHOOK_RETRY_S: '86400,86400,86400',
  });
  connection = await Connection.connect({ address: engine.temporalAddress });
  temporal = new Client({ connection, namespace: engine.namespace });
  // By itself it would start again within a minute what a test has just ended.
  for (const id of SCHEDULED) await temporal.schedule.getHandle(id).pause();
  cast = new Cast(engine);
});

afterAll(async () => {
  await connection.close();
  await cast.leave();
  await engine.stop();
});

beforeEach(async () => {
  [bank, merchant] = await Promise.all([cast.bank(2), cast.merchant()]);
  customer = bank.customers[0];
  paymentID = await agreement(bank, merchant, customer);
});

export async function schedule(
  startsInMs: number,
  terms: object = {},
): Promise<{ id: string; handle: WorkflowHandle }> {
  const { status, body } = await merchant.api.post(
    '/v1/billing/recurring/create',
    {
      customerId: customer.customerId,
      paymentID,
      amount: 40,
      currency: 'NGN',
      frequency: 'monthly',
      startDate: new Date(Date.now() + startsInMs).toISOString(),
      ...terms,
    },
    randomUUID(),
  );
  expect(status).toBe(201);
  const id = String(body.data['scheduleId']);
  const handle = temporal.workflow.getHandle(idOf.recurring(id));
  // On a slow machine its first billing may come before.
  await eventually(async () => (await isWaiting(id)) || (await hasBilled(id)));
  return { id, handle };
}

export async function isWaiting(id: string): Promise<boolean> {
  const found = await engine.database.db.rows`SELECT FROM schedules WHERE id = ${id} AND waiting`;
  return found.length > 0;
}

async function hasBilled(id: string): Promise<boolean> {
  const found = await engine.database.db.rows`SELECT FROM billings WHERE schedule_id = ${id} LIMIT 1`;
  return found.length > 0;
}

export async function retrieve(id: string): Promise<Record<string, unknown>> {
  const { body } = await merchant.api.get(`/v1/billing/recurring/${id}`);
  return body.data;
}

export const charges = async () =>
  (
    await engine.database.db.rows<{ status: string }>`
  SELECT status FROM billing_requests WHERE merchant_id = ${merchant.entityId} ORDER BY id`
  ).map(({ status }) => status);

export async function questions(): Promise<number> {
  const received = await bank.server.received();
  return received.filter(({ type }) => type === 'billing.request').length;
}

export const isRunning = async (handle: WorkflowHandle) =>
  (await handle.describe().catch(() => undefined))?.status.name === 'RUNNING';

export const SCHEDULED = ['reconcile', 'chain', 'sweep'] as const;
export type Scheduled = (typeof SCHEDULED)[number];

/** Runs it as often as it takes. */
export async function triggered(id: Scheduled, holds: () => Promise<boolean>): Promise<void> {
  await eventually(async () => {
    if (await holds()) return true;
    await temporal.schedule.getHandle(id).trigger(ScheduleOverlapPolicy.SKIP);
    return false;
  });
}

export const recovered = (holds: () => Promise<boolean>) => triggered('reconcile', holds);

/**
 * Requests its cancellation, and reads on its timeline what it waits for still, and that it is
 * refused.
 */
export async function cancelInVain(handle: WorkflowHandle): Promise<void> {
  await handle.cancel();
  await eventually(async () =>
    /\d{4}-\d\d-\d\dT.*\. Cancellation refused/.test(await timerSummaries(handle)),
  );
  expect(await isRunning(handle)).toBe(true);
}

async function timerSummaries(handle: WorkflowHandle): Promise<string> {
  const { events } = await handle.fetchHistory();
  return (events ?? [])
    .map(({ userMetadata }) => Buffer.from(userMetadata?.summary?.data ?? []).toString())
    .join('\n');
}

/** One whose customer, the other one, has suspended the merchant since. */
export async function suspendedSchedule() {
  const other = bank.customers[1] ?? customer;
  const terms = { customerId: other.customerId, paymentID: await agreement(bank, merchant, other) };
  const made = await schedule(86_400_000, terms);
  const { body } = await bank.api.get('/v1/bank/customer-decisions', { merchantId: merchant.entityId });
  const decisions = body.data['decisions'] as { id: string; customerId: string }[];
  const agreed = decisions.find(({ customerId }) => customerId === other.customerId);
  const { status } = await bank.api.put(`/v1/bank/customer-decisions/${agreed?.id}`, {
    customerDecision: 'suspended',
  });
  expect(status).toBe(200);
  await bank.hears('recurring.updated', made.id);
  await eventually(() => isWaiting(made.id));
  return made;
}

/** A webhook whose first attempt has failed, and whose workflow sleeps until the second. */
export async function failedWebhook() {
  await merchant.server.misbehave({ kind: 'status', status: 500, times: 1, type: 'webhook.test' });
  const { body } = await merchant.api.post('/v1/webhooks/endpoint/test', undefined);
  const deliveryId = String(body.data['deliveryId']);
  const attempts = async () =>
    (await merchant.server.attempts()).filter((attempt) => attempt.deliveryId === deliveryId).length;
  const handle = temporal.workflow.getHandle(idOf.webhookDelivery(deliveryId));
  await eventually(() => isSleeping(handle));
  expect(await attempts()).toBe(1);
  return { deliveryId, handle, attempts };
}

/** How many requests of this type, about this thing, a party's receiver has had. */
export async function sent(side: Bank | Merchant, type: string, about = ''): Promise<number> {
  const attempts = await side.server.attempts();
  return attempts.filter((attempt) => attempt.type === type && attempt.body.includes(about)).length;
}

/** Resets its run to each point at which it can be, one by one; each new run must get so far. */
export async function resetAtEachPoint(
  handle: WorkflowHandle,
  getsSoFar: (run: WorkflowHandle) => Promise<unknown>,
): Promise<void> {
  const { runId } = await handle.describe();
  const { events } = await handle.fetchHistory();
  const points = (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes);
  expect(points.length).toBeGreaterThan(0);
  for (const { eventId } of points) {
    const reset = await temporal.workflowService.resetWorkflowExecution({
      namespace: engine.namespace,
      workflowExecution: { workflowId: handle.workflowId, runId },
      workflowTaskFinishEventId: eventId ?? null,
      requestId: randomUUID(),
      reason: 'by hand',
    });
    await getsSoFar(temporal.workflow.getHandle(handle.workflowId, reset.runId));
  }
}

/** The workflow that moves the merchant's test clock. */
export async function advanceUnderWay(): Promise<WorkflowHandle> {
  const [clock] = await engine.database.db.rows<{
    target: Date;
  }>`SELECT clock_target AS target FROM entities WHERE id = ${merchant.entityId}`;
  if (!clock) throw new Error('the merchant has a clock');
  const handle = temporal.workflow.getHandle(
    idOf.sandboxClock(merchant.entityId, formatInstant(clock.target)),
  );
  await eventually(async () => (await handle.describe().catch(() => undefined)) !== undefined);
  return handle;
}

/** The last that it did is to begin to wait. With `signals`, it has heard so many. */
export async function isSleeping(handle: WorkflowHandle, signals?: number): Promise<boolean> {
  const { events } = await handle.fetchHistory().catch(() => ({ events: [] }));
  const heard = signalsIn(events);
  return heard === (signals ?? heard) && Boolean((events ?? []).at(-1)?.timerStartedEventAttributes);
}

type Events = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events'];

const signalsIn = (events: Events) =>
  (events ?? []).filter((event) => event.workflowExecutionSignaledEventAttributes).length;

export const signalsOf = async (handle: WorkflowHandle) => signalsIn((await handle.fetchHistory()).events);

export const ENDS: ((handle: WorkflowHandle) => Promise<unknown>)[] = [
  (handle) => handle.cancel(),
  (handle) => handle.terminate('by hand'),
];

type Payload = { metadata: Record<string, Uint8Array>; data: Uint8Array };

const payload = (encoding: string, data: string): Payload => ({
  metadata: { encoding: Buffer.from(encoding) },
  data: Buffer.from(data),
});

/** Signals that somebody may send by hand: a name, and a payload that is not true. */
export const STRAY: [name: string, input: Payload][] = [
  ['bankAnswered', payload('json/plain', '{"status":"successful"}')],
  ['foundOverdue', payload('json/plain', '"2020-01-01T00:00:00Z"')],
  ['fellDue', payload('json/plain', 'no JSON')],
  ['cancellation requested', payload('json/protobuf', '{}')],
  ['__proto__', payload('binary/encrypted', 'no key')],
];

export async function signalByHand(handle: WorkflowHandle, [signalName, input]: (typeof STRAY)[number]) {
  await temporal.workflowService.signalWorkflowExecution({
    namespace: engine.namespace,
    workflowExecution: { workflowId: handle.workflowId },
    signalName,
    input: { payloads: [input] },
  });
}
