import { itemsOf, shareApi, type Caller, type Parties } from '../../support/shared-api';
import { lookupIdOf, moveClock } from '../../support/standing';
import { setEntityTrust } from '../../support/recorded-change';

const served = shareApi();
/** The customer has agreed to 100 naira a day. */
let parties: Parties;
let lookupID: string;
beforeEach(async () => {
  parties = await served.parties({ limits: { daily: 10_000n } });
  lookupID = await lookupIdOf(served.db, parties.customerId);
});

const intend = (merchant: Caller, more: object = {}) =>
  merchant.post('/v1/billing/intent', {
    lookupIDs: [lookupID],
    currency: 'NGN',
    description: 'Gold plan',
    ...more,
  });
/** @returns the id of the intent */
const ask = async (merchant = parties.merchant) => String(itemsOf(await intend(merchant))[0]?.intentId);
const respond = (answer: object, { entityId } = parties.merchant) =>
  parties.bank.post('/v1/billing/intent-response', {
    customerId: parties.customerId,
    entityId,
    lookupID,
    ...answer,
  });
const intent = (id: string, by = parties.merchant) => by.read(`/v1/billing/intents/${id}`);
const billed = async (amount: number, payer: object = { paymentIDs: [parties.paymentId] }, by?: Caller) => {
  const wish = { ...payer, amount, currency: 'NGN', description: 'Shoes' };
  return (await (by ?? parties.merchant).post('/v1/customer/bill', wish)).status;
};
const announcedToMerchant = () => served.announced(parties.merchantId, 'billing.intent.response');

const approve = { customerDecision: 'approve_recurring' };
const deny = { customerDecision: 'deny' };

test('an intent that breaks the contract gets 400 and every problem by name, and nobody is asked', async () => {
  const faulty = await intend(parties.merchant, {
    // A customer named twice, in two spellings, is still named twice.
    lookupIDs: [lookupID, lookupID.toUpperCase()],
    currency: 'USD',
    description: '',
    intentSettings: { dueDate: 'tomorrow' },
  });
  expect([faulty.status, faulty.body.errors?.map(({ path }) => path).sort()]).toEqual([
    400,
    ['currency', 'description', 'intentSettings.dueDate', 'lookupIDs[1]'],
  ]);
  expect(await served.announced(parties.bankId, 'billing.intent')).toEqual([]);
});

test.each([
  [
    { customerDecision: 'maybe', spendingLimits: { daily: -1, hourly: 5 }, colour: 'blue' },
    ['colour', 'customerDecision', 'spendingLimits.daily', 'spendingLimits.hourly'],
  ],
  [
    { ...approve, spendingLimits: { daily: 0.001, monthly: 1e13 } },
    ['spendingLimits.daily', 'spendingLimits.monthly'],
  ],
])('the answer %j gets 400 and every problem by name, and the intent stays open', async (answer, paths) => {
  const id = await ask();
  const { status, body } = await respond(answer);
  expect([status, body.errors?.map(({ path }) => path).sort()]).toEqual([400, paths]);
  expect(await intent(id)).toMatchObject({ status: 'pending' });
});

test('a standing approval for an untrusted merchant gets 403, and the intent stays open', async () => {
  const untrusted = await served.enter('merchant');
  const id = await ask(untrusted);
  expect((await respond(approve, untrusted)).status).toBe(403);
  expect(await intent(id, untrusted)).toMatchObject({ status: 'pending' });
});

test.each(['deny', 'suspended'])(
  'a first intent that is answered with %s gives no paymentID, and bills are refused',
  async (customerDecision) => {
    const stranger = await served.enter('merchant');
    await setEntityTrust(served.db, stranger.entityId, 'trusted');
    await ask(stranger);
    const [asked] = await served.announced(parties.bankId, 'billing.intent');
    const answer = await respond({ customerDecision }, stranger);

    expect(answer.body.data).toMatchObject({ status: 'declined', customerDecision });
    const [told] = await served.announced(stranger.entityId, 'billing.intent.response');
    expect(told).toMatchObject({ customerDecision, customerAction: 'declined' });
    expect(told).not.toHaveProperty('paymentID');
    expect(await billed(10, { paymentIDs: [String(asked?.['paymentID'])] }, stranger)).toBe(403);
  },
);

test("a bank's answer that comes again gets 200 again, another gets 409 and the true status, and the merchant hears of the first", async () => {
  await ask();
  const answers: [object, number][] = [
    [{ ...approve, spendingLimits: { daily: 5 } }, 200],
    // As the list of decisions shows it, a limit that there is not is null.
    [{ ...approve, spendingLimits: { daily: 5, monthly: null } }, 200],
    [deny, 409],
    [{ ...approve, spendingLimits: { daily: 6 } }, 409],
    [{ ...approve, spendingLimits: { daily: 5 }, blockMerchant: true }, 409],
  ];
  for (const [answer, code] of answers) {
    const { status, body } = await respond(answer);
    expect([answer, status, body.data?.['status']]).toEqual([answer, code, 'approved']);
  }
  expect(await announcedToMerchant()).toHaveLength(1);
});

test('the terms of a second intent are in force once they are approved, and the old ones until then', async () => {
  for (const end of ['denied', 'timed out', 'approved']) {
    await ask();
    expect([end, await billed(101)]).toEqual([end, 403]);
    if (end === 'denied') await respond(deny);
    if (end === 'timed out') await moveClock(served.db, parties.merchantId, '25 hours');
    if (end === 'approved') await respond({ ...approve, spendingLimits: { daily: 200 } });
    expect([end, await billed(101)]).toEqual([end, end === 'approved' ? 201 : 403]);
  }
  expect((await announcedToMerchant()).at(-1)).toMatchObject({ paymentID: parties.paymentId });
  expect(await billed(99)).toBe(201);
});

test('a customer who blocks the merchant with the answer is asked and billed by it no more, in any way', async () => {
  const intentId = await ask();
  const answer = await respond({ ...deny, blockMerchant: true });

  expect(answer.body.data).toMatchObject({ intentId, status: 'declined', customerDecision: 'deny' });
  expect(await billed(10)).toBe(403);
  expect(await billed(10, { lookupIDs: [lookupID] })).toBe(403);
  expect(await intend(parties.merchant)).toMatchObject({
    status: 403,
    body: { success: false, data: [{ statusCode: 403, lookupID }] },
  });
  expect((await intend(await served.enter('merchant'))).status).toBe(200);
});
