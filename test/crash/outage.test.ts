import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { workflowIds as idOf } from '../../src/domain/workflow/workflow-id';
import { agreement, Cast, type Bank, type Customer, type Merchant } from '../support/cast';
import { runAssent } from '../support/cli';
import { eventually, startEngine, type TestEngine } from '../support/engine';
import { metricsOnFreePorts, valueOf, type Metrics } from '../support/metrics';
import { startOwnServers, type OwnServers } from '../support/own-servers';

/**
 * What the network says and does while Temporal, Postgres or the worker is away, and when it is
 * back.
 */

let servers: OwnServers;
let engine: TestEngine;
let cast: Cast;
let bank: Bank;
let merchant: Merchant;
let customer: Customer;
let paymentID: string;
let token: string;
let metrics: Metrics;
let temporal: Client;

/**
 * The window of charges that the customer must approve; those under the standing approval stay open
 * for a day.
 */
const WINDOW_S = 8;

beforeAll(async () => {
  servers = await startOwnServers();
  metrics = await metricsOnFreePorts();
  engine = await startEngine({ APPROVAL_WINDOW_S: String(WINDOW_S), ...metrics.settings }, servers);
  cast = new Cast(engine);
  [bank, merchant] = await Promise.all([cast.bank(2), cast.merchant()]);
  customer = bank.customers[0];
  paymentID = await agreement(bank, merchant, customer);
  token = await merchant.api.accessToken();
  // It connects anew whenever a Temporal has come back.
  const connection = Connection.lazy({ address: engine.temporalAddress });
  temporal = new Client({ connection, namespace: engine.namespace });
});

afterAll(async () => {
  engine.worker.thaw();
  await temporal.connection.close();
  await cast.leave();
  await engine.stop();
  await servers.stop();
});

/**
 * A charge that the bank has been asked about, as the network has noted, and has not answered: its
 * workflow sleeps.
 */
async function askedCharge(payer: { paymentIDs: [string] } | { lookupIDs: [string] }): Promise<string> {
  await bank.answerCharges('silence', { times: 1 });
  const { billingRequestId } = await merchant.charge(payer, 10);
  await bank.hears('billing.request', billingRequestId);
  await eventually(async () => {
    const asked = await engine.database.db.row`
      SELECT FROM billing_requests b JOIN webhook_deliveries d ON d.id = b.bank_delivery_id
      WHERE b.id = ${billingRequestId} AND d.status = 'delivered' AND b.waiting`;
    return asked !== undefined;
  });
  return billingRequestId;
}

describe('while Temporal is away', () => {
  test('bills and answers are taken, and what was asked for or fell due meanwhile is done when Temporal is back', async () => {
    const asked = await askedCharge({ paymentIDs: [paymentID] });
    const scheduleId = await schedule({ startDate: new Date(Date.now() + 10_000).toISOString() });
    await eventually(() => isWaiting(scheduleId));
    await servers.temporal.kill();

    const answer = await bank.respondToCharge(asked, { bankTransactionId: 'tx-1' });
    const { billingRequestId: billed, status } = await merchant.charge({ paymentIDs: [paymentID] }, 20);
    await expectMissing('temporal');

    expect(answer).toMatchObject({ status: 200, body: { data: { status: 'successful' } } });
    expect(await merchant.retrieve(asked)).toMatchObject({ status: 'successful' });
    expect(status).toBe('pending');
    expect(await waitingForTemporal()).toEqual(new Set([asked, billed].map(idOf.billingRequest)));
    // Past its due date, and nobody has charged it.
    await eventually(async () => {
      const due = await engine.database.db.row`
        SELECT FROM schedules WHERE id = ${scheduleId} AND next_due_at < clock_timestamp()`;
      return due !== undefined;
    });
    expect(await chargesOf(scheduleId)).toEqual([]);
    const told = await metrics.worker();
    expect(valueOf(told, 'assent_outbox_messages{rank="call"}')).toBe(2);
    expect(valueOf(told, 'assent_outbox_oldest_age_seconds{rank="call"}')).toBeGreaterThan(0);
    expect(away(told)).toEqual(['temporal', 'worker']);
    expect(await engine.log()).toContain('Temporal does not answer: messages wait in the outbox');

    await servers.temporal.start();
    // A supervisor starts the worker again, should it have given up.
    await engine.worker.start();
    await expectPaidOnce(asked);
    // Its workflow asks the bank, and had to wait for Temporal.
    await expectPaidOnce(billed);
    await eventually(async () => (await chargesOf(scheduleId)).length > 0);
    const [scheduled = ''] = await chargesOf(scheduleId);
    await expectPaidOnce(scheduled);
    expect(await chargesOf(scheduleId)).toHaveLength(1);
    await expectReady();
  });
});

