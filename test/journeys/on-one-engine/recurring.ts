import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { workflowIds } from '../../../src/domain/workflow/workflow-id';
import { agreement, Cast, type Bank, type Customer, type Merchant } from '../../support/cast';
import { eventually } from '../../support/engine';
import { engine } from './engine';

async function indexedStatus(workflow: WorkflowHandle): Promise<unknown> {
  const { searchAttributes } = await workflow.describe();
  return searchAttributes['AssentStatus']?.[0];
}

const day = (date: string) => date.slice(0, 10);

/** Charging again and again, watched through the merchant's test clock on the real engine. */
describe('schedules', () => {
  let temporal: Client;
  let cast: Cast;
  let bank: Bank;
  let merchant: Merchant;
  let customer: Customer;
  let paymentID: string;

  beforeAll(async () => {
    const connection = await Connection.connect({ address: engine.temporalAddress });
    temporal = new Client({ connection, namespace: engine.namespace });
    cast = new Cast(engine);
  });
  afterAll(async () => {
    await temporal.connection.close();
    await cast.leave();
  });

  /** Every test has a pair of its own, and a bank that approves charges unless told otherwise. */
  beforeEach(async () => {
    [bank, merchant] = await Promise.all([cast.bank(), cast.merchant()]);
    customer = bank.customers[0];
    paymentID = await agreement(bank, merchant, customer);
    await bank.answerCharges('approve_recurring');
  });

  interface Billing {
    n: number;
    dueDate: string;
    status: string;
    reason?: string;
    attempts: { reference: string; status: string; declineReason: string | null; at: string }[];
  }

  interface Schedule {
    scheduleId: string;
    status: string;
    nextBillingDate: string | null;
    billings: Billing[];
  }

  async function create(terms: object): Promise<string> {
    const { status, body } = await merchant.api.post('/v1/billing/recurring/create', {
      customerId: customer.customerId,
      paymentID,
      amount: 1500.5,
      currency: 'NGN',
      ...terms,
    });
    if (status !== 201) throw new Error(`the schedule: ${status} ${JSON.stringify(body)}`);
    return String((body as { data: Record<string, unknown> }).data['scheduleId']);
  }

  async function retrieve(scheduleId: string): Promise<Schedule> {
    const { status, body } = await merchant.api.get(`/v1/billing/recurring/${scheduleId}`);
    if (status !== 200) throw new Error(`${scheduleId}: ${status} ${JSON.stringify(body)}`);
    return body.data as unknown as Schedule;
  }

  async function jump(by: string): Promise<void> {
    const { status, body } = await merchant.api.post('/v1/sandbox/clock/advance', { by, jump: true });
    expect({ status, body }).toMatchObject({ status: 202, body: { data: { status: 'ready' } } });
  }

  /** `n status[ reason]` of each billing. */
  async function billings(scheduleId: string): Promise<string[]> {
    const schedule = await retrieve(scheduleId);
    return schedule.billings.map(({ n, status, reason }) =>
      [n, status, ...(reason ? [reason] : [])].join(' '),
    );
  }

  const becomes = (scheduleId: string, billing: string) =>
    eventually(async () => (await billings(scheduleId)).includes(billing));

  async function events(who: 'bank' | 'merchant', type: string): Promise<Record<string, unknown>[]> {
    const received = await (who === 'bank' ? bank : merchant).server.received();
    return received.filter((event) => event.type === type).map((event) => event.item);
  }

  /**
   * All of them, once so many have arrived, in the order of what happened to the thing that they
   * tell of.
   */
  async function eventsInOrder(who: 'bank' | 'merchant', type: string, count: number) {
    await eventually(async () => (await events(who, type)).length >= count);
    return (await events(who, type)).toSorted((a, b) => Number(a['sequence']) - Number(b['sequence']));
  }

  async function act(scheduleId: string, action: 'pause' | 'resume' | 'cancel'): Promise<void> {
    const { status, body } = await merchant.api.post(`/v1/billing/recurring/${scheduleId}/${action}`, {});
    if (status !== 200) throw new Error(`${action}: ${status} ${JSON.stringify(body)}`);
  }

  /** What the customer tells the bank about this merchant, without being asked. */
  async function decide(decision: object): Promise<void> {
    const list = await bank.api.get('/v1/bank/customer-decisions', { merchantId: merchant.entityId });
    const [agreed] = list.body.data['decisions'] as { id: string }[];
    const { status, body } = await bank.api.put(`/v1/bank/customer-decisions/${agreed?.id}`, decision);
    if (status !== 200) throw new Error(`the decision: ${status} ${JSON.stringify(body)}`);
  }

  const workflowOf = (scheduleId: string): WorkflowHandle =>
    temporal.workflow.getHandle(workflowIds.recurring(scheduleId));

  test('a monthly schedule of three billings shows in Temporal what it waits for, and runs to completion through the test clock', async () => {
    const startDate = '2031-01-31T08:00:00.000Z';
    const scheduleId = await create({ frequency: 'monthly', maxBillings: 3, startDate });
    expect(await retrieve(scheduleId)).toMatchObject({ status: 'active', nextBillingDate: startDate });
    // The relay may still have its start in hand.
    const describe = () =>
      workflowOf(scheduleId)
        .describe()
        .catch(() => undefined);
    await eventually(async () => (await describe()) !== undefined);
    expect(await describe()).toMatchObject({
      status: { name: 'RUNNING' },
      searchAttributes: {
        AssentStatus: ['active'],
        AssentMerchant: [merchant.entityId],
        AssentBank: [bank.entityId],
        AssentNextBillingDate: [new Date(startDate)],
      },
    });

    await merchant.advanceClock('P6Y');

    const schedule = await retrieve(scheduleId);
    expect(schedule).toMatchObject({ status: 'completed', nextBillingDate: null });
    expect(schedule.billings.map(({ dueDate, status }) => [day(dueDate), status])).toEqual([
      ['2031-01-31', 'successful'],
      ['2031-02-28', 'successful'],
      ['2031-03-31', 'successful'],
    ]);
    // Each was made when it was due, not when the clock arrived.
    for (const { dueDate, attempts } of schedule.billings) {
      expect(attempts).toHaveLength(1);
      expect(Date.parse(attempts[0]?.at ?? '') - Date.parse(dueDate)).toBeLessThan(60_000);
    }
    const ledger = await bank.server.ledger();
    expect(ledger.map(({ amount, state }) => `${amount} ${state}`)).toEqual(Array(3).fill('150050 debited'));
    expect(await events('bank', 'recurring.upcoming')).toHaveLength(3);
    expect(await events('merchant', 'recurring.upcoming')).toHaveLength(3);
    expect(await events('merchant', 'recurring.updated')).toMatchObject([
      { scheduleId, status: 'completed', previousStatus: 'active', billingsCompleted: 3 },
    ]);
  });

  test('nothing falls due without a worker; once it is back, due dates are charged oldest first, three in a day, each once, though it is killed while the clock advances', async () => {
    const scheduleId = await create({ frequency: 'daily', maxBillings: 12 });
    await becomes(scheduleId, '0 successful');
    await engine.worker.kill();
    await jump('P5D');
    expect((await billings(scheduleId))[1]).toBe('1 scheduled');
    await engine.worker.start();
    await becomes(scheduleId, '3 successful');
    expect((await billings(scheduleId))[4]).toBe('4 scheduled');

    const advance = merchant.advanceClock('P12D');
    await eventually(async () => (await bank.server.ledger()).length >= 8);
    await engine.worker.kill();
    await engine.worker.start();
    await advance;
    const schedule = await retrieve(scheduleId);
    expect(schedule.status).toBe('completed');
    expect(schedule.billings.map(({ status }) => status)).toEqual(Array(12).fill('successful'));
    expect(await bank.server.ledger()).toHaveLength(12);
  });

  test('a merchant pauses, resumes, changes and cancels a sleeping schedule, which learns of each at once', async () => {
    const scheduleId = await create({ frequency: 'weekly' });
    await becomes(scheduleId, '0 successful');
    const workflow = workflowOf(scheduleId);

    await act(scheduleId, 'pause');
    await eventually(async () => (await indexedStatus(workflow)) === 'paused');
    await merchant.advanceClock('P15D');
    expect(await billings(scheduleId)).toEqual([
      '0 successful',
      '1 skipped paused',
      '2 skipped paused',
      '3 scheduled',
    ]);

    await act(scheduleId, 'resume');
    await eventually(async () => (await indexedStatus(workflow)) === 'active');
    const change = { amount: 2000, maxBillings: 3 };
    const changed = await merchant.api.patch(`/v1/billing/recurring/${scheduleId}`, change);
    expect(changed.status).toBe(200);
    await merchant.advanceClock('P7D');
    expect((await billings(scheduleId))[3]).toBe('3 successful');
    expect((await bank.server.ledger()).map(({ amount }) => amount)).toEqual(['150050', '200000']);

    await act(scheduleId, 'cancel');
    // It has nothing to wait for any more.
    await eventually(async () => (await workflow.describe()).status.name === 'COMPLETED');
    await merchant.advanceClock('P15D');
    expect(await retrieve(scheduleId)).toMatchObject({ status: 'cancelled', nextBillingDate: null });
    expect(await bank.server.ledger()).toHaveLength(2);
    for (const who of ['bank', 'merchant'] as const) {
      const told = await eventsInOrder(who, 'recurring.updated', 4);
      expect(told.map(({ status }) => status)).toEqual(['paused', 'active', 'active', 'cancelled']);
    }
  });

  test('a customer who changes the decision at the bank stops a sleeping schedule, and ends it for good', async () => {
    const scheduleId = await create({ frequency: 'weekly' });
    await becomes(scheduleId, '0 successful');
    await decide({ customerDecision: 'approve_once' });
    await merchant.advanceClock('P8D');
    expect(await billings(scheduleId)).toEqual(['0 successful', '1 skipped suspended', '2 scheduled']);
    await decide({ customerDecision: 'approve_recurring', spendingLimits: { daily: 1500.49 } });
    await merchant.advanceClock('P6DT12H');
    expect(await retrieve(scheduleId)).toMatchObject({ status: 'past_due' });
    await decide({ customerDecision: 'approve_recurring', spendingLimits: {} });
    await merchant.advanceClock('P1D');
    expect((await billings(scheduleId))[2]).toBe('2 successful');

    const listed = await bank.api.get('/v1/bank/customer/subscriptions?status=active');
    expect(listed.body.data).toMatchObject({ subscriptions: [{ scheduleId, billingsCompleted: 2 }] });
    await decide({ customerDecision: 'deny' });
    const workflow = workflowOf(scheduleId);
    await eventually(async () => (await workflow.describe()).status.name === 'COMPLETED');
    expect(await retrieve(scheduleId)).toMatchObject({ status: 'cancelled' });
    const decisions = await eventsInOrder('merchant', 'decision.updated', 3);
    expect(decisions.map(({ customerDecision }) => customerDecision)).toEqual([
      'approve_once',
      'approve_recurring',
      'deny',
    ]);
  });

  test('all of that was told to each receiver with the numbers 1, 2, 3, …, so that a gap is a lost webhook', async () => {
    expect(await cast.gaps()).toEqual([]);
  });
});
