import { calendarDay } from '../../src/domain/calendar';
import { agreement, Cast, type Bank, type Item, type Merchant } from '../support/cast';
import { startEngine, type TestEngine } from '../support/engine';

/** Money on its way back, as merchant and bank live it. */

let engine: TestEngine;
let cast: Cast;
let bank: Bank;
let merchant: Merchant;
let charge: Item;

beforeAll(async () => {
  engine = await startEngine();
  cast = new Cast(engine);
  [bank, merchant] = await Promise.all([cast.bank(), cast.merchant()]);
  const paymentID = await agreement(bank, merchant, bank.customers[0]);
  charge = await merchant.charge({ paymentIDs: [paymentID] }, 100);
  await merchant.hears('billing.response', charge.billingRequestId);
});

afterAll(async () => {
  await cast.leave();
  await engine.stop();
});

async function refund(amount: number): Promise<string> {
  const { status, body } = await merchant.api.post('/v1/refunds/initiate', {
    reference: charge.reference,
    amount,
    reason: 'Too small',
  });
  if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
  return String(body.data['refundId']);
}

test('a refund reaches the bank, and its answer the merchant', async () => {
  const refundId = await refund(40);

  const asked = await bank.hears('refund.request', refundId);
  expect(asked).toMatchObject({
    sequence: 1,
    originalReference: charge.reference,
    amount: 40,
    currency: 'NGN',
    reason: 'Too small',
    lookupID: bank.customers[0].lookupID,
    merchant: { id: merchant.entityId },
    overdue: false,
  });
  const { status } = await bank.api.answer('/v1/bank/refund-response', {
    refundId,
    action: 'completed',
    bankTransactionId: 'back-1',
  });

  expect(status).toBe(200);
  expect(await merchant.hears('refund.response', refundId)).toMatchObject({
    sequence: 1,
    originalReference: charge.reference,
    amount: 40,
    status: 'completed',
    overdue: false,
  });
});

test('a bank that takes too long is reminded on business days, also by a worker started anew', async () => {
  const refundId = await refund(10);
  await bank.hears('refund.request', refundId);
  await engine.worker.kill();
  await engine.worker.start();

  await merchant.advanceClock('P14D');

  const { body } = await merchant.api.get(`/v1/refunds/${refundId}`);
  expect(body.data).toMatchObject({ status: 'pending', overdue: true });
  expect(await merchant.hears('refund.response', refundId)).toMatchObject({
    status: 'pending',
    overdue: true,
  });
  const { body: details } = await merchant.api.get('/v1/transaction-details', {
    reference: String(body.data['reference']),
  });
  const [requested, overdue, ...reminders] = (details.data['events'] as { type: string; at: string }[]).map(
    ({ type, at }) => ({ type, at }),
  );
  expect(requested?.type).toBe('refund.requested');
  expect(overdue?.type).toBe('refund.overdue');
  expect(overdue?.at.slice(0, 10)).toBe(String(body.data['expectedBy']).slice(0, 10));
  expect(reminders.length).toBeGreaterThan(1);
  for (const { type, at } of reminders) {
    expect(type).toBe('refund.reminded');
    expect([1, 2, 3, 4, 5]).toContain(new Date(calendarDay(new Date(at), 'Africa/Lagos')).getUTCDay());
  }

  await bank.api.answer('/v1/bank/refund-response', {
    refundId,
    action: 'rejected',
    reason: 'account_closed',
  });
  const { body: after } = await merchant.api.get('/v1/transaction-details', { reference: charge.reference });
  expect(after.data).toMatchObject({ refundedAmount: 40 });
});

test('all of that was told to each receiver with the numbers 1, 2, 3, …, so that a gap is a lost webhook', async () => {
  expect(await cast.gaps()).toEqual([]);
});
