import { addDays } from '../../../src/domain/calendar';
import { approve, bill, decline, itemsOf, shareApi, type Parties } from '../../support/shared-api';
import { lookupIdOf, moveClock, toNoon } from '../../support/standing';
import { setEntityTrust } from '../../support/recorded-change';

/* Bills, the limits that they must keep to, and what a bank answers. */

const served = shareApi();
let parties: Parties;
let lookupID: string;
beforeEach(async () => {
  parties = await served.parties();
  lookupID = await lookupIdOf(served.db, parties.customerId);
});

const send = (wish: object, { merchant } = parties) =>
  merchant.post('/v1/customer/bill', { amount: 10, currency: 'NGN', description: 'Shoes', ...wish });
const statusOf = async (amount: number, of: Parties) =>
  (await send({ paymentIDs: [of.paymentId], amount }, of)).status;
/** A charge that its customer must approve. */
const asking = async () => itemsOf(await send({ lookupIDs: [lookupID] }))[0]?.billingRequestId ?? '';
const answer = (billingRequestId: string, more: object) =>
  parties.bank.post('/v1/billing/bank-response', { billingRequestId, ...more });
const charge = (id: string) => parties.merchant.read(`/v1/billing/requests/${id}`);

test.each([
  [{ paymentIDs: ['a'], lookupIDs: ['b'] }, ['paymentIDs']],
  [{}, ['paymentIDs']],
  [{ lookupIDs: [] }, ['lookupIDs']],
  [{ lookupIDs: ['a'], amount: 10.001 }, ['amount']],
  [{ lookupIDs: ['a'], amount: 0 }, ['amount']],
  [{ lookupIDs: ['a'], amount: 10_000_000_000.01 }, ['amount']],
  [{ lookupIDs: ['a'], amount: '10' }, ['amount']],
  [{ lookupIDs: ['a'], payee: { lookupID: 'b' } }, ['payee']],
  [
    { lookupIDs: ['a'], amount: -1, currency: 'EUR', description: 'x'.repeat(501) },
    ['amount', 'currency', 'description'],
  ],
])('the bill %j gets 400, each fault by name', async (fault, paths) => {
  const { status, body } = await send(fault);
  expect([status, body.errors?.map(({ path }) => path).sort()]).toEqual([400, paths]);
});

test('a bill is answered line by line, inside the error envelope where no customer can be billed', async () => {
  const others = await served.parties();
  const good = await lookupIdOf(served.db, others.customerId);
  await parties.bank.send('PUT', `/v1/bank/customer-decisions/${parties.agreementId}`, {
    customerDecision: 'deny',
    blockMerchant: true,
  });
  const unknown = 'no-such-customer-here-00';

  const some = await send({ lookupIDs: [unknown, lookupID, good] });
  expect(some.status).toBe(201);
  expect(some.body).toMatchObject([
    { statusCode: 404, success: false, phrase: unknown },
    { statusCode: 403, success: false, phrase: lookupID },
    { statusCode: 201, success: true, phrase: good },
  ]);
  // The most telling of several refusals.
  expect(await send({ lookupIDs: [unknown, lookupID] })).toMatchObject({
    status: 403,
    body: { statusCode: 403, success: false, data: [{ statusCode: 404 }, { statusCode: 403 }] },
  });
  expect(await send({ lookupIDs: [unknown] })).toMatchObject({
    status: 404,
    body: { statusCode: 404, data: [{ statusCode: 404 }] },
  });
});

test('only a standing approval of a trusted merchant spares the customer the question', async () => {
  const { db, bankId } = { ...served, bankId: parties.bankId };
  await send({ paymentIDs: [parties.paymentId] });
  await setEntityTrust(db, parties.merchantId, 'untrusted');
  await send({ paymentIDs: [parties.paymentId] });
  await setEntityTrust(db, parties.merchantId, 'trusted');
  await send({ lookupIDs: [lookupID] });
  const asked = await served.announced(bankId, 'billing.request');
  expect(asked.map(({ approvalRequired }) => approvalRequired)).toEqual([false, true, true]);
});

