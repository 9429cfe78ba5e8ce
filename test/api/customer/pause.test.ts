import { itemsOf, shareApi, type Parties, type Shown } from '../../support/shared-api';
import { setEntityStatus, setEntityTrust } from '../../support/recorded-change';
import { lookupIdOf, makeSchedule, moveClock } from '../../support/standing';

/** A customer's pause at the bank, and why a schedule is suspended. */

const served = shareApi();
let parties: Parties;
beforeEach(async () => {
  parties = await served.parties();
});

const decision = () => `/v1/bank/customer-decisions/${parties.agreementId}`;
const pause = (until?: Date | string) =>
  parties.bank.post(`${decision()}/pause`, until === undefined ? undefined : { until });
const resume = () => parties.bank.post(`${decision()}/resume`);
const put = (customerDecision: string, more: object = {}) =>
  parties.bank.send('PUT', decision(), { customerDecision, ...more });
const agreement = () => parties.merchant.read(`/v1/agreements/${parties.agreementId}`);
const told = () => served.announced(parties.merchantId, 'decision.updated');
const states = async () => (await told()).map(({ state }) => state);
const billing = (payer: object = { paymentIDs: [parties.paymentId] }) =>
  parties.merchant.post('/v1/customer/bill', { ...payer, amount: 1, currency: 'NGN', description: 'Shoes' });
const inHours = async (hours: number) => {
  const clock = served.db.oneRow<{ now: Date }>`SELECT business_now(${parties.merchantId}) AS now`;
  return new Date((await clock).now.getTime() + hours * 3_600_000);
};
const later = (by: string) => moveClock(served.db, parties.merchantId, by);
const schedule = (scheduleId: string): Promise<Shown> =>
  parties.merchant.read(`/v1/billing/recurring/${scheduleId}`);

/** Asks and approves anew. */
async function renew(): Promise<void> {
  const lookupID = await lookupIdOf(served.db, parties.customerId);
  const wish = { lookupIDs: [lookupID], currency: 'NGN', description: 'Gold plan' };
  await parties.merchant.post('/v1/billing/intent', wish);
  const { customerId, merchantId: entityId } = parties;
  const approval = { customerId, entityId, lookupID, customerDecision: 'approve_recurring' };
  expect((await parties.bank.post('/v1/billing/intent-response', approval)).status).toBe(200);
}