describe('while Postgres is away', () => {
  test('every call gets 503 and when to come back, and a bill that was cut off is made once', async () => {
    const asked = await askedCharge({ paymentIDs: [paymentID] });
    const expiring = await askedCharge({ lookupIDs: [customer.lookupID] });
    const key = randomUUID();
    const bill = () =>
      call('POST', '/v1/customer/bill', {
        key,
        body: { paymentIDs: [paymentID], amount: 30, currency: 'NGN', description: 'cut off' },
      });

    const [cutOff] = await Promise.all([cutOffInTheMiddle(bill), sleepPast(expiring)]);
    expectComeBack(cutOff);
    expectComeBack(await bill());
    expectComeBack(await call('GET', `/v1/billing/requests/${asked}`));
    await expectMissing('postgres');
    const told = { api: await metrics.api(), worker: await metrics.worker() };
    expect([away(told.api), away(told.worker)]).toEqual([['postgres'], ['postgres']]);
    const refused = 'assent_http_requests_total{method="POST",route="/v1/customer/bill",status="503"}';
    expect(valueOf(told.api, refused)).toBe(2);
    expect(valueOf(told.worker, 'assent_outbox_messages{rank="call"}')).toBeUndefined();

    await servers.postgres.start();
    await eventually(async () => (await bill()).status === 201);
    expect(await bank.respondToCharge(asked, { bankTransactionId: 'tx-2' })).toMatchObject({ status: 200 });
    await expectPaidOnce(asked);
    await expectExpiredOnce(expiring);
    const made = await engine.database.db.rows<{
      id: string;
    }>`SELECT id FROM billing_requests WHERE description = 'cut off'`;
    expect(made).toHaveLength(1);
    await expectPaidOnce(made[0]?.id ?? '');
    await expectReady();
  });
});

/** A charge, an intent, a refund and a schedule, due in hours. @returns their workflows */
async function openEverything(): Promise<[refund: string, ...others: string[]]> {
  const paid = await merchant.charge({ paymentIDs: [paymentID] }, 10);
  await merchant.hears('billing.response', paid.billingRequestId);
  const refund = await merchant.api.post('/v1/refunds/initiate', { reference: paid.reference }, randomUUID());
  await bank.answerIntents('silence', { times: 1 });
  return [
    idOf.refund(String(refund.body.data['refundId'])),
    idOf.recurring(await schedule({ startDate: new Date(Date.now() + 86_400_000).toISOString() })),
    idOf.billingRequest(await askedCharge({ paymentIDs: [paymentID] })),
    idOf.intent(await merchant.ask(bank.customers[1] ?? customer)),
  ];
}

/** `npx assent` beside the engine. */
async function assent(...args: string[]): Promise<{ code: unknown; told: Record<string, unknown> }> {
  const environment = { ...engine.environment, DATABASE_OWNER_URL: servers.ownerUrl };
  const { code, out, err } = await runAssent([...args, '--json'], environment);
  if (out === '') throw new Error(err);
  return { code, told: JSON.parse(out) as Record<string, unknown> };
}

