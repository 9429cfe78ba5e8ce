import { setEntityTrust } from '../../../src/database/entity/create-entity';
import {
  enter,
  send,
  serveApi,
  signIn,
  tokenOf,
  type Answered,
  type Party,
  type ServedApi,
} from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import {
  announcedTo,
  lookupIdOf,
  makeSchedule,
  moveClock,
  standingApproval,
  toNoon,
  type Standing,
} from '../../support/standing';

/** `approve_recurring` in the answer to a one-time bill: what the customer has then approved. */

let database: TestDatabase;
let api: ServedApi;
let standing: Standing;
/** Of the customer's bank. */
let bank: string;
let lookupID: string;
/** Trusted, and the customer does not know it yet. */
let stranger: Party;

beforeAll(async () => {
  database = await createTestDatabase();
  api = await serveApi(database.db, { settings: { ACCEPTED_CURRENCIES: 'NGN,USD' } });
});
afterAll(async () => {
  await api.close();
  await database.drop();
});

beforeEach(async () => {
  standing = await standingApproval(database.db, api.deps.ring, { currency: 'USD', dailyLimit: 500n });
  bank = await tokenOf(api, standing.credentials.bank);
  lookupID = await lookupIdOf(database.db, standing.customerId);
  stranger = await enter(api, 'merchant');
  await database.db.transaction((trx) => setEntityTrust(trx, stranger.entityId, 'trusted'));
});

const asBank = (method: string, path: string, body?: object): Promise<Answered> =>
  send(api.url, method, path, body, { authorization: `Bearer ${bank}` });

const ask = (merchant: Party, currency: string): Promise<Answered> =>
  merchant.send('POST', '/v1/billing/intent', { lookupIDs: [lookupID], currency, description: 'Gold plan' });

const bill = (merchant: Party, currency: string, payer: object): Promise<Answered> =>
  merchant.send('POST', '/v1/customer/bill', { amount: 100, ...payer, currency, description: 'Shoes' });

/** A bill by lookupID, whose answer is a standing approval. */
async function grant(merchant: Party, currency: string): Promise<void> {
  const { body } = await bill(merchant, currency, { lookupIDs: [lookupID] });
  const [item] = body as unknown as { billingRequestId: string }[];
  const billingRequestId = String(item?.billingRequestId);
  expect(
    await asBank('POST', '/v1/billing/bank-response', {
      billingRequestId,
      action: 'approve_recurring',
      bankTransactionId: billingRequestId,
    }),
  ).toMatchObject({ status: 200, body: { data: { status: 'successful' } } });
}

/** To a charge. */
const answerCharge = (billingRequestId: string | undefined, how: object) =>
  asBank('POST', '/v1/billing/bank-response', { billingRequestId, ...how });

const answer = (merchant: Party, customerDecision: string): Promise<Answered> =>
  asBank('POST', '/v1/billing/intent-response', {
    customerId: standing.customerId,
    entityId: merchant.entityId,
    lookupID,
    customerDecision,
  });
const refuse = (merchant: Party): Promise<Answered> => answer(merchant, 'deny');

/** On the agreement of `standing`, without being asked. */
async function decide(customerDecision: string): Promise<void> {
  const path = `/v1/bank/customer-decisions/${standing.agreementId}`;
  expect(await asBank('PUT', path, { customerDecision })).toMatchObject({ status: 200 });
}

async function decisionsTold(merchant: Party): Promise<Record<string, unknown>[]> {
  const announced = await announcedTo(database.db, api.deps.ring, merchant.entityId);
  return announced.filter(({ type }) => type === 'decision.updated').map(({ item }) => item);
}

async function decisionOn(merchant: { entityId: string }): Promise<unknown> {
  const { body } = await asBank('GET', `/v1/bank/customer-decisions?merchantId=${merchant.entityId}`);
  const { decisions } = body.data as { decisions: unknown[] };
  return decisions[0];
}

/** What `books verify` finds to differ. */
/** The merchant of `standing`, which has an agreement in dollars. */
const known = (): Promise<Party> => signIn(api, standing.credentials.merchant);

describe('while the merchant’s first intent asks for another currency', () => {
  test('it approves what was billed, and the denial of the intent leaves nothing of what that asked', async () => {
    await ask(stranger, 'USD');
    await grant(stranger, 'NGN');
    const [told] = await decisionsTold(stranger);
    expect(told).toMatchObject({ customerDecision: 'approve_recurring', currency: 'NGN' });
    const payer = { paymentIDs: [told?.['paymentID']] };

    expect(await refuse(stranger)).toMatchObject({ status: 200, body: { data: { status: 'declined' } } });
    expect(await bill(stranger, 'USD', payer)).toMatchObject({ status: 400 });
    expect(await bill(stranger, 'NGN', payer)).toMatchObject({ status: 201 });
    expect(await decisionsTold(stranger)).toHaveLength(1);
  });
});