describe('a spending limit', () => {
  test('of a day or a month takes bills up to it, to the kobo', async () => {
    for (const period of ['daily', 'monthly']) {
      const limited = await served.parties({ limits: { [period]: 10_000n } });
      await toNoon(served.db, limited.merchantId);
      const statuses = [];
      for (const amount of [100.01, 99.99, 0.02, 0.01, 0.01]) statuses.push(await statusOf(amount, limited));
      expect([period, statuses]).toEqual([period, [403, 201, 403, 201, 403]]);
    }
  });

  test('counts what is pending, and lets in what a decline sets free', async () => {
    const limited = await served.parties({ limits: { daily: 10_000n } });
    await toNoon(served.db, limited.merchantId);
    const pending = await bill(limited, { amount: 60 });
    expect(await statusOf(40.01, limited)).toBe(403);
    await decline(limited, pending.id);
    expect(await statusOf(100, limited)).toBe(201);
  });

  test('of a day is whole again on the next, while the month goes on counting', async () => {
    const limited = await served.parties({ limits: { daily: 10_000n, monthly: 15_000n } });
    // From the first of a month on, so that the next day is in the same one.
    const today = await toNoon(served.db, limited.merchantId);
    const days = [...Array(32).keys()].find((n) => n > 0 && addDays(today, n).endsWith('-01')) ?? 0;
    await moveClock(served.db, limited.merchantId, `${days} days`);

    expect([await statusOf(100, limited), await statusOf(0.01, limited)]).toEqual([201, 403]);
    await moveClock(served.db, limited.merchantId, '1 day');
    expect([await statusOf(50.01, limited), await statusOf(50, limited)]).toEqual([403, 201]);
  });
});

describe("a bank's answer to a charge", () => {
  test.each([
    [{ bankTransactionId: 'tx-1' }, 'successful'],
    [{ action: 'approve_once', bankTransactionId: 'tx-2' }, 'successful'],
    [{ declineReason: 'account_closed' }, 'declined'],
    [{ action: 'deny' }, 'declined'],
    // As the guide has a refusal.
    [{ action: 'deny', bankTransactionId: 'tx-3' }, 'declined'],
    [{ action: 'suspended' }, 'declined'],
  ])('%j gets 200 and the status %s, twice, and the merchant hears of it once', async (form, status) => {
    const billingRequestId = await asking();
    for (const time of ['first', 'second']) {
      const { status: http, body } = await answer(billingRequestId, form);
      expect([time, http, body.data]).toEqual([time, 200, { billingRequestId, status }]);
    }
    expect(await served.announced(parties.merchantId, 'billing.response')).toMatchObject([{ status }]);
  });

  test('that contradicts the first gets 409 and the true status, and is kept for somebody to look into, once', async () => {
    const billingRequestId = await asking();
    await approve(parties, billingRequestId);
    const later = [{ bankTransactionId: 'tx-other' }, { action: 'deny' }];
    for (const other of [...later, ...later]) {
      expect(await answer(billingRequestId, other)).toMatchObject({
        status: 409,
        body: { success: false, data: { billingRequestId, status: 'successful' } },
      });
    }
    expect(await parties.bank.list('/v1/reconciliation/exceptions')).toMatchObject([
      { kind: 'conflicting_answer', billingRequestId },
    ]);
  });

  test('that breaks the contract gets 400, each fault by name, and leaves the charge open', async () => {
    const billingRequestId = await asking();
    const faults: [object, string[]][] = [
      [{ bankTransactionId: 'tx-1', declineReason: 'no' }, ['declineReason']],
      [{}, ['bankTransactionId']],
      [{ action: 'approve_once' }, ['bankTransactionId']],
      [{ action: 'perhaps', bankTransactionId: 'tx-1' }, ['action']],
      [{ bankTransactionId: 'tx-1', batchId: 'bat_00000000000000000000000000' }, ['batchId']],
    ];
    for (const [fault, paths] of faults) {
      const { status, body } = await answer(billingRequestId, fault);
      expect([status, body.errors?.map(({ path }) => path)]).toEqual([400, paths]);
    }
    const { body } = await answer('\u0000', { action: 'approve_once', declineReason: 'no' });
    const all = ['billingRequestId', 'bankTransactionId', 'declineReason'];
    expect(body.errors?.map(({ path }) => path)).toEqual(all);
    expect(await charge(billingRequestId)).toMatchObject({ status: 'pending' });
  });
});