describe('once Temporal’s disk is gone, and all that waited in it', () => {
  test('all goes on by itself in a new namespace, where nobody starts anything before a worker has taken it over', async () => {
    const open = await openEverything();
    const running = async () => {
      const states = await Promise.all(open.map(stateOf));
      return open.filter((_, i) => states[i] === 'RUNNING');
    };
    await eventually(async () => (await running()).length === open.length);
    engine.worker.freeze();
    await servers.temporal.kill();
    await servers.loseTemporalData();
    await servers.temporal.start();
    // As docs/operations.md has it.
    expect(await assent('migrate', '--create-namespace')).toEqual({ code: 0, told: { migrations: [] } });

    await expect(assent('reconcile', '--fix')).rejects.toThrow(
      /is not the one that the workflows of this database/,
    );
    expect(await running()).toEqual([]);
    expect(await engine.database.db.rows`SELECT FROM outbox WHERE start->>'again' = 'true'`).toEqual([]);

    engine.worker.thaw();
    await eventually(async () => {
      // A supervisor starts the worker again, should it have given up.
      await engine.worker.start();
      return (await running()).length === open.length;
    });
    expect(await engine.log()).toContain('Temporal has lost its workflows');
    await expectReady();
    // What the loss held back is made good: a webhook too, though its delivery was due meanwhile.
    await eventually(async () => (await assent('reconcile')).code === 0);
    const [, , charge = ''] = open;
    expect(await merchant.retrieve(charge.split('/')[1] ?? '')).toMatchObject({ status: 'pending' });

    const [refund] = open;
    await temporal.workflow.getHandle(refund).terminate('by hand');
    const found = [{ kind: 'refunds', workflowId: refund, wrong: 'without a workflow' }];
    expect(await assent('reconcile')).toMatchObject({
      code: 1,
      told: { ok: false, withoutWorkflow: 1, found, restarted: 0, remaining: 1 },
    });
    expect(await assent('reconcile', '--fix', '--reason', 'ticket 7')).toMatchObject({
      code: 0,
      told: { ok: true, found, restarted: 1, remaining: 0 },
    });
    expect(await running()).toEqual(open);
    const acts = await engine.database.db.rows`
      SELECT action, after FROM audit_events WHERE reason = 'ticket 7' ORDER BY id`;
    expect(acts).toMatchObject([
      { action: 'reconcile.begun', after: { namespace: engine.namespace } },
      { action: 'reconcile.ended', after: { ok: true, restarted: 1, remaining: 0 } },
    ]);
    expect(await assent('status')).toMatchObject({
      code: 0,
      told: {
        ready: true,
        problems: [],
        version: '0.2.0',
        workers: expect.arrayContaining([expect.objectContaining({ alive: true, version: '0.2.0' })]),
        outbox: { call: { messages: 0 }, later: { messages: 0 } },
        overdue: expect.arrayContaining([{ kind: 'intents', count: 0, oldestAgeS: 0 }]),
        where: { temporalAddress: engine.temporalAddress, temporalNamespace: engine.namespace },
      },
    });
  });
});

/** What the metrics of a process say that it does not reach. */
function away(text: string): string[] {
  return ['postgres', 'temporal', 'worker'].filter(
    (dependency) => valueOf(text, `assent_dependency_up{dependency="${dependency}"}`) === 0,
  );
}

/** Ends Postgres while the call waits for a row in the middle of its transaction. */
async function cutOffInTheMiddle(send: () => Promise<Answered>): Promise<Answered> {
  const { db } = engine.database;
  let sent: Promise<Answered> | undefined;
  const holding = db.transaction(async (trx) => {
    await trx.rows`SELECT FROM agreements FOR UPDATE`;
    sent = send();
    await eventually(async () => (await db.rows`SELECT FROM pg_locks WHERE NOT granted`).length > 0);
    await servers.postgres.kill();
  });
  await expect(holding).rejects.toThrow(/connection/i);
  if (!sent) throw new Error('the call was not made');
  return sent;
}

interface Answered {
  status: number;
  retryAfter: string | null;
  body: { errors?: { path: string }[] };
}

/** The contract's longest wait for a 503. */
const ANSWER_WITHIN_MS = 5_000;

/** One call as it is, without the patience of the merchant's own client. */
async function call(
  method: string,
  path: string,
  more: { key?: string; body?: object } = {},
): Promise<Answered> {
  const answer = await fetch(engine.apiUrl + path, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      ...(more.key !== undefined && { 'idempotency-key': more.key }),
    },
    ...(more.body && { body: JSON.stringify(more.body) }),
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
  });
  const body = (await answer.json()) as Answered['body'];
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), body };
}

function expectComeBack(answer: Answered): void {
  expect(answer).toMatchObject({ status: 503, retryAfter: expect.stringMatching(/^[1-9]\d*$/) });
}