describe('while the merchant’s first intent asks for the same currency', () => {
  test('the denial of the intent, said last, ends it too, and the merchant hears of that', async () => {
    await ask(stranger, 'NGN');
    await grant(stranger, 'NGN');

    expect(await refuse(stranger)).toMatchObject({ status: 200 });
    const told = await decisionsTold(stranger);
    expect(told).toMatchObject([{ customerDecision: 'approve_recurring' }, { customerDecision: 'deny' }]);
    const payer = { paymentIDs: [told[0]?.['paymentID']] };
    expect(await bill(stranger, 'NGN', payer)).toMatchObject({ status: 403 });
  });
});

test.each(['deny', 'suspended'])(
  'the denial of an intent that was sent after %s ends it, and it is so again',
  async (before) => {
    await ask(stranger, 'NGN');
    expect(await answer(stranger, before)).toMatchObject({ status: 200 });
    await ask(stranger, 'NGN');
    await grant(stranger, 'NGN');

    expect(await refuse(stranger)).toMatchObject({ status: 200 });
    const told = await decisionsTold(stranger);
    expect(told).toMatchObject([{ customerDecision: 'approve_recurring' }, { customerDecision: before }]);
    const payer = { paymentIDs: [told[0]?.['paymentID']] };
    expect(await bill(stranger, 'NGN', payer)).toMatchObject({ status: 403 });
  },
);

test('the denial of what was granted in another currency brings back the terms that were suspended', async () => {
  const merchant = await known();
  const scheduleId = await makeSchedule(database.db, api.deps.ring, standing, { currency: 'USD' });
  await decide('suspended');
  await ask(merchant, 'NGN');
  await grant(merchant, 'NGN');

  expect(await refuse(merchant)).toMatchObject({ status: 200 });
  const terms = { currency: 'USD', spendingLimits: { daily: 5 } };
  expect(await decisionOn(merchant)).toMatchObject({ customerDecision: 'suspended', ...terms });
  await decide('approve_recurring');
  expect(await decisionOn(merchant)).toMatchObject({ customerDecision: 'approve_recurring', ...terms });
  const { body } = await merchant.send('GET', `/v1/billing/recurring/${scheduleId}`);
  expect(body.data).toMatchObject({ status: 'active' });
});

test('the terms that come back have counted in their limits what was charged under them', async () => {
  const merchant = await known();
  await toNoon(database.db, standing.merchantId);
  const payer = { paymentIDs: [standing.paymentId] };
  const billed = async (amount: number) => {
    const { status, body } = await bill(merchant, 'USD', { ...payer, amount });
    const items = status === 201 ? (body as unknown as { billingRequestId: string }[]) : [];
    return { status, id: items[0]?.billingRequestId };
  };
  const settled = await billed(2);
  await answerCharge(settled.id, { action: 'approve_once', bankTransactionId: settled.id });
  const declined = await billed(1);
  await answerCharge(declined.id, { declineReason: 'insufficient_funds' });
  const pending = await billed(2);
  const spent = async () => ({ spent: ((await decisionOn(merchant)) as { spent: object }).spent });
  expect(await spent()).toEqual({ spent: { daily: 4, monthly: 4 } });

  await decide('suspended');
  await ask(merchant, 'NGN');
  await grant(merchant, 'NGN');
  expect(await spent()).toEqual({ spent: { daily: 0, monthly: 0 } });
  expect(await bill(merchant, 'NGN', payer)).toMatchObject({ status: 201 });
  expect(await refuse(merchant)).toMatchObject({ status: 200 });
  await decide('approve_recurring');

  expect(await spent()).toEqual({ spent: { daily: 4, monthly: 4 } });
  expect((await billed(2)).status).toBe(403);
  // What was pending all the while is released as ever.
  await answerCharge(pending.id, { declineReason: 'insufficient_funds' });
  expect(await spent()).toEqual({ spent: { daily: 2, monthly: 2 } });
  expect((await billed(3)).status).toBe(201);
});

test('what comes back counts a charge of an earlier day in the month alone, and one of an earlier month nowhere', async () => {
  const merchant = await known();
  const day = await toNoon(database.db, standing.merchantId);
  const payer = { paymentIDs: [standing.paymentId] };
  expect(await bill(merchant, 'USD', { ...payer, amount: 1 })).toMatchObject({ status: 201 });
  // Into the first days of the month after.
  await moveClock(database.db, standing.merchantId, `${32 - Number(day.slice(8))} days`);
  expect(await bill(merchant, 'USD', { ...payer, amount: 4 })).toMatchObject({ status: 201 });
  await moveClock(database.db, standing.merchantId, '1 day');
  await decide('suspended');
  await ask(merchant, 'NGN');
  await grant(merchant, 'NGN');
  expect(await bill(merchant, 'NGN', payer)).toMatchObject({ status: 201 });
  expect(await refuse(merchant)).toMatchObject({ status: 200 });
  expect(await decisionOn(merchant)).toMatchObject({ currency: 'USD', spent: { daily: 0, monthly: 4 } });
  await decide('approve_recurring');
  expect(await bill(merchant, 'USD', { ...payer, amount: 5 })).toMatchObject({ status: 201 });
  expect(await decisionOn(merchant)).toMatchObject({ spent: { daily: 5, monthly: 9 } });
});

