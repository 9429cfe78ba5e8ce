import { randomUUID } from 'node:crypto';
import { Client, Connection, ScheduleOverlapPolicy, type WorkflowHandle } from '@temporalio/client';
import { calendarDay, formatInstant } from '../../src/domain/calendar';
import { workflowIds as idOf } from '../../src/domain/workflow/workflow-id';
import { send } from '../support/api';
import {
  accepted,
  agreement,
  Cast,
  type Bank,
  type Customer,
  type Item,
  type Merchant,
} from '../support/cast';
import { asOwner } from '../support/database';
import { eventually, startEngine, type TestEngine } from '../support/engine';
import { holdAt, type DatabaseStep } from '../support/held-step';
import { moveClock } from '../support/standing';

/**
 * What an operator does to workflows in the Temporal UI means what it says, and never moves money
 * twice.
 */

let engine: TestEngine;
let connection: Connection;
let temporal: Client;
let cast: Cast;
let bank: Bank;
let merchant: Merchant;
let customer: Customer;
let paymentID: string;

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

async function schedule(
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

async function isWaiting(id: string): Promise<boolean> {
  const found = await engine.database.db.rows`SELECT FROM schedules WHERE id = ${id} AND waiting`;
  return found.length > 0;
}

async function hasBilled(id: string): Promise<boolean> {
  const found = await engine.database.db.rows`SELECT FROM billings WHERE schedule_id = ${id} LIMIT 1`;
  return found.length > 0;
}

async function retrieve(id: string): Promise<Record<string, unknown>> {
  const { body } = await merchant.api.get(`/v1/billing/recurring/${id}`);
  return body.data;
}

const charges = async () =>
  (
    await engine.database.db.rows<{ status: string }>`
  SELECT status FROM billing_requests WHERE merchant_id = ${merchant.entityId} ORDER BY id`
  ).map(({ status }) => status);

async function questions(): Promise<number> {
  const received = await bank.server.received();
  return received.filter(({ type }) => type === 'billing.request').length;
}

const isRunning = async (handle: WorkflowHandle) =>
  (await handle.describe().catch(() => undefined))?.status.name === 'RUNNING';

const SCHEDULED = ['reconcile', 'chain', 'sweep'] as const;
type Scheduled = (typeof SCHEDULED)[number];

/** Runs it as often as it takes. */
async function triggered(id: Scheduled, holds: () => Promise<boolean>): Promise<void> {
  await eventually(async () => {
    if (await holds()) return true;
    await temporal.schedule.getHandle(id).trigger(ScheduleOverlapPolicy.SKIP);
    return false;
  });
}

const reconciled = (holds: () => Promise<boolean>) => triggered('reconcile', holds);

/**
 * Requests its cancellation, and reads on its timeline what it waits for still, and that it is
 * refused.
 */
async function cancelInVain(handle: WorkflowHandle): Promise<void> {
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
async function suspendedSchedule() {
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
async function failedWebhook() {
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
async function sent(side: Bank | Merchant, type: string, about = ''): Promise<number> {
  const attempts = await side.server.attempts();
  return attempts.filter((attempt) => attempt.type === type && attempt.body.includes(about)).length;
}

/** Resets its run to each point at which it can be, one by one; each new run must get so far. */
async function resetAtEachPoint(
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
async function advanceUnderWay(): Promise<WorkflowHandle> {
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
async function isSleeping(handle: WorkflowHandle, signals?: number): Promise<boolean> {
  const { events } = await handle.fetchHistory().catch(() => ({ events: [] }));
  const heard = signalsIn(events);
  return heard === (signals ?? heard) && Boolean((events ?? []).at(-1)?.timerStartedEventAttributes);
}

type Events = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events'];

const signalsIn = (events: Events) =>
  (events ?? []).filter((event) => event.workflowExecutionSignaledEventAttributes).length;

const signalsOf = async (handle: WorkflowHandle) => signalsIn((await handle.fetchHistory()).events);

test('Request Cancellation of a schedule cancels it, tells both sides, and is on record as an operator’s act', async () => {
  const { id, handle } = await schedule(86_400_000);
  await handle.cancel();
  const result = (await handle.result()) as string[];
  expect(result[0]).toBe('Cancelled by an operator.');
  expect(result.at(-1)).toMatch(/^The schedule is cancelled\. 0/);
  expect(await retrieve(id)).toMatchObject({ status: 'cancelled', nextBillingDate: null });
  for (const side of [merchant, bank]) {
    expect(await side.hears('recurring.updated', id)).toMatchObject({ status: 'cancelled' });
  }
  const acts = await engine.database.db.rows`
    SELECT actor, action FROM audit_events WHERE entity_id = ${merchant.entityId}
      AND action = 'schedule.cancelled'`;
  expect(acts).toEqual([{ actor: 'operator:temporal', action: 'schedule.cancelled' }]);
  expect(await charges()).toEqual([]);
});

describe('Terminate', () => {
  test('stops a schedule’s charging at once, until it is started again and charges once what it missed', async () => {
    const { id, handle } = await schedule(86_400_000);
    await handle.terminate('by hand');
    await moveClock(engine.database.db, merchant.entityId, '2 days');
    expect(await charges()).toEqual([]);
    await reconciled(async () => (await charges())[0] === 'successful');
    await eventually(() => isWaiting(id));
    expect(await charges()).toEqual(['successful']);
    expect(await questions()).toBe(1);
  });

  test('of a webhook loses none of its attempts: it is started again, and waits for the next', async () => {
    const { deliveryId, handle, attempts } = await failedWebhook();
    await handle.terminate('by hand');
    await reconciled(() => isRunning(handle));
    await eventually(() => isSleeping(handle));
    expect(await attempts()).toBe(1);
    await merchant.api.post(`/v1/webhooks/deliveries/${deliveryId}/redeliver`, undefined);
    expect(await handle.result()).toBe('delivered');
    expect(await attempts()).toBe(2);
  });

  test('of a payment between customers whose payee’s bank has not heard yet: it is started again, and sees that it has', async () => {
    const payeeBank = await cast.bank();
    await payeeBank.server.misbehave({ kind: 'status', status: 500, times: 1, type: 'billing.credit' });
    const { billingRequestId } = accepted(
      await payeeBank.api.post<Item[]>(
        '/v1/customer/bill',
        {
          lookupIDs: [customer.lookupID],
          payee: { lookupID: payeeBank.customers[0].lookupID },
          amount: 10,
          currency: 'NGN',
          description: 'Rent',
        },
        randomUUID(),
      ),
    );
    await eventually(async () => (await sent(payeeBank, 'billing.credit')) === 1);
    const handle = temporal.workflow.getHandle(idOf.billingRequest(billingRequestId));
    await eventually(() => isSleeping(handle));
    await handle.terminate('by hand');
    await reconciled(() => isRunning(handle));

    const listed = await payeeBank.api.get('/v1/webhooks/deliveries', { webhookType: 'billing.credit' });
    const [credit] = listed.body.data['deliveries'] as { deliveryId: string }[];
    await payeeBank.api.post(`/v1/webhooks/deliveries/${credit?.deliveryId}/redeliver`, undefined);
    await handle.result();
    expect(await payeeBank.hears('billing.credit', billingRequestId)).toMatchObject({ amount: 10 });
    expect(await questions()).toBe(1);
    expect(await sent(payeeBank, 'billing.credit')).toBe(2);
  });

  test('leaves a paused schedule alone until it is resumed, and a suspended one is started again and charges nothing', async () => {
    const { id, handle } = await schedule(86_400_000);
    await merchant.api.post(`/v1/billing/recurring/${id}/pause`, {});
    await merchant.hears('recurring.updated', id);
    await bank.hears('recurring.updated', id);
    await eventually(() => isWaiting(id));
    await handle.terminate('by hand');
    // Another one of the same merchant comes back, so that the paused one had its turn.
    const suspended = await suspendedSchedule();
    await suspended.handle.terminate('by hand');
    await reconciled(() => isRunning(suspended.handle));
    await eventually(() => isSleeping(suspended.handle));
    expect(await retrieve(suspended.id)).toMatchObject({ status: 'suspended' });
    expect(await isRunning(handle)).toBe(false);

    await merchant.api.post(`/v1/billing/recurring/${id}/resume`, {});
    await eventually(() => isRunning(handle));
    expect(await retrieve(id)).toMatchObject({ status: 'active' });
    await merchant.advanceClock('P2D');
    expect(await retrieve(suspended.id)).toMatchObject({
      status: 'suspended',
      billings: expect.arrayContaining([expect.objectContaining({ n: 0, status: 'skipped' })]) as unknown,
    });
    expect(await charges()).toEqual(['successful']);
  });
});

const ENDS: ((handle: WorkflowHandle) => Promise<unknown>)[] = [
  (handle) => handle.cancel(),
  (handle) => handle.terminate('by hand'),
];

/** What is held in the middle of its work, each time that it comes there. */
interface UnderWay {
  step: DatabaseStep;
  begin: () => Promise<Begun>;
}

interface Begun {
  handle: WorkflowHandle;
  /** As its owner sees it. */
  status: () => Promise<unknown>;
  /** Its last status. */
  end: string;
  /** What has come of it, once it has ended. */
  outcome: () => Promise<unknown>;
  /** The same where each thing was done once. */
  once: unknown;
}

const UNDER_WAY: Record<string, () => UnderWay> = {
  'a batch of customers': () => ({
    step: { on: 'DELETE', table: 'staged_customers', when: 'OLD.first_index = 250', at: 'row' },
    async begin() {
      const customers = Array.from({ length: 510 }, (__, i) => ({
        clientRef: `batch-${i}`,
        firstname: 'Ife',
        lastname: 'Ade',
        accountName: 'ADE IFE',
        email: `ife${i}@example.com`,
        country: 'NG',
        accountNumber: `BATCH${1_000_000 + i}`,
      }));
      const { body } = await bank.api.post('/v1/bank/customers', { customers }, randomUUID());
      const batchId = String(body.data['batchId']);
      const batch = async () => (await bank.api.get(`/v1/bank/customers/batches/${batchId}`)).body.data;
      const summary = { total: 510, successful: 510, failed: 0, duplicates: 0 };
      return {
        handle: temporal.workflow.getHandle(idOf.customerMigration(batchId)),
        status: async () => (await batch())['status'],
        end: 'completed',
        outcome: async () => {
          const told = await bank.hears('migration.completed', batchId);
          const times = await sent(bank, 'migration.completed', batchId);
          return [(await batch())['summary'], told['summary'], times];
        },
        once: [summary, summary, 1],
      };
    },
  }),
  'a statement of a bank': () => ({
    step: { on: 'DELETE', table: 'bank_statement_pages', at: 'row' },
    async begin() {
      const { billingRequestId, reference } = await merchant.charge({ paymentIDs: [paymentID] }, 10);
      await merchant.hears('billing.response', billingRequestId);
      const [debit] = await bank.server.ledger();
      const day = calendarDay(new Date(), 'Africa/Lagos');
      const file = [
        'bankTransactionId,bookingDate,amount,currency,direction,reference',
        `${debit?.bankTransactionId},${day},10,NGN,debit,${reference}`,
        `FT-${randomUUID()},${day},7,NGN,debit,`,
      ].join('\n');
      const { body } = await send(engine.apiUrl, 'POST', '/v1/bank/statements', file, {
        authorization: `Bearer ${await bank.api.accessToken()}`,
        'content-type': 'text/csv',
      });
      const { statementId } = body.data as { statementId: string };
      const statement = async () => (await bank.api.get(`/v1/bank/statements/${statementId}`)).body.data;
      const exceptions = () =>
        engine.database.db.rows`
        SELECT kind FROM reconciliation_exceptions WHERE bank_id = ${bank.entityId}`;
      return {
        handle: temporal.workflow.getHandle(idOf.bankStatement(statementId)),
        status: async () => (await statement())['status'],
        end: 'completed',
        outcome: async () => [(await statement())['summary'], await exceptions()],
        once: [
          expect.objectContaining({ lines: 2, matched: 1, unknownHere: 1, duplicates: 0 }),
          [{ kind: 'unknown_here' }],
        ],
      };
    },
  }),
  'an advance of a test clock': () => ({
    step: {
      on: 'UPDATE',
      table: 'entities',
      when: `NEW.id = '${merchant.entityId}' AND NEW.clock_offset <> OLD.clock_offset`,
      at: 'row',
    },
    async begin() {
      await schedule(86_400_000, { maxBillings: 1 });
      const { status } = await merchant.api.post('/v1/sandbox/clock/advance', { by: 'P3D' });
      expect(status).toBe(202);
      return {
        handle: await advanceUnderWay(),
        status: async () => (await merchant.api.get('/v1/sandbox/clock')).body.data['status'],
        end: 'ready',
        outcome: async () => [await charges(), await questions()],
        once: [['successful'], 1],
      };
    },
  }),
};

test.each(Object.entries(UNDER_WAY))(
  'Request Cancellation and Terminate stop %s until it is started again, and neither they, nor Reset at any point, nor signals do anything twice',
  async (_, make) => {
    const { step, begin } = make();
    let held = await holdAt(engine.database.url, step);
    const { handle, status, end, outcome, once } = await begin();
    for (const act of ENDS) {
      await held.reached();
      await act(handle);
      await eventually(async () => !(await isRunning(handle)));
      await held.release('undone');
      expect(await status()).toMatch(/^(processing|advancing)$/);
      held = await holdAt(engine.database.url, step);
      await reconciled(() => isRunning(handle));
    }

    await held.reached();
    for (const stray of STRAY) await signalByHand(handle, stray);
    await resetAtEachPoint(handle, (run) => eventually(() => isRunning(run)));
    // What the first run was at comes through, although another has taken its place.
    await held.release('committed');
    await eventually(async () => (await status()) === end);
    await handle.result();
    expect(await outcome()).toEqual(once);

    await resetAtEachPoint(handle, (run) => run.result());
    expect(await outcome()).toEqual(once);
  },
);

/** A run of a Temporal Schedule, of which something is left to the next. */
interface Run {
  /** Where it is held, with that undone. */
  step: DatabaseStep;
  isDone: () => Promise<boolean>;
}

const RUNS: Record<Scheduled, () => Promise<Run>> = {
  reconcile: async () => {
    const { handle } = await schedule(86_400_000);
    await handle.terminate('by hand');
    return {
      step: { on: 'INSERT', table: 'outbox', when: `NEW.workflow_id = '${handle.workflowId}'`, at: 'row' },
      isDone: () => isRunning(handle),
    };
  },
  chain: async () => {
    const { id } = await schedule(86_400_000);
    return {
      step: { on: 'INSERT', table: 'event_chain', at: 'row' },
      isDone: async () => {
        const unchained = await engine.database.db.rows`
          SELECT FROM events e WHERE resource_id = ${id} AND NOT EXISTS (SELECT FROM event_chain
          WHERE row_id = e.id)`;
        return unchained.length === 0;
      },
    };
  },
  sweep: async () => {
    const { customerId } = customer;
    await asOwner(
      engine.database.url,
      `INSERT INTO customer_prompts (customer_id, day, kind, prompts)
       VALUES ('${customerId}', current_date - 2, 'intent', 1)`,
    );
    return {
      step: { on: 'DELETE', table: 'customer_prompts', at: 'row' },
      isDone: async () => {
        const left = await engine.database.db.rows`
          SELECT FROM customer_prompts WHERE customer_id = ${customerId} AND day < current_date - 1`;
        return left.length === 0;
      },
    };
  },
};

/** The run that this Temporal Schedule has started last, once it is the one that is asked for. */
async function latestRun(
  id: Scheduled,
  isIt: (run: WorkflowHandle) => Promise<boolean>,
): Promise<WorkflowHandle> {
  const found: WorkflowHandle[] = [];
  await eventually(async () => {
    const { info } = await temporal.schedule.getHandle(id).describe();
    const { workflow } = info.recentActions.at(-1)?.action ?? {};
    if (!workflow) return false;
    const run = temporal.workflow.getHandle(workflow.workflowId, workflow.firstExecutionRunId);
    found.unshift(run);
    return isIt(run);
  });
  const [run] = found;
  if (!run) throw new Error(`${id} has started nothing`);
  return run;
}

test.each(SCHEDULED)(
  'Request Cancellation and Terminate of a run of `%s` leave what it was at to the next, which signals and Reset do no harm',
  async (id) => {
    for (const act of ENDS) {
      const { step, isDone } = await RUNS[id]();
      const held = await holdAt(engine.database.url, step);
      await triggered(id, async () => (await held.holds()) !== undefined);
      const run = await latestRun(id, isRunning);
      const { runId } = await run.describe();
      await act(run);
      await eventually(async () => !(await isRunning(run)));
      await held.release('undone');
      expect(await isDone()).toBe(false);

      await triggered(id, isDone);
      const next = await latestRun(id, async (one) => (await one.describe()).runId !== runId);
      for (const stray of STRAY) await signalByHand(next, stray).catch(() => undefined);
      await next.result();
      // The same after either end.
      if (act === ENDS.at(-1)) await resetAtEachPoint(next, (again) => again.result());
      expect(await isDone()).toBe(true);
    }
  },
);

test('Reset is safe at every point: a schedule and a charge that ran move no money again', async () => {
  const { id, handle } = await schedule(1_000, { maxBillings: 1 });
  const single = await merchant.charge({ paymentIDs: [paymentID] }, 10);
  const charge = temporal.workflow.getHandle(idOf.billingRequest(single.billingRequestId));
  await merchant.hears('billing.response', single.billingRequestId);
  await Promise.all([handle.result(), charge.result()]);
  const before = { charges: await charges(), questions: await questions(), schedule: await retrieve(id) };
  expect(before.charges).toEqual(['successful', 'successful']);

  for (const ended of [handle, charge]) await resetAtEachPoint(ended, (run) => run.result());
  const after = { charges: await charges(), questions: await questions(), schedule: await retrieve(id) };
  expect(after).toEqual(before);
});

/** What waits, having asked once and told nobody yet. */
interface Waiting {
  handle: WorkflowHandle;
  asked: () => Promise<number>;
  told: () => Promise<number>;
  /** What it waits for happens. */
  end: () => Promise<{ status: number }>;
  /** Left out where Request Cancellation is refused. */
  isCancellable?: true;
}

const WAITING: Record<string, () => Promise<Waiting>> = {
  'a charge that waits for its bank': async () => {
    await bank.answerCharges('silence', { times: 1 });
    const { billingRequestId: id } = await merchant.charge({ paymentIDs: [paymentID] }, 10);
    return {
      handle: temporal.workflow.getHandle(idOf.billingRequest(id)),
      asked: () => sent(bank, 'billing.request', id),
      told: () => sent(merchant, 'billing.response', id),
      end: () => bank.respondToCharge(id, { bankTransactionId: `tx-${randomUUID()}` }),
    };
  },
  'a schedule between two billings': async () => {
    const { id, handle } = await schedule(1_000, { maxBillings: 2 });
    await eventually(async () => (await charges())[0] === 'successful' && (await isWaiting(id)));
    return {
      handle,
      asked: questions,
      told: () => sent(merchant, 'recurring.updated', id),
      end: () => merchant.api.post(`/v1/billing/recurring/${id}/cancel`, {}),
      isCancellable: true,
    };
  },
  'an intent that waits for its customer': async () => {
    await bank.answerIntents('silence', { times: 1 });
    const id = await merchant.ask(customer);
    return {
      handle: temporal.workflow.getHandle(idOf.intent(id)),
      asked: () => sent(bank, 'billing.intent', id),
      told: () => sent(merchant, 'billing.intent.response', id),
      end: () => bank.respondToIntent(merchant, customer, { customerDecision: 'approve_once' }),
    };
  },
  'a refund that waits for its bank': async () => {
    const { billingRequestId, reference } = await merchant.charge({ paymentIDs: [paymentID] }, 10);
    await merchant.hears('billing.response', billingRequestId);
    const { body } = await merchant.api.post('/v1/refunds/initiate', { reference }, randomUUID());
    const refundId = String(body.data['refundId']);
    const answer = { refundId, action: 'completed', bankTransactionId: `back-${randomUUID()}` };
    return {
      handle: temporal.workflow.getHandle(idOf.refund(refundId)),
      asked: () => sent(bank, 'refund.request', refundId),
      told: () => sent(merchant, 'refund.response', refundId),
      end: () => bank.api.answer('/v1/bank/refund-response', answer),
    };
  },
  'a webhook that waits for its next attempt': async () => {
    const { deliveryId, handle, attempts } = await failedWebhook();
    return {
      handle,
      asked: async () => Math.min(await attempts(), 1),
      told: async () => (await attempts()) - 1,
      end: () => merchant.api.post(`/v1/webhooks/deliveries/${deliveryId}/redeliver`, undefined),
    };
  },
};

type Payload = { metadata: Record<string, Uint8Array>; data: Uint8Array };

const payload = (encoding: string, data: string): Payload => ({
  metadata: { encoding: Buffer.from(encoding) },
  data: Buffer.from(data),
});

/** What somebody may send by hand: a name, and a payload of which nothing is so. */
const STRAY: [name: string, input: Payload][] = [
  ['bankAnswered', payload('json/plain', '{"status":"successful"}')],
  ['foundOverdue', payload('json/plain', '"2020-01-01T00:00:00Z"')],
  ['fellDue', payload('json/plain', 'no JSON')],
  ['cancellation requested', payload('json/protobuf', '{}')],
  ['__proto__', payload('binary/encrypted', 'no key')],
];

async function signalByHand(handle: WorkflowHandle, [signalName, input]: (typeof STRAY)[number]) {
  await temporal.workflowService.signalWorkflowExecution({
    namespace: engine.namespace,
    workflowExecution: { workflowId: handle.workflowId },
    signalName,
    input: { payloads: [input] },
  });
}

test.each(Object.entries(WAITING))(
  'Reset, at every point, of %s, signals sent by hand, and a cancellation that is refused in words ask nobody twice and tell nobody twice',
  async (_, make) => {
    const { handle, asked, told, end, isCancellable } = await make();
    await eventually(() => isSleeping(handle));
    await resetAtEachPoint(handle, (run) => eventually(() => isSleeping(run)));
    expect([await asked(), await told()]).toEqual([1, 0]);
    const before = await signalsOf(handle);
    for (const stray of STRAY) await signalByHand(handle, stray);
    await eventually(() => isSleeping(handle, before + STRAY.length));
    if (!isCancellable) await cancelInVain(handle);
    expect([await asked(), await told()]).toEqual([1, 0]);
    expect((await end()).status).toBeLessThan(300);
    await handle.result();
    expect([await asked(), await told()]).toEqual([1, 1]);
  },
);

test('a test clock goes on although a workflow was ended by hand', async () => {
  const { id, handle } = await schedule(86_400_000, { maxBillings: 1 });
  await handle.terminate('by hand');
  const { body } = await merchant.api.post('/v1/sandbox/clock/advance', { by: 'P2D' });
  expect(body).toMatchObject({ data: { status: 'advancing' } });
  const advance = await advanceUnderWay();
  await advance.result();
  expect((await merchant.api.get('/v1/sandbox/clock')).body.data).toMatchObject({ status: 'ready' });
  expect(await retrieve(id)).toMatchObject({ billings: [{ n: 0, status: 'successful' }] });
  expect(await charges()).toEqual(['successful']);
  const logged = (await engine.log())
    .split('\n')
    .find((line) => line.includes('due, but without a workflow: started again') && line.includes(id));
  expect(JSON.parse(logged ?? '{}')).toMatchObject({ workflowIds: [handle.workflowId] });
});
