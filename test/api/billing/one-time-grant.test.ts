import { approve, decline, itemsOf, shareApi, type Caller, type Parties } from '../../support/shared-api';
import { lookupIdOf, makeSchedule, moveClock, toNoon } from '../../support/standing';
import { setEntityTrust } from '../../support/recorded-change';

/** `approve_recurring` in the answer to a one-time bill: what the customer has then approved. */

const served = shareApi({ ACCEPTED_CURRENCIES: 'NGN,USD' });
/** The customer's agreement with this merchant is in dollars. */
let parties: Parties;
let lookupID: string;
let known: Caller;
/** Trusted, and the customer does not know it yet. */
let stranger: Caller;
beforeEach(async () => {
  parties = await served.parties({ currency: 'USD', limits: { daily: 500n } });
  known = parties.merchant;
  lookupID = await lookupIdOf(served.db, parties.customerId);
  stranger = await served.enter('merchant');
  await setEntityTrust(served.db, stranger.entityId, 'trusted');
});

const ask = (merchant: Caller, currency: string) =>
  merchant.post('/v1/billing/intent', { lookupIDs: [lookupID], currency, description: 'Gold plan' });

async function bill(
  merchant: Caller,
  currency: string,
  paymentID: unknown = parties.paymentId,
  amount = 100,
): Promise<{ status: number; id: string }> {
  const payer = paymentID === null ? { lookupIDs: [lookupID] } : { paymentIDs: [paymentID] };
  const wish = { ...payer, amount, currency, description: 'Shoes' };
  const answered = await merchant.post('/v1/customer/bill', wish);
  const id = answered.status === 201 ? itemsOf(answered)[0]?.billingRequestId : undefined;
  return { status: answered.status, id: id ?? '' };
}
const statusOf = async (...wish: Parameters<typeof bill>) => (await bill(...wish)).status;

/** A bill by lookupID, whose answer is a standing approval. */
async function grant(merchant: Caller, currency: string): Promise<void> {
  const { id } = await bill(merchant, currency, null);
  const answered = await approve(parties, id, undefined, { action: 'approve_recurring' });
  expect(answered.body.data).toMatchObject({ status: 'successful' });
}

/** To the open intent of a merchant. */
async function answer(merchant: Caller, customerDecision: string): Promise<void> {
  const { customerId } = parties;
  const said = { customerId, entityId: merchant.entityId, lookupID, customerDecision };
  expect((await parties.bank.post('/v1/billing/intent-response', said)).status).toBe(200);
}

/** On the agreement in dollars, without being asked. */
async function decide(customerDecision: string): Promise<void> {
  const path = `/v1/bank/customer-decisions/${parties.agreementId}`;
  expect((await parties.bank.send('PUT', path, { customerDecision })).status).toBe(200);
}

const decisionsAnnounced = (merchant: Caller) => served.announced(merchant.entityId, 'decision.updated');
/** On the agreement in dollars. */
const decision = async () =>
  (await parties.bank.list(`/v1/bank/customer-decisions?merchantId=${parties.merchantId}`))[0];
const inDollars = () => makeSchedule(served.db, parties, { currency: 'USD' });
const scheduleIs = async (scheduleId: string) =>
  (await known.read(`/v1/billing/recurring/${scheduleId}`))['status'];
const LIMITS = { daily: 5, monthly: null };

test('while the merchant’s first intent asks for another currency it approves what was billed, and the denial of the intent leaves nothing of what that asked', async () => {
  await ask(stranger, 'USD');
  await grant(stranger, 'NGN');
  const [told] = await decisionsAnnounced(stranger);
  expect(told).toMatchObject({ customerDecision: 'approve_recurring', currency: 'NGN' });

  await answer(stranger, 'deny');
  expect(await statusOf(stranger, 'USD', told?.['paymentID'])).toBe(400);
  expect(await statusOf(stranger, 'NGN', told?.['paymentID'])).toBe(201);
  expect(await decisionsAnnounced(stranger)).toHaveLength(1);
});

test('while the merchant’s first intent asks for the same currency the denial of the intent, said last, ends it too, and the merchant hears of that', async () => {
  await ask(stranger, 'NGN');
  await grant(stranger, 'NGN');

  await answer(stranger, 'deny');
  const told = await decisionsAnnounced(stranger);
  expect(told).toMatchObject([{ customerDecision: 'approve_recurring' }, { customerDecision: 'deny' }]);
  expect(await statusOf(stranger, 'NGN', told[0]?.['paymentID'])).toBe(403);
});

test.each(['deny', 'suspended'])(
  'the denial of an intent that was sent after %s ends it, and it is so again',
  async (before) => {
    await ask(stranger, 'NGN');
    await answer(stranger, before);
    await ask(stranger, 'NGN');
    await grant(stranger, 'NGN');

    await answer(stranger, 'deny');
    const told = await decisionsAnnounced(stranger);
    expect(told).toMatchObject([{ customerDecision: 'approve_recurring' }, { customerDecision: before }]);
    expect(await statusOf(stranger, 'NGN', told[0]?.['paymentID'])).toBe(403);
  },
);

test('the denial of what was granted in another currency brings back the terms that were suspended', async () => {
  const scheduleId = await inDollars();
  await decide('suspended');
  await ask(known, 'NGN');
  await grant(known, 'NGN');

  await answer(known, 'deny');
  const terms = { currency: 'USD', spendingLimits: LIMITS };
  expect(await decision()).toMatchObject({ customerDecision: 'suspended', ...terms });
  await decide('approve_recurring');
  expect(await decision()).toMatchObject({ customerDecision: 'approve_recurring', ...terms });
  expect(await scheduleIs(scheduleId)).toBe('active');
});

