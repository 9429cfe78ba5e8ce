import { SPENT_ONCE, UNLIMITED } from '../../support/limits';
import { person } from '../../support/person';
import {
  approve,
  bill,
  decline,
  EXCEPTIONS,
  shareApi,
  type Caller,
  type Parties,
} from '../../support/shared-api';
import { makeSchedule, toNoon } from '../../support/standing';
import { wholeFeed } from '../../support/whole-feed';

const served = shareApi();
let parties: Parties;
beforeEach(async () => {
  parties = await served.parties({ limits: { daily: 500_000n } });
});

async function decide(customerDecision: string, agreementId = parties.agreementId): Promise<void> {
  const path = `/v1/bank/customer-decisions/${agreementId}`;
  expect((await parties.bank.send('PUT', path, { customerDecision })).status).toBe(200);
}

/** An agreement that the merchant has asked for, with another customer of the bank. */
async function asked(): Promise<{
  agreementId: string;
  answer: (customerDecision: string) => Promise<void>;
}> {
  const onboarded = await parties.bank.post('/v1/bank/customers', { customers: [person()] });
  const [customer] = (onboarded.body.data ?? {})['customers'] as { customerId: string; lookupID: string }[];
  const { customerId = '', lookupID = '' } = customer ?? {};
  const wish = { lookupIDs: [lookupID], currency: 'NGN', description: 'Gold plan' };
  await parties.merchant.post('/v1/billing/intent', wish);
  const [agreementId] = await ids(`?customerId=${customerId}`);
  const answer = async (customerDecision: string) => {
    const answered = { customerId, entityId: parties.merchantId, lookupID, customerDecision };
    expect((await parties.bank.post('/v1/billing/intent-response', answered)).status).toBe(200);
  };
  return { agreementId: String(agreementId), answer };
}

const shown = (agreementId = parties.agreementId, by = parties.merchant) =>
  by.read(`/v1/agreements/${agreementId}`);
const ids = async (query = '', by: Caller = parties.merchant) =>
  (await by.list(`/v1/agreements${query}`)).map(({ agreementId }) => agreementId);

describe('an agreement', () => {
  it('shows its merchant and its provider the paymentID to bill with, the limits, and what is spent of them', async () => {
    await toNoon(served.db, parties.merchantId);
    await bill(parties, { amount: 1200.5 });

    const agreement = {
      agreementId: parties.agreementId,
      paymentID: parties.paymentId,
      customerId: parties.customerId,
      bankId: parties.bankId,
      merchantId: parties.merchantId,
      decision: 'approve_recurring',
      state: 'active',
      pausedUntil: null,
      currency: 'NGN',
      spendingLimits: { ...UNLIMITED, daily: 5000 },
      spent: SPENT_ONCE,
      termsSince: null,
      chargeableNow: 3799.5,
      createdAt: expect.stringMatching(/Z$/) as string,
      updatedAt: expect.stringMatching(/Z$/) as string,
    };
    for (const caller of [parties.merchant, parties.provider]) {
      expect(await shown(parties.agreementId, caller)).toEqual(agreement);
      expect(await caller.read('/v1/agreements')).toMatchObject({ agreements: [agreement], total: 1 });
    }
  });

  it('tells a sum that is too long for a number in full', async () => {
    await served.db.rows`
      UPDATE agreements SET spent_on = 'infinity', spent_monthly = 123456789012345678
      WHERE id = ${parties.agreementId}`;
    expect(await shown()).toMatchObject({ spent: { exact: { monthly: '1234567890123456.78' } } });
  });

  it('has no paymentID until the customer approves it, and keeps it for good from then on', async () => {
    const { agreementId, answer } = await asked();
    const paymentID = async () => (await shown(agreementId))['paymentID'];
    expect(await paymentID()).toBeNull();
    await answer('suspended');
    expect(await paymentID()).toBeNull();
    await decide('approve_once', agreementId);
    const first = await paymentID();
    expect(first).toEqual(expect.any(String));
    await decide('deny', agreementId);
    expect(await paymentID()).toBe(first);
  });
});

const release = (by = parties.merchant) => by.post(`/v1/agreements/${parties.agreementId}/release`);
const charged = (id: string) => parties.merchant.read(`/v1/billing/requests/${id}`);