describe('a paused permission', () => {
  test('refuses charges until it is resumed, keeps its decision, and is told to the merchant', async () => {
    const { status, body } = await pause();
    expect([status, body.data]).toMatchObject([
      200,
      { customerDecision: 'approve_recurring', state: 'paused', pausedUntil: null, chargeableNow: 0 },
    ]);
    expect(await billing()).toMatchObject({ status: 403, body: { code: 'consent_paused' } });
    expect(await told()).toMatchObject([{ state: 'paused', customerDecision: 'approve_recurring' }]);
    expect(await served.announced(parties.bankId, 'decision.updated')).toEqual([]);

    expect((await resume()).body.data).toMatchObject({ state: 'active', chargeableNow: null });
    expect((await billing()).status).toBe(201);
    expect((await resume()).status).toBe(200);
    expect(await states()).toEqual(['paused', 'active']);
  });

  test('does not keep the customer from approving a bill by lookupID', async () => {
    await pause();
    const lookupIDs = [await lookupIdOf(served.db, parties.customerId)];
    expect((await billing({ lookupIDs })).status).toBe(201);
  });

  test('ends at `until` by the clock alone, to which a second pause gives another end', async () => {
    const soon = await inHours(1);
    await pause(await inHours(5));
    expect((await pause(soon)).body.data).toMatchObject({ pausedUntil: soon.toISOString() });
    expect((await pause(soon)).status).toBe(200);
    expect(await states()).toEqual(['paused', 'paused']);
    expect((await billing()).status).toBe(403);
    await later('1 hour');
    expect(await agreement()).toMatchObject({ state: 'active', pausedUntil: null });
    expect((await billing()).status).toBe(201);
    // It has ended already.
    expect((await resume()).status).toBe(200);
    expect(await states()).toEqual(['paused', 'paused']);
  });

  test('cannot end in the past', async () => {
    expect(await pause(await inHours(-1))).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'until' }] },
    });
    expect((await pause('tomorrow')).status).toBe(400);
  });

  test('outlasts whatever the customer approves, and the merchant’s disabling', async () => {
    await pause();
    await put('approve_once');
    await put('approve_recurring', { spendingLimits: { daily: 5 } });
    await renew();
    await setEntityStatus(served.db, parties.merchantId, 'disabled');
    await setEntityStatus(served.db, parties.merchantId, 'active');
    expect(await agreement()).toMatchObject({ state: 'paused', chargeableNow: 0 });
    await put('suspended');
    expect(await agreement()).toMatchObject({ state: 'suspended' });
    expect((await resume()).body.data).toMatchObject({ state: 'suspended' });
    await put('approve_recurring');
    expect(await agreement()).toMatchObject({ state: 'active' });
  });

  test('is ended by a denial, and what is approved after it is not paused', async () => {
    await pause(await inHours(5));
    await put('deny');
    expect(await agreement()).toMatchObject({ state: 'revoked', pausedUntil: null });
    await put('approve_recurring');
    expect(await agreement()).toMatchObject({ state: 'active' });
    expect((await billing()).status).toBe(201);
  });

  test.each(['pending', 'revoked', 'expired'])(
    'is none where the state is %s: 409, of resume too',
    async (state) => {
      if (state === 'revoked') await put('deny', { blockMerchant: true });
      if (state === 'expired') {
        await put('approve_recurring', { spendingLimits: { validUntil: await inHours(1) } });
        await later('1 hour');
      }
      let { agreementId } = parties;
      if (state === 'pending') {
        const stranger = await served.enter('merchant');
        const lookupIDs = [await lookupIdOf(served.db, parties.customerId)];
        const asked = await stranger.post('/v1/billing/intent', {
          lookupIDs,
          currency: 'NGN',
          description: 'Plan',
        });
        expect(itemsOf(asked)).toHaveLength(1);
        const [agreed] = await stranger.list('/v1/agreements');
        agreementId = String(agreed?.['agreementId']);
      }
      for (const act of ['pause', 'resume']) {
        expect(
          await parties.bank.post(`/v1/bank/customer-decisions/${agreementId}/${act}`, {}),
        ).toMatchObject({
          status: 409,
          body: { code: 'consent_not_active', data: { state } },
        });
      }
    },
  );

  test('may be one that has not begun', async () => {
    await put('approve_recurring', { spendingLimits: { validFrom: await inHours(2) } });
    expect(await agreement()).toMatchObject({ state: 'not_yet_valid' });
    await pause(await inHours(3));
    expect(await agreement()).toMatchObject({ state: 'paused' });
    expect(await billing()).toMatchObject({ body: { code: 'consent_not_yet_valid' } });
    await later('2 hours');
    expect(await billing()).toMatchObject({ body: { code: 'consent_paused' } });
  });

  test('is of the customer’s own bank alone', async () => {
    const other = await served.enter('bank');
    for (const act of ['pause', 'resume'])
      expect((await other.post(`${decision()}/${act}`, {})).status).toBe(404);
  });
});

const reasonOf = async (scheduleId: string) => {
  const { status, suspendedReason } = await schedule(scheduleId);
  return status === 'suspended' ? suspendedReason : status;
};

describe('a suspended schedule', () => {
  test('says why, by the first reason that holds, and is told as suspended once', async () => {
    const scheduleId = await makeSchedule(served.db, parties);
    expect(await schedule(scheduleId)).toMatchObject({ status: 'active', suspendedReason: null });
    await pause();
    expect(await reasonOf(scheduleId)).toBe('consent_paused');
    await put('approve_once');
    expect(await reasonOf(scheduleId)).toBe('not_approved');
    await put('approve_recurring', { spendingLimits: { validFrom: await inHours(2) } });
    expect(await reasonOf(scheduleId)).toBe('consent_not_yet_valid');
    expect(await parties.bank.read(`/v1/bank/customer/subscriptions/${scheduleId}`)).toMatchObject({
      suspendedReason: 'consent_not_yet_valid',
    });
    const updates = () => served.announced(parties.merchantId, 'recurring.updated');
    expect(await updates()).toMatchObject([{ status: 'suspended', suspendedReason: 'consent_paused' }]);
    await resume();
    await put('approve_recurring', { spendingLimits: { validFrom: null } });
    expect(await updates()).toMatchObject([{}, { status: 'active', suspendedReason: null }]);
  });

  test('names the network’s reasons after the customer’s', async () => {
    const scheduleId = await makeSchedule(served.db, parties);
    const distrust = (trustLevel: string) =>
      parties.provider.send('PATCH', '/v1/provider/merchant/trust', {
        merchantId: parties.merchantId,
        trustLevel,
      });
    await distrust('untrusted');
    expect(await reasonOf(scheduleId)).toBe('merchant_not_trusted');
    await pause();
    expect(await reasonOf(scheduleId)).toBe('consent_paused');
    await resume();
    expect(await reasonOf(scheduleId)).toBe('merchant_not_trusted');
    await setEntityTrust(served.db, parties.merchantId, 'trusted');
    await setEntityStatus(served.db, parties.bankId, 'disabled');
    await distrust('trusted');
    expect(await reasonOf(scheduleId)).toBe('party_disabled');
  });
});
