import { randomUUID } from 'node:crypto';
import {
  Client,
  Connection,
  ScheduleOverlapPolicy,
  type ScheduleHandle,
  type WorkflowHandle,
} from '@temporalio/client';
import { workflowIds } from '../../../src/domain/workflow/workflow-id';
import { operatorQueries } from '../../../src/temporal/operator-queries';
import { agreement, Cast, type Bank, type Customer, type Merchant } from '../../support/cast';
import { asSchemaLogin } from '../../support/database';
import { eventually } from '../../support/engine';
import { holdAt } from '../../support/held-step';
import { engine } from './engine';

type Payload = { data?: Uint8Array | null } | null | undefined;

const text = (payload: Payload) => Buffer.from(payload?.data ?? []).toString();

const HOUR_MS = 3_600_000;

/** The workflow that it has started last. */
async function startedBy(schedule: ScheduleHandle): Promise<string> {
  let workflowId = '';
  await eventually(async () => {
    const { info } = await schedule.describe();
    workflowId = info.recentActions.at(-1)?.action.workflow?.workflowId ?? '';
    return workflowId !== '';
  });
  return workflowId;
}

/** What somebody who never saw the code reads in a workflow's history, from top to bottom. */
describe('a history', () => {
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

  beforeEach(async () => {
    [bank, merchant] = await Promise.all([cast.bank(), cast.merchant()]);
    customer = bank.customers[0];
    paymentID = await agreement(bank, merchant, customer, { spendingLimits: { daily: 60 } });
  });

  /** Its start may still be on its way to Temporal. */
  const started = (id: string) =>
    temporal.workflow
      .getHandle(id)
      .describe()
      .then(
        () => true,
        () => false,
      );

  /** It has been waited for long enough, and a signal says that the answer came. */
  async function untilWaiting(id: string): Promise<void> {
    await eventually(async () => {
      if (!(await started(id))) return false;
      const { events } = await temporal.workflow.getHandle(id).fetchHistory();
      return events?.some((one) => one.timerStartedEventAttributes) ?? false;
    });
  }

  /** The ended workflow as its page shows it: each event's summary, and what came of it. */
  async function historyOf(id: string): Promise<string> {
    const handle = temporal.workflow.getHandle(id);
    await eventually(() => started(id));
    await handle.result();
    const { events } = await handle.fetchHistory();
    return (events ?? [])
      .map(({ userMetadata, markerRecordedEventAttributes, workflowExecutionSignaledEventAttributes }) => [
        text(userMetadata?.summary),
        text(markerRecordedEventAttributes?.details?.['result']?.payloads?.[0]),
        workflowExecutionSignaledEventAttributes?.signalName ?? '',
      ])
      .flat()
      .filter((line) => line !== '')
      .join('\n');
  }

  /** A task that a signal met as it ended its workflow: its activities ran again. */
  async function expectNoTaskFailed(id: string): Promise<void> {
    const { events } = await temporal.workflow.getHandle(id).fetchHistory();
    expect((events ?? []).filter((one) => one.workflowTaskFailedEventAttributes)).toEqual([]);
  }

  /** Each of the phrases, after the one before it. */
  function expectInOrder(history: string, phrases: (string | RegExp)[]): void {
    let rest = history;
    for (const phrase of phrases) {
      const at = typeof phrase === 'string' ? rest.indexOf(phrase) : rest.search(phrase);
      if (at < 0) throw new Error(`${String(phrase)} is not in what follows:\n${rest}\nof\n${history}`);
      rest = rest.slice(at);
    }
    for (const personal of [customer.email, 'Umeh', 'UMEH', customer.lookupID, paymentID]) {
      expect(history).not.toContain(personal);
    }
  }

  const bill = () => merchant.charge({ paymentIDs: [paymentID] }, 40);

  async function scheduled(terms: object): Promise<string> {
    const { status, body } = await merchant.api.post(
      '/v1/billing/recurring/create',
      { customerId: customer.customerId, paymentID, amount: 40, currency: 'NGN', ...terms },
      randomUUID(),
    );
    expect(status).toBe(201);
    return String(body.data['scheduleId']);
  }

  async function firstBillingIs(scheduleId: string, status: string): Promise<void> {
    await eventually(async () => {
      const { body } = await merchant.api.get(`/v1/billing/recurring/${scheduleId}`);
      return (body.data['billings'] as { status: string }[])[0]?.status === status;
    });
  }

  const AFTER = String.raw`after [\d.]+ s`;

  test('a charge that is declined tells why, and one that is paid its reference, amount, answer, seconds and who was told', async () => {
    await bank.answerCharges('insufficient_funds', { times: 1 });
    const declined = await bill();
    expectInOrder(await historyOf(workflowIds.billingRequest(declined.billingRequestId)), [
      `billing.request delivered at attempt 1 to Harbour Bank`,
      new RegExp(`Declined \\(insufficient_funds\\) ${AFTER}: NGN 40.00, reference ${declined.reference}`),
      `billing.response delivered at attempt 1 to Palm Grocers`,
    ]);

    const { billingRequestId, reference } = await bill();
    expectInOrder(await historyOf(workflowIds.billingRequest(billingRequestId)), [
      `Palm Grocers charges NGN 40.00, reference ${reference}`,
      'Ask the bank: billing.request',
      `billing.request delivered at attempt 1 to Harbour Bank`,
      new RegExp(`Approved by Harbour Bank ${AFTER}: NGN 40.00, reference ${reference}`),
      'Tell the merchant: billing.response',
      `billing.response delivered at attempt 1 to Palm Grocers`,
    ]);
  });

  test('a charge that is answered late tells until when it waits, and that the answer signalled it', async () => {
    await bank.answerCharges('silence', { times: 1 });
    const { billingRequestId } = await bill();
    await untilWaiting(workflowIds.billingRequest(billingRequestId));
    await bank.respondToCharge(billingRequestId, { bankTransactionId: randomUUID() });
    expectInOrder(await historyOf(workflowIds.billingRequest(billingRequestId)), [
      /Waiting for Harbour Bank to answer the charge of NGN 40\.00, reference \w+: within 24 hours, until \d{4}-/,
      'bankAnswered',
      new RegExp(`Approved by Harbour Bank ${AFTER}`),
      `billing.response delivered at attempt 1 to Palm Grocers`,
    ]);
  });

  test('a charge that nobody answers tells that its window closed, and that the bank was told too', async () => {
    await bank.answerCharges('silence');
    const { billingRequestId, reference } = await bill();
    await bank.hears('billing.request', billingRequestId);
    await untilWaiting(workflowIds.billingRequest(billingRequestId));
    await merchant.advanceClock('PT25H');
    expectInOrder(await historyOf(workflowIds.billingRequest(billingRequestId)), [
      'Decline what the bank has not answered in time',
      new RegExp(`Declined \\(expired\\) after 24 hours: NGN 40.00, reference ${reference}`),
      'and the bank that has not answered: billing.closed',
      `billing.closed delivered at attempt 1 to Harbour Bank`,
    ]);
  });

  test('a schedule over its limit tells that the bank was not asked, and when it tries again', async () => {
    await bill();
    const scheduleId = await scheduled({ frequency: 'monthly', maxBillings: 1 });
    await firstBillingIs(scheduleId, 'retrying');
    await merchant.advanceClock('P2D');
    const history = await historyOf(workflowIds.recurring(scheduleId));
    expectInOrder(history, [
      `Palm Grocers bills NGN 40.00 monthly`,
      'Billing 1 of 1, attempt 1: NGN 40.00',
      /Billing 1 of 1 was declined \(limit_reached\).* it is tried again at/,
      'Billing 1 of 1, attempt 2: NGN 40.00, reference',
      new RegExp(`Billing 1 of 1 was approved by Harbour Bank ${AFTER}`),
      'Ended as completed.',
      'The schedule is completed. 1 of 1 billing has run.',
    ]);
    expect(history.slice(0, history.indexOf('attempt 2:'))).not.toContain('billing.request delivered');
  });

  test('a schedule tells each billing, each attempt, what it waits for, and a pause', async () => {
    await bank.answerCharges('temporarily_unavailable', { times: 1 });
    const scheduleId = await scheduled({ frequency: 'weekly', maxBillings: 2 });
    await firstBillingIs(scheduleId, 'retrying');
    await merchant.advanceClock('P2D');
    await firstBillingIs(scheduleId, 'successful');
    const act = (verb: string) => merchant.api.post(`/v1/billing/recurring/${scheduleId}/${verb}`, {});
    expect(await act('pause')).toMatchObject({ status: 200 });
    await merchant.advanceClock('P6D');
    expect(await act('resume')).toMatchObject({ status: 200 });
    await merchant.advanceClock('P7D');
    const history = await historyOf(workflowIds.recurring(scheduleId));
    // On a busy machine the clock may signal again while the last task runs, which runs again then.
    const ranAgain = history.includes('Done before');
    expectInOrder(history, [
      'Billing 1 of 2, attempt 1: NGN 40.00, reference',
      `billing.request delivered at attempt 1 to Harbour Bank`,
      new RegExp(`Billing 1 of 2 was declined \\(temporarily_unavailable\\) ${AFTER}; it is tried again at`),
      /attempt 2 for NGN 40.00 comes at .*0 of 2 billings have run/,
      'fellDue',
      'Billing 1 of 2, attempt 2: NGN 40.00, reference',
      new RegExp(`Billing 1 of 2 was approved by Harbour Bank ${AFTER}`),
      `billing.response delivered at attempt 1 to Palm Grocers`,
      /Next charge: billing 2 for NGN 40.00 is due at .*1 of 2 billings has run/,
      'paused',
      'was skipped (paused)',
      'resumed',
      'Billing 3',
      'Ended as completed.',
      ...(ranAgain ? [] : [`recurring.updated delivered at attempt 1 to Palm Grocers`]),
    ]);
  });

  test('a schedule that a change leaves nothing to charge ends by itself, and tells why', async () => {
    const scheduleId = await scheduled({ frequency: 'weekly' });
    await firstBillingIs(scheduleId, 'successful');
    await untilWaiting(workflowIds.recurring(scheduleId));
    const path = `/v1/billing/recurring/${scheduleId}`;
    const changed = await merchant.api.patch(path, { maxBillings: 1 });
    expect(changed.body.data).toMatchObject({ status: 'completed', nextBillingDate: null });
    expectInOrder(await historyOf(workflowIds.recurring(scheduleId)), [
      'termsChanged',
      'Ended as completed.',
      'The schedule is completed. 1 of 1 billing has run.',
    ]);
  });

  test('what a schedule did in a task that ran again is told, and where to see who was told of it', async () => {
    const held = await holdAt(engine.database.url, {
      on: 'UPDATE',
      table: 'schedules',
      when: `NEW.status = 'completed'`,
      at: 'commit',
    });
    const scheduleId = await scheduled({ frequency: 'weekly', maxBillings: 1 });
    const id = workflowIds.recurring(scheduleId);
    await held.reached();
    // Temporal lets no workflow end that has not heard of a signal: its task, with all that was
    // reported in it, counts for nothing.
    await temporal.workflow.getHandle(id).signal('look');
    await held.release('committed');
    const history = await historyOf(id);
    expectInOrder(history, [
      `Done before (who was told of it: npx assent why ${scheduleId}):`,
      'Billing 1 of 1, attempt 1: NGN 40.00, reference',
      new RegExp(`Billing 1 of 1 was approved by Harbour Bank ${AFTER}`),
      'Ended as completed.',
    ]);
    expect(history.match(/Billing 1 of 1, attempt 1/g)).toHaveLength(1);
  });

  test('a charge whose last task ran again tells how it ended, and that nothing was left to send', async () => {
    await bank.answerCharges('silence', { times: 1 });
    const { billingRequestId, reference } = await bill();
    const id = workflowIds.billingRequest(billingRequestId);
    await untilWaiting(id);
    const held = await holdAt(engine.database.url, {
      on: 'UPDATE',
      table: 'webhook_deliveries',
      when: `NEW.status = 'delivered' AND NEW.webhook_type = 'billing.response'`,
      at: 'commit',
    });
    await bank.respondToCharge(billingRequestId, { bankTransactionId: randomUUID() });
    await held.reached();
    await temporal.workflow.getHandle(id).signal('look');
    await held.release('committed');
    expect(await temporal.workflow.getHandle(id).result()).toEqual([
      expect.stringContaining(`NGN 40.00, reference ${reference}`),
      expect.stringMatching(/^Nothing was left to send: it had been sent, /),
    ]);
  });

  test('a refund and an intent tell what was asked, what came of it and after how long', async () => {
    const charge = await bill();
    await merchant.hears('billing.response', charge.billingRequestId);
    const { body } = await merchant.api.post('/v1/refunds/initiate', { reference: charge.reference });
    const refundId = String(body.data['refundId']);
    await bank.hears('refund.request', refundId);
    await bank.api.answer('/v1/bank/refund-response', {
      refundId,
      action: 'rejected',
      reason: 'Ngozi Umeh has moved',
    });
    const reference = String(body.data['reference']);
    expectInOrder(await historyOf(workflowIds.refund(refundId)), [
      `Palm Grocers refunds NGN 40.00, reference ${reference}, of charge ${charge.reference}`,
      `refund.request delivered at attempt 1 to Harbour Bank`,
      new RegExp(
        `Harbour Bank has rejected the refund \\(other\\) ${AFTER}: NGN 40.00, reference ${reference}`,
      ),
      `refund.response delivered at attempt 1 to Palm Grocers`,
    ]);
    await expectNoTaskFailed(workflowIds.refund(refundId));

    await bank.answerIntents('deny');
    const intentId = await merchant.ask(customer);
    await merchant.hears('billing.intent.response', intentId);
    expectInOrder(await historyOf(workflowIds.intent(intentId)), [
      /Palm Grocers asks whether it may bill a customer, reference \S+/,
      `billing.intent delivered at attempt 1 to Harbour Bank`,
      new RegExp(`The intent was declined \\(deny\\) ${AFTER}`),
      `billing.intent.response delivered at attempt 1 to Palm Grocers`,
    ]);
    await expectNoTaskFailed(workflowIds.intent(intentId));
  });

  test('each query for operators finds, of all workflows of a merchant, those that it is for', async () => {
    const now = new Date();
    await bank.answerCharges('silence', { times: 1 });
    const expired = await bill();
    await bank.hears('billing.request', expired.billingRequestId);
    await merchant.advanceClock('PT25H');
    await bank.answerCharges('insufficient_funds', { times: 2 });
    const declined = await bill();
    await merchant.hears('billing.response', declined.billingRequestId);
    const pastDue = await scheduled({ frequency: 'monthly' });
    await firstBillingIs(pastDue, 'retrying');
    const startDate = new Date(now.getTime() + 26 * HOUR_MS).toISOString();
    const due = await scheduled({ frequency: 'monthly', startDate });
    await merchant.server.misbehave({ kind: 'status', status: 500, times: 100, type: 'billing.response' });
    const paid = await merchant.charge({ paymentIDs: [paymentID] }, 10);
    await bank.hears('billing.request', paid.billingRequestId);
    await bank.answerCharges('silence', { times: 1 });
    const open = await bill();
    await bank.answerCharges('silence', { times: 1 });
    const asking = workflowIds.recurring(await scheduled({ frequency: 'monthly', amount: 10 }));
    await untilWaiting(asking);

    async function found(at: Date): Promise<Record<string, string[]>> {
      const lists = Object.entries(operatorQueries(at, 'Africa/Lagos')).map(async ([words, query]) => {
        const ids = [];
        const ofMerchant = { query: `(${query}) AND AssentMerchant = "${merchant.entityId}"` };
        for await (const { workflowId } of temporal.workflow.list(ofMerchant)) ids.push(workflowId);
        return [words, ids.toSorted()] as const;
      });
      return Object.fromEntries(await Promise.all(lists));
    }
    /** The lists are some moments behind: read once each of these has as many. */
    async function foundOnce(at: Date, counts: Record<string, number>): Promise<Record<string, string[]>> {
      let lists: Record<string, string[]> = {};
      await eventually(async () => {
        lists = await found(at);
        return Object.entries(counts).every(([words, count]) => lists[words]?.length === count);
      });
      return lists;
    }
    const waiting = workflowIds.billingRequest(open.billingRequestId);
    const one = ['waits for a bank', 'declined today', 'expired today', 'past due', 'webhook fails'];
    expect(await foundOnce(now, Object.fromEntries(one.map((words) => [words, 1])))).toEqual({
      'waits for a bank': [waiting],
      'declined today': [workflowIds.billingRequest(declined.billingRequestId)],
      'expired today': [workflowIds.billingRequest(expired.billingRequestId)],
      'past due': [workflowIds.recurring(pastDue)],
      'webhook fails': [expect.stringMatching(/^webhook-delivery\//)],
      'stuck for a day': [],
    });
    // By the merchant's clock, which is ahead.
    const aDayOn = new Date(now.getTime() + 25.5 * HOUR_MS);
    const { 'waits for a bank': waits } = await foundOnce(aDayOn, { 'waits for a bank': 2 });
    expect(waits).toEqual([waiting, asking]);
    const later = await foundOnce(new Date(now.getTime() + 72 * HOUR_MS), { 'stuck for a day': 3 });
    expect(later).toMatchObject({
      'declined today': [],
      'expired today': [],
      'stuck for a day': [waiting, ...[asking, workflowIds.recurring(due)].toSorted()],
    });
  });

  test('an effect that Postgres cut off tells so in words, and is made at the next attempt', async () => {
    const chain = temporal.schedule.getHandle('chain');
    // Its own time is every five minutes.
    await chain.pause();
    const held = await holdAt(engine.database.url, { on: 'INSERT', table: 'event_chain', at: 'row' });
    // A run that is under way keeps another from starting.
    await eventually(async () => {
      if ((await held.holds()) !== undefined) return true;
      await chain.trigger(ScheduleOverlapPolicy.SKIP);
      return false;
    });
    await held.release('undone');
    // The Schedule names a run some moments late. A late trigger may have begun another since, even
    // of the same workflow id: that names the second.
    let cutOff: { run: WorkflowHandle; said: string } | undefined;
    await eventually(async () => {
      for (const { action } of (await chain.describe()).info.recentActions) {
        const { workflowId, firstExecutionRunId } = action.workflow;
        const run = temporal.workflow.getHandle(workflowId, firstExecutionRunId);
        const { events } = await run.fetchHistory();
        const begun = events?.find((one) => one.activityTaskStartedEventAttributes);
        const said = begun?.activityTaskStartedEventAttributes?.lastFailure?.message;
        if (said) cutOff = { run, said };
      }
      return cutOff !== undefined;
    });
    expect(cutOff?.said).toBe('Postgres cannot be reached, or does not answer (error 57P01)');
    expect(await cutOff?.run.result()).toMatch(/^Chained \d+ of the ledger/);
  });

  test('a run of verify says how many differences the books have', async () => {
    const verify = temporal.schedule.getHandle('verify');
    await verify.trigger();
    const workflowId = await startedBy(verify);
    expect(await temporal.workflow.getHandle(workflowId).result()).toMatch(
      /^Compared \d+ things of all books: /,
    );
    expectInOrder(await historyOf(workflowId), [
      'Compares the books, and keeps how many differences there are',
      'Compare the books with all that was written down beside them',
    ]);
  });

  test('a run of sweep forgets how often a customer was asked yesterday', async () => {
    const { db, url } = engine.database;
    const asked = () => db.rows`SELECT kind FROM customer_prompts WHERE customer_id = ${customer.customerId}`;
    expect(await asked()).toEqual([{ kind: 'intent' }]);
    await asSchemaLogin(
      url,
      `UPDATE customer_prompts SET day = day - 1 WHERE customer_id = '${customer.customerId}'`,
    );
    const sweep = temporal.schedule.getHandle('sweep');
    await eventually(async () => {
      await sweep.trigger(ScheduleOverlapPolicy.SKIP);
      return (await asked()).length === 0;
    });
    const workflowId = await startedBy(sweep);
    expect(await temporal.workflow.getHandle(workflowId).result()).toBe('Nothing expired is left.');
    expectInOrder(await historyOf(workflowId), [
      'Deletes what has expired, and folds balances',
      'Sweep prompts',
      'Sweep webhooks',
    ]);
  });
});