describe('giving an agreement up', () => {
  it.each(['merchant', 'provider'] as const)(
    'by its %s is a denial, which the bank hears of, and which changes nothing again',
    async (role) => {
      const scheduleId = await makeSchedule(served.db, parties);
      const unseen = await bill(parties, { amount: 200 });
      const released = await release(parties[role]);
      expect(released).toMatchObject({ status: 200, body: { data: { decision: 'deny', pending: [] } } });
      expect((await release(parties[role])).body).toEqual(released.body);

      expect(await charged(unseen.id)).toMatchObject({ status: 'declined', declineReason: 'denied' });
      await expect(bill(parties)).rejects.toThrow('not_approved');
      const schedule = await parties.merchant.read(`/v1/billing/recurring/${scheduleId}`);
      expect(schedule).toMatchObject({ status: 'cancelled' });
      const told = await served.announced(parties.bankId, 'decision.updated');
      expect(told).toMatchObject([{ id: parties.agreementId, sequence: 1, state: 'revoked' }]);
    },
  );

  it('names what its bank has in hand, whose denial is a 200, as of a charge that has ended so', async () => {
    await decide('approve_once');
    const waiting = await bill(parties);
    await decide('approve_recurring');
    const { id, reference } = await bill(parties, { amount: 200 });
    await wholeFeed(served.db);
    await parties.bank.get('/v1/events');
    const pending = [{ billingRequestId: id, reference, amount: 200 }];
    expect((await release()).body.data).toMatchObject({ pending });
    expect((await decline(parties, waiting.id, 'denied')).status).toBe(200);
    expect((await decline(parties, id, 'denied')).status).toBe(200);
    expect((await release()).body.data).toMatchObject({ pending: [] });
  });

  it('has a later approval of a charge that it has ended kept as an exception', async () => {
    await decide('approve_once');
    const { id } = await bill(parties);
    await release();
    expect(await approve(parties, id)).toMatchObject({ status: 409, body: { code: 'late_answer' } });
    expect(await parties.merchant.list(EXCEPTIONS)).toMatchObject([{ kind: 'late_answer' }]);
    // It was not cancelled, and is not told so.
    const cancelled = await parties.merchant.post(`/v1/billing/requests/${id}/cancel`);
    expect(cancelled).toMatchObject({ status: 409, body: { data: { status: 'declined' } } });
  });

  it('ends an open intent, which the bank is told, and the customer may approve again', async () => {
    const { agreementId, answer } = await asked();
    const path = `/v1/agreements/${agreementId}/release`;
    expect((await parties.merchant.post(path)).body.data).toMatchObject({ decision: 'deny' });
    const ended = { status: 'declined', reason: 'denied' };
    expect(await served.announced(parties.bankId, 'billing.intent.closed')).toMatchObject([ended]);
    expect(await served.announced(parties.merchantId, 'billing.intent.response')).toMatchObject([ended]);
    await answer('deny');
    await decide('approve_once', agreementId);
    expect(await shown(agreementId)).toMatchObject({ decision: 'approve_once' });
  });
});

describe('the list of agreements', () => {
  it('is filtered by decision and by customer, newest first unless asked otherwise', async () => {
    const { agreementId: pending } = await asked();
    const own = parties.agreementId;
    expect(await ids()).toEqual([pending, own]);
    expect(await ids('?sortOrder=asc')).toEqual([own, pending]);
    expect(await ids('?limit=1&page=2')).toEqual([own]);
    expect(await ids('?decision=pending')).toEqual([pending]);
    expect(await ids(`?customerId=${parties.customerId}`)).toEqual([own]);
    await decide('deny');
    expect(await ids('?sortBy=updatedAt')).toEqual([own, pending]);
    expect((await parties.merchant.get('/v1/agreements?decision=maybe')).status).toBe(400);
  });

  it('has, for a provider, those of its merchants, or of one of them', async () => {
    const { provider, providerId, merchantId, agreementId } = parties;
    const other = await served.enter('merchant', { providerId });
    expect(await ids('', provider)).toEqual([agreementId]);
    expect(await ids(`?merchantId=${merchantId}`, provider)).toEqual([agreementId]);
    expect(await ids(`?merchantId=${other.entityId}`, provider)).toEqual([]);
    expect(await ids('', other)).toEqual([]);
  });
});