const spent = async () => (await decision())?.['spent'];

test('the terms that come back have counted in their limits what was charged under them', async () => {
  await toNoon(served.db, parties.merchantId);
  const inUsd = (amount: number) => bill(known, 'USD', parties.paymentId, amount);
  await approve(parties, (await inUsd(2)).id);
  await decline(parties, (await inUsd(1)).id);
  const pending = await inUsd(2);
  expect(await spent()).toMatchObject({ daily: 4, monthly: 4, count: { monthly: 2 } });

  await decide('suspended');
  await ask(known, 'NGN');
  await grant(known, 'NGN');
  expect(await spent()).toMatchObject({ daily: 0, monthly: 0 });
  expect(await statusOf(known, 'NGN')).toBe(201);
  await answer(known, 'deny');
  await decide('approve_recurring');

  expect(await spent()).toMatchObject({ daily: 4, monthly: 4, count: { monthly: 2 } });
  expect((await inUsd(2)).status).toBe(403);
  // The charge that was pending all the while is released as ever.
  await decline(parties, pending.id);
  expect(await spent()).toMatchObject({ daily: 2, monthly: 2 });
  expect((await inUsd(3)).status).toBe(201);
});

test('what comes back counts a charge of an earlier day in the month alone, and one of an earlier month nowhere', async () => {
  const day = await toNoon(served.db, parties.merchantId);
  const inUsd = (amount: number) => statusOf(known, 'USD', parties.paymentId, amount);
  expect(await inUsd(1)).toBe(201);
  // Into the first days of the month after.
  await moveClock(served.db, parties.merchantId, `${32 - Number(day.slice(8))} days`);
  expect(await inUsd(4)).toBe(201);
  await moveClock(served.db, parties.merchantId, '1 day');
  await decide('suspended');
  await ask(known, 'NGN');
  await grant(known, 'NGN');
  expect(await statusOf(known, 'NGN')).toBe(201);
  await answer(known, 'deny');
  expect(await decision()).toMatchObject({ currency: 'USD', spent: { daily: 0, monthly: 4 } });
  await decide('approve_recurring');
  expect(await inUsd(5)).toBe(201);
  expect(await decision()).toMatchObject({ spent: { daily: 5, monthly: 9 } });
});

test('the denial of new terms leaves what the customer gave again without being asked, and its schedules', async () => {
  const scheduleId = await inDollars();
  await decide('suspended');
  await ask(known, 'USD');
  await decide('approve_recurring');

  await answer(known, 'deny');
  expect(await decision()).toMatchObject({ customerDecision: 'approve_recurring' });
  expect(await scheduleIs(scheduleId)).toBe('active');
});

test('an intent for new terms that is denied later leaves it as it is', async () => {
  await grant(stranger, 'NGN');
  await ask(stranger, 'NGN');

  await answer(stranger, 'deny');
  const [told] = await decisionsAnnounced(stranger);
  expect(await statusOf(stranger, 'NGN', told?.['paymentID'])).toBe(201);
});

test.each([
  ['suspended', 'suspended'],
  ['deny', 'cancelled'],
])(
  'it does not bring back terms in another currency that are %s, nor their schedules',
  async (said, status) => {
    const scheduleId = await inDollars();
    await decide(said);
    expect(await scheduleIs(scheduleId)).toBe(status);

    await grant(known, 'NGN');
    expect(await scheduleIs(scheduleId)).toBe(status);
    expect(await decision()).toMatchObject({
      customerDecision: 'approve_recurring',
      currency: 'NGN',
      // It was one of dollars.
      spendingLimits: { daily: null, monthly: null },
    });
    expect(await statusOf(known, 'USD')).toBe(400);
    expect(await statusOf(known, 'NGN')).toBe(201);
  },
);

test('it starts suspended schedules in the currency of the bill again', async () => {
  const scheduleId = await inDollars();
  await ask(known, 'NGN');
  await answer(known, 'approve_recurring');
  await decide('suspended');
  expect(await scheduleIs(scheduleId)).toBe('suspended');

  await grant(known, 'USD');
  expect(await scheduleIs(scheduleId)).toBe('active');
});

test('it leaves what is approved once at a time in another currency as it is', async () => {
  const scheduleId = await inDollars();
  await decide('approve_once');
  const before = await decision();
  expect(before).toMatchObject({ customerDecision: 'approve_once', currency: 'USD', spendingLimits: LIMITS });
  const told = await decisionsAnnounced(known);

  await grant(known, 'NGN');
  expect(await decision()).toEqual(before);
  expect(await decisionsAnnounced(known)).toEqual(told);
  expect(await scheduleIs(scheduleId)).toBe('suspended');
  expect(await statusOf(known, 'NGN')).toBe(400);
  expect(await statusOf(known, 'USD', parties.paymentId, 1)).toBe(201);
});

test('it makes what is approved once at a time in the same currency standing, within its limits', async () => {
  await decide('approve_once');

  await grant(known, 'USD');
  expect(await decision()).toMatchObject({
    customerDecision: 'approve_recurring',
    currency: 'USD',
    spendingLimits: LIMITS,
  });
});

test('it leaves a standing approval in dollars as it is, whatever was billed, and the merchant hears of nothing', async () => {
  for (const currency of ['USD', 'NGN']) await grant(known, currency);
  expect(await decision()).toMatchObject({
    customerDecision: 'approve_recurring',
    currency: 'USD',
    spendingLimits: LIMITS,
  });
  expect(await decisionsAnnounced(known)).toEqual([]);
});
