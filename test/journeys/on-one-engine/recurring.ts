import type { WorkflowHandle } from '@temporalio/client';
import { eventually } from '../../support/engine';
import {
  act,
  agreementId,
  bank,
  becomes,
  billings,
  cast,
  consentOf,
  create,
  decide,
  events,
  eventsInOrder,
  merchant,
  retrieve,
  workflowOf,
} from './schedule-stage';

async function indexedStatus(workflow: WorkflowHandle): Promise<unknown> {
  const { searchAttributes } = await workflow.describe();
  return searchAttributes['AssentStatus']?.[0];
}

const day = (date: string) => date.slice(0, 10);

/** Charging again and again, watched through the merchant's test clock on the real engine. */
describe('schedules', () => {
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
    const decisions = await eventsInOrder('merchant', 'decision.updated', 4);
    expect(decisions.map(({ customerDecision }) => customerDecision)).toEqual([
      'approve_once',
      'approve_recurring',
      'approve_recurring',
      'deny',
    ]);
  });

  test('a customer’s pause ends by itself, and so does a permission, of which both sides hear beforehand; nothing is charged in either', async () => {
    const scheduleId = await create({ frequency: 'weekly' });
    await becomes(scheduleId, '0 successful');
    const due = Date.parse((await retrieve(scheduleId)).nextBillingDate ?? '');
    const inDays = (days: number) => new Date(due + days * 86_400_000).toISOString();
    const id = await agreementId();
    const paused = await bank.api.post(`/v1/bank/customer-decisions/${id}/pause`, { until: inDays(3) });
    expect(paused.body.data).toMatchObject({ state: 'paused', pausedUntil: inDays(3) });
    await merchant.advanceClock('P15D');
    expect(await billings(scheduleId)).toEqual([
      '0 successful',
      '1 skipped suspended',
      '2 successful',
      '3 scheduled',
    ]);

    await decide({ customerDecision: 'approve_recurring', spendingLimits: { validUntil: inDays(27) } });
    const workflow = consentOf(id);
    await eventually(async () => (await workflow.describe()).status.name === 'RUNNING');
    await merchant.advanceClock('P25D');
    expect(await retrieve(scheduleId)).toMatchObject({
      status: 'suspended',
      suspendedReason: 'consent_expired',
    });
    expect((await billings(scheduleId)).slice(3)).toEqual([
      '3 successful',
      '4 successful',
      '5 skipped suspended',
      '6 scheduled',
    ]);
    expect(await eventsInOrder('bank', 'decision.updated', 2)).toMatchObject([
      { id, state: 'active', sequence: 1 },
      { id, state: 'expired', sequence: 3 },
    ]);
    const states = (await eventsInOrder('merchant', 'decision.updated', 4)).map(({ state }) => state);
    expect(states).toEqual(['paused', 'active', 'active', 'expired']);
    for (const who of ['bank', 'merchant'] as const)
      expect(await eventsInOrder(who, 'decision.expiring', 1)).toMatchObject([{ validUntil: inDays(27) }]);
    await eventually(async () => (await workflow.describe()).status.name === 'COMPLETED');
  });

  test('all of that was told to each receiver with the numbers 1, 2, 3, …, so that a gap is a lost webhook', async () => {
    expect(await cast.gaps()).toEqual([]);
  });
});