/** The process lives, and says what it lacks. */
async function expectMissing(part: 'postgres' | 'temporal'): Promise<void> {
  const missing = async () => {
    const { status, body } = await call('GET', '/readyz');
    return { status, parts: body.errors?.map(({ path }) => path) };
  };
  let told: Awaited<ReturnType<typeof missing>> | undefined;
  await eventually(async () => (told = await missing()).status === 503);
  expect(told).toEqual({ status: 503, parts: [part] });
  expect((await call('GET', '/healthz')).status).toBe(200);
}

async function expectReady(): Promise<void> {
  await eventually(async () => (await call('GET', '/readyz')).status === 200);
}

async function expectPaidOnce(billingRequestId: string): Promise<void> {
  const told = await merchant.hears('billing.response', billingRequestId);
  expect(told).toMatchObject({ status: 'successful' });
  await expectWhole(billingRequestId);
}

async function expectExpiredOnce(billingRequestId: string): Promise<void> {
  const told = await merchant.hears('billing.response', billingRequestId);
  expect(told).toMatchObject({ status: 'declined', declineReason: 'expired' });
  await bank.hears('billing.closed', billingRequestId);
  await expectWhole(billingRequestId);
}

/**
 * One webhook to each side, one debit at most, a history without gaps, and a workflow that has
 * ended.
 */
async function expectWhole(billingRequestId: string): Promise<void> {
  const of = (type: string) => (event: { type: string; item: Record<string, unknown> }) =>
    event.type === type && event.item['billingRequestId'] === billingRequestId;
  expect((await merchant.server.received()).filter(of('billing.response'))).toHaveLength(1);
  expect((await bank.server.received()).filter(of('billing.request'))).toHaveLength(1);
  const debits = (await bank.server.ledger()).filter((entry) => entry.billingRequestId === billingRequestId);
  expect(debits.length).toBeLessThanOrEqual(1);
  const kept = await engine.database.db.row<{
    workflowId: string;
    scheduleId: string | null;
    sequences: number[];
  }>`
    SELECT workflow_id AS "workflowId", schedule_id AS "scheduleId",
      ARRAY(SELECT sequence FROM events WHERE resource_id = b.id ORDER BY sequence) AS sequences
    FROM billing_requests b WHERE id = ${billingRequestId}`;
  expect(kept?.sequences).toEqual([1, 2]);
  await eventually(async () => (await waitingForTemporal()).size === 0);
  await eventually(async () => (await stateOf(kept?.workflowId ?? '')) === 'COMPLETED');
}

const stateOf = (workflowId: string) =>
  temporal.workflow
    .getHandle(workflowId)
    .describe()
    .then(
      ({ status }) => status.name,
      () => undefined,
    );

/** Workflows that something in the outbox is for. */
async function waitingForTemporal(): Promise<Set<string>> {
  const found = await engine.database.db.rows<{ id: string }>`SELECT workflow_id AS id FROM outbox`;
  return new Set(found.map(({ id }) => id));
}

/** Whether the workflow of the schedule has begun, and sleeps. */
async function isWaiting(scheduleId: string): Promise<boolean> {
  const sleeping = await engine.database.db.row`
    SELECT FROM schedules WHERE id = ${scheduleId} AND waiting`;
  return sleeping !== undefined;
}

/** A schedule whose only billing is due at once. */
async function schedule(terms: object = {}): Promise<string> {
  const { status, body } = await merchant.api.post(
    '/v1/billing/recurring/create',
    {
      customerId: customer.customerId,
      paymentID,
      amount: 40,
      currency: 'NGN',
      frequency: 'daily',
      maxBillings: 1,
      ...terms,
    },
    randomUUID(),
  );
  if (status !== 201) throw new Error(`the schedule: ${status} ${JSON.stringify(body)}`);
  return String(body.data['scheduleId']);
}

async function chargesOf(scheduleId: string): Promise<string[]> {
  const charges = await engine.database.db.rows<{
    id: string;
  }>`SELECT id FROM billing_requests WHERE schedule_id = ${scheduleId}`;
  return charges.map(({ id }) => id);
}

/** Until the charge's window has passed, by the clock that it was opened with. */
async function sleepPast(billingRequestId: string): Promise<void> {
  const { expiresAt } = await merchant.retrieve(billingRequestId);
  await eventually(() => Promise.resolve(Date.now() > Date.parse(String(expiresAt))));
}