test('the denial of new terms leaves what the customer gave again without being asked, and its schedules', async () => {
  const merchant = await known();
  const scheduleId = await makeSchedule(database.db, api.deps.ring, standing, { currency: 'USD' });
  await decide('suspended');
  await ask(merchant, 'USD');
  await decide('approve_recurring');

  expect(await refuse(merchant)).toMatchObject({ status: 200 });
  expect(await decisionOn(merchant)).toMatchObject({ customerDecision: 'approve_recurring' });
  const { body } = await merchant.send('GET', `/v1/billing/recurring/${scheduleId}`);
  expect(body.data).toMatchObject({ status: 'active' });
});

test('an intent for new terms that is denied later leaves it as it is', async () => {
  await grant(stranger, 'NGN');
  await ask(stranger, 'NGN');

  expect(await refuse(stranger)).toMatchObject({ status: 200 });
  const [told] = await decisionsTold(stranger);
  const payer = { paymentIDs: [told?.['paymentID']] };
  expect(await bill(stranger, 'NGN', payer)).toMatchObject({ status: 201 });
});

test.each(['suspended', 'deny'])(
  'it does not bring back terms in another currency that are %s, nor their schedules',
  async (customerDecision) => {
    const merchant = await known();
    const scheduleId = await makeSchedule(database.db, api.deps.ring, standing, { currency: 'USD' });
    await decide(customerDecision);
    const schedule = () => merchant.send('GET', `/v1/billing/recurring/${scheduleId}`);
    const status = customerDecision === 'deny' ? 'cancelled' : 'suspended';
    expect((await schedule()).body.data).toMatchObject({ status });

    await grant(merchant, 'NGN');
    expect((await schedule()).body.data).toMatchObject({ status });
    expect(await decisionOn(merchant)).toMatchObject({
      customerDecision: 'approve_recurring',
      currency: 'NGN',
      // It was one of dollars.
      spendingLimits: { daily: null, monthly: null },
    });
    const payer = { paymentIDs: [standing.paymentId] };
    expect(await bill(merchant, 'USD', payer)).toMatchObject({ status: 400 });
    expect(await bill(merchant, 'NGN', payer)).toMatchObject({ status: 201 });
  },
);

test('it starts suspended schedules in the currency of the bill again', async () => {
  const merchant = await known();
  const scheduleId = await makeSchedule(database.db, api.deps.ring, standing, { currency: 'USD' });
  const schedule = () => merchant.send('GET', `/v1/billing/recurring/${scheduleId}`);
  await ask(merchant, 'NGN');
  expect(await answer(merchant, 'approve_recurring')).toMatchObject({ status: 200 });
  await decide('suspended');
  expect((await schedule()).body.data).toMatchObject({ status: 'suspended' });

  await grant(merchant, 'USD');
  expect((await schedule()).body.data).toMatchObject({ status: 'active' });
});

test('it leaves what is approved once at a time in another currency as it is', async () => {
  const merchant = await known();
  const scheduleId = await makeSchedule(database.db, api.deps.ring, standing, { currency: 'USD' });
  await decide('approve_once');
  const before = await decisionOn(merchant);
  expect(before).toMatchObject({ customerDecision: 'approve_once', currency: 'USD' });
  expect(before).toMatchObject({ spendingLimits: { daily: 5, monthly: null } });
  const told = await decisionsTold(merchant);

  await grant(merchant, 'NGN');
  expect(await decisionOn(merchant)).toEqual(before);
  expect(await decisionsTold(merchant)).toEqual(told);
  expect((await merchant.send('GET', `/v1/billing/recurring/${scheduleId}`)).body.data).toMatchObject({
    status: 'suspended',
  });
  const payer = { paymentIDs: [standing.paymentId] };
  expect(await bill(merchant, 'NGN', payer)).toMatchObject({ status: 400 });
  expect(await bill(merchant, 'USD', { ...payer, amount: 1 })).toMatchObject({ status: 201 });
});

test('it makes what is approved once at a time in the same currency standing, within its limits', async () => {
  const merchant = await known();
  await decide('approve_once');

  await grant(merchant, 'USD');
  expect(await decisionOn(merchant)).toMatchObject({
    customerDecision: 'approve_recurring',
    currency: 'USD',
    spendingLimits: { daily: 5, monthly: null },
  });
});

test.each(['USD', 'NGN'])(
  'billed in %s, it leaves a standing approval in dollars as it is, and the merchant hears of nothing',
  async (currency) => {
    const merchant = await known();
    await grant(merchant, currency);
    expect(await decisionOn(merchant)).toMatchObject({
      customerDecision: 'approve_recurring',
      currency: 'USD',
      spendingLimits: { daily: 5, monthly: null },
    });
    expect(await decisionsTold(merchant)).toEqual([]);
  },
);
