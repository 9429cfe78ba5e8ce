import { unrecorded } from '../../support/database';
import { bookDifferences } from '../../support/books';
import {
  approve,
  bill,
  charge,
  decline,
  EXCEPTIONS,
  itemsOf,
  shareApi,
  type Parties,
  type Shown,
} from '../../support/shared-api';
import { AGREEMENT_STATES } from '../../../src/domain/lifecycle';
import { SPENT_ONCE, UNLIMITED } from '../../support/limits';
import { announcedTo, lookupIdOf, makeSchedule, moveClock } from '../../support/standing';
import { wholeFeed } from '../../support/whole-feed';

const served = shareApi();
let parties: Parties;
let lookupID: string;
beforeEach(async () => {
  parties = await served.parties({ limits: { daily: 500_000n } });
  lookupID = await lookupIdOf(served.db, parties.customerId);
});

const DECISIONS = '/v1/bank/customer-decisions';
const listed = (query = '') => parties.bank.list(`${DECISIONS}${query}`);
const ids = async (query: string) => (await listed(query)).map(({ id }) => id);
const theOne = async () => (await listed())[0];
const put = (body: unknown) => parties.bank.send('PUT', `${DECISIONS}/${parties.agreementId}`, body);

/** @returns the status of the response */
const billed = async (amount: number, payer: object = { paymentIDs: [parties.paymentId] }) => {
  const wish = { ...payer, amount, currency: 'NGN', description: 'Shoes' };
  return (await parties.merchant.post('/v1/customer/bill', wish)).status;
};

const intend = () =>
  parties.merchant.post('/v1/billing/intent', {
    lookupIDs: [lookupID],
    currency: 'NGN',
    description: 'Gold plan',
  });
/** @returns the id of the intent */
const ask = async () => String(itemsOf(await intend())[0]?.intentId);
const respond = (more: object) =>
  parties.bank.post('/v1/billing/intent-response', {
    customerId: parties.customerId,
    entityId: parties.merchantId,
    lookupID,
    ...more,
  });
const intent = (id: string) => parties.merchant.read(`/v1/billing/intents/${id}`);
const distrust = () =>
  parties.provider.send('PATCH', '/v1/provider/merchant/trust', {
    merchantId: parties.merchantId,
    trustLevel: 'untrusted',
  });
const told = (type = 'decision.updated') => served.announced(parties.merchantId, type);

async function statusOf(scheduleId: string): Promise<unknown> {
  return (await parties.merchant.read(`/v1/billing/recurring/${scheduleId}`))['status'];
}

const later = (by: string) => moveClock(served.db, parties.merchantId, by);

/** Makes the agreement one that the customer has not decided about. */
const undecided = () =>
  unrecorded(
    served.database.url,
    `UPDATE agreements SET decision = 'pending' WHERE id = '${parties.agreementId}'`,
  );

/** Moves the merchant's clock to this hour, in UTC, of the 10th of the next month. */
const onTheTenth = (hour: number) =>
  served.db.rows`
  UPDATE entities SET clock_offset = date_trunc('month', clock_timestamp()) + interval '1 month 9 days'
    + ${hour} * interval '1 hour' - clock_timestamp()
  WHERE id = ${parties.merchantId}`;

describe('the list of decisions', () => {
  test('shows what is allowed, and what is spent of it', async () => {
    await onTheTenth(11);
    await billed(1200.5);
    expect(await parties.bank.read(DECISIONS)).toEqual({
      decisions: [
        {
          id: parties.agreementId,
          customerId: parties.customerId,
          lookupID,
          merchant: { id: parties.merchantId, name: 'Merchant' },
          customerDecision: 'approve_recurring',
          state: 'active',
          pausedUntil: null,
          spendingLimits: { ...UNLIMITED, daily: 5000 },
          spent: SPENT_ONCE,
          termsSince: null,
          chargeableNow: 3799.5,
          blockMerchant: false,
          currency: 'NGN',
          createdAt: expect.any(String) as string,
          updatedAt: expect.any(String) as string,
        },
      ],
      total: 1,
      page: 1,
      limit: 20,
    });
  });

  test('counts a charge on the day and in the month that it was accepted in, by the merchant’s clock', async () => {
    // Eleven at night in Lagos.
    await onTheTenth(22);
    const { id } = await bill(parties, { amount: 1000 });
    await moveClock(served.db, parties.merchantId, '2 hours');
    const answer = { billingRequestId: id, bankTransactionId: 'core-1' };
    expect((await parties.bank.post('/v1/billing/bank-response', answer)).status).toBe(200);
    expect(await theOne()).toMatchObject({ spent: { daily: 0, monthly: 1000 } });
    await billed(200);
    expect(await theOne()).toMatchObject({ spent: { daily: 200, monthly: 1200 } });
    await moveClock(served.db, parties.merchantId, '1 month');
    expect(await theOne()).toMatchObject({ spent: { daily: 0, monthly: 0 } });
  });

  test('is of the bank’s own customers, by customer, merchant and decision, in pages, each once', async () => {
    const second = await served.enter('merchant');
    const wish = { lookupIDs: [lookupID], currency: 'NGN', description: 'Gold plan' };
    await second.post('/v1/billing/intent', wish);
    const own = parties.agreementId;
    const [other] = await ids('?decision=pending');

    expect(await ids('')).toEqual([other, own]);
    expect(await ids(`?customerId=${parties.customerId}`)).toEqual([other, own]);
    expect(await ids('?customerId=cus_nobody')).toEqual([]);
    expect(await ids(`?merchantId=${parties.merchantId}`)).toEqual([own]);
    expect(await ids('?merchantId=mch_nobody')).toEqual([]);
    expect(await ids('?decision=approve_recurring')).toEqual([own]);
    expect(await ids('?limit=1&page=2')).toEqual([own]);
    expect(await ids('?sortOrder=asc')).toEqual([own, other]);
    await put({ customerDecision: 'suspended' });
    expect(await ids('?sortBy=updatedAt')).toEqual([own, other]);
    const stranger = await served.enter('bank');
    expect(await stranger.list(`${DECISIONS}?customerId=${parties.customerId}`)).toEqual([]);
  });
});

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
const limit = (spendingLimits: object) => put({ customerDecision: 'approve_recurring', spendingLimits });
const pause = (body = {}) => parties.bank.post(`${DECISIONS}/${parties.agreementId}/pause`, body);

describe('the filter by state', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['active', () => Promise.resolve()],
    ['active', () => pause({ until: inDays(1) }).then(() => later('25 hours'))],
    ['active', () => limit({ validFrom: inDays(1), validUntil: inDays(9) }).then(() => later('25 hours'))],
    ['pending', undecided],
    ['suspended', () => put({ customerDecision: 'suspended' })],
    ['revoked', () => put({ customerDecision: 'deny', blockMerchant: true })],
    ['not_yet_valid', () => limit({ validFrom: inDays(1) })],
    ['paused', () => pause()],
    ['paused', () => limit({ validFrom: inDays(2) }).then(() => pause({ until: inDays(1) }))],
    ['expired', () => limit({ validUntil: inDays(1) }).then(() => later('25 hours'))],
  ])('finds an agreement that is %s, and by no other state', async (state, change) => {
    await change();
    expect(await theOne()).toMatchObject({ state });
    for (const one of AGREEMENT_STATES) {
      const found = one === state ? [parties.agreementId] : [];
      for (const order of ['', '&sortOrder=asc', '&sortBy=updatedAt'])
        expect([one, await ids(`?state=${one}${order}`)]).toEqual([one, found]);
    }
  });
});

const read = () => parties.bank.read(`${DECISIONS}/${parties.agreementId}`);

describe('one decision', () => {
  test('is shown as in the list, with its last charge and each change, by whoever made it', async () => {
    expect(await read()).toMatchObject({ lastCharge: null, upcoming: [] });
    await charge(parties);
    const { id, reference } = await bill(parties, { amount: 12.5 });
    const limits = { ...UNLIMITED, perCharge: 20 };
    await put({ customerDecision: 'approve_once', spendingLimits: { perCharge: 20 } });
    await parties.provider.post(`/v1/agreements/${parties.agreementId}/release`);

    const { lastCharge, upcoming, history, ...decision } = await read();
    expect(decision).toEqual(await theOne());
    const { createdAt: at } = await parties.merchant.read(`/v1/billing/requests/${id}`);
    expect(lastCharge).toEqual({ reference, amount: 12.5, at, status: 'declined' });
    expect(upcoming).toEqual([]);
    const moment = expect.stringMatching(/Z$/) as string;
    const changes = [
      ['customer', 'active', 'approve_recurring', { ...UNLIMITED, daily: 5000 }],
      ['customer', 'active', 'approve_once', limits],
      ['provider', 'revoked', 'deny', limits],
    ].map(([by, state, customerDecision, spendingLimits]) => ({
      at: moment,
      by,
      state,
      customerDecision,
      spendingLimits,
    }));
    expect(history).toEqual(changes);
    const stranger = await served.enter('bank');
    expect((await stranger.get(`${DECISIONS}/${parties.agreementId}`)).status).toBe(404);
  });

  test('has the next ten billings of all its schedules, up to their ends and its own', async () => {
    const startAt = new Date('2099-01-31T09:00:00Z');
    const first = await makeSchedule(served.db, parties, { startAt, maxBillings: 2 });
    const second = await makeSchedule(served.db, parties, { startAt, amount: 100n, interval: 2 });
    const shown = async () =>
      ((await read())['upcoming'] as Shown[]).map(({ scheduleId, n, amount, dueDate }) => [
        scheduleId === first ? 'first' : scheduleId === second && 'second',
        n,
        amount,
        String(dueDate).slice(0, 10),
      ]);
    const upcoming = await shown();
    expect(upcoming).toHaveLength(10);
    expect(upcoming.slice(0, 4)).toEqual([
      ['first', 0, 1500, '2099-01-31'],
      ['second', 0, 1, '2099-01-31'],
      ['first', 1, 1500, '2099-02-28'],
      ['second', 1, 1, '2099-03-31'],
    ]);
    expect(upcoming[9]).toEqual(['second', 7, 1, '2100-03-31']);

    const skip = `/v1/bank/customer/subscriptions/${first}/skip`;
    expect((await parties.bank.post(skip, { n: 0 })).status).toBe(200);
    // A skipped billing is none of the two that it may have.
    const third = ['first', 2, 1500, '2099-03-31'];
    expect((await shown()).slice(0, 3)).toEqual([upcoming[1], upcoming[2], third]);
    expect((await parties.bank.post(skip.replace('/skip', '/unskip'), { n: 0 })).status).toBe(200);

    const validUntil = '2099-03-31T09:00:00Z';
    await put({ customerDecision: 'approve_recurring', spendingLimits: { validUntil } });
    expect(await shown()).toEqual(upcoming.slice(0, 3));
    await parties.merchant.post(`/v1/billing/recurring/${first}/pause`);
    expect(await shown()).toEqual([upcoming[1]]);
  });
});

const suspendBy = (billingRequestId: string) =>
  parties.bank.post('/v1/billing/bank-response', { billingRequestId, action: 'suspended' });

describe('changing a decision', () => {
  test('answers with the decision as the list shows it, and tells the merchant alone', async () => {
    const changed = await put({ customerDecision: 'approve_once', spendingLimits: { monthly: 99.5 } });
    expect(changed).toMatchObject({
      status: 200,
      body: {
        data: {
          id: parties.agreementId,
          customerDecision: 'approve_once',
          spendingLimits: { daily: null, monthly: 99.5 },
        },
      },
    });
    expect(await listed()).toEqual([changed.body.data]);
    expect(await told()).toEqual([
      {
        id: parties.agreementId,
        sequence: 1,
        customerId: parties.customerId,
        lookupID,
        paymentID: parties.paymentId,
        customerDecision: 'approve_once',
        state: 'active',
        currency: 'NGN',
        spendingLimits: { ...UNLIMITED, monthly: 99.5 },
      },
    ]);
    expect(await served.announced(parties.bankId, 'decision.updated')).toEqual([]);
  });

  test('takes effect for the next charge', async () => {
    await put({ customerDecision: 'approve_recurring', spendingLimits: { daily: 100 } });
    expect(await told()).toMatchObject([{ spendingLimits: { daily: 100 } }]);
    expect(await billed(100.01)).toBe(403);
    expect(await billed(100)).toBe(201);
    await put({ customerDecision: 'approve_recurring', spendingLimits: {} });
    expect(await billed(100)).toBe(201);
    await put({ customerDecision: 'approve_once' });
    await billed(7);
    expect((await announcedTo(served.db, parties.bankId)).at(-1)).toMatchObject({
      type: 'billing.request',
      item: { amount: 7, approvalRequired: true },
    });
    for (const customerDecision of ['suspended', 'deny'] as const) {
      await put({ customerDecision });
      expect(await billed(1)).toBe(403);
    }
    await put({ customerDecision: 'approve_once' });
    expect(await billed(1)).toBe(201);
  });

  test('leaves the limits alone where it names none, and takes what the list has shown for no change', async () => {
    await put({ customerDecision: 'suspended' });
    const shown = await theOne();
    expect(shown).toMatchObject({ spendingLimits: { daily: 5000, monthly: null } });
    const { customerDecision, spendingLimits, blockMerchant } = shown ?? {};
    expect((await put({ customerDecision, spendingLimits, blockMerchant })).body.data).toEqual(shown);
    expect(await told()).toHaveLength(1);
  });

  test.each([
    ['suspended', 'suspended'],
    ['approve_once', 'suspended'],
    ['deny', 'cancelled'],
  ] as const)('to %s leaves its schedules %s', async (customerDecision, status) => {
    const scheduleId = await makeSchedule(served.db, parties);
    await put({ customerDecision });
    expect(await statusOf(scheduleId)).toBe(status);
    expect(await told('recurring.updated')).toMatchObject([{ scheduleId, status, previousStatus: 'active' }]);
    await put({ customerDecision: 'approve_recurring' });
    expect(await statusOf(scheduleId)).toBe(status === 'suspended' ? 'active' : 'cancelled');
  });

  test.each([
    ['deny', 'deny'],
    ['suspended', 'suspended'],
    ['approve_once', 'suspended'],
  ] as const)(
    'to %s and a charge that is answered by suspended after it leave it %s',
    async (before, after) => {
      const { id } = await bill(parties);
      await put({ customerDecision: before });
      expect((await suspendBy(id)).body.data).toMatchObject({ status: 'declined' });
      expect(await theOne()).toMatchObject({ customerDecision: after });
      const decisions = (await told()).map(({ customerDecision }) => customerDecision);
      expect(decisions).toEqual([...new Set([before, after])]);
    },
  );

  test('of a customer who has decided nothing is not made by a charge answered with suspended', async () => {
    await undecided();
    const { id } = await bill(parties, { paymentIDs: undefined, lookupIDs: [lookupID] });
    expect((await suspendBy(id)).status).toBe(200);
    expect(await theOne()).toMatchObject({ customerDecision: 'pending' });
    expect(await told()).toEqual([]);
  });

  test('to approve_recurring is 403 for a merchant that is not trusted, and nothing changes, an open first intent or not', async () => {
    await put({ customerDecision: 'suspended' });
    await distrust();
    const before = await theOne();
    const approved = await put({ customerDecision: 'approve_recurring', spendingLimits: {} });
    expect(approved).toMatchObject({ status: 403, body: { success: false } });
    expect(await theOne()).toEqual(before);
    expect((await put({ customerDecision: 'approve_once' })).status).toBe(200);

    await undecided();
    await ask();
    expect((await put({ customerDecision: 'approve_recurring' })).status).toBe(403);
    expect((await put({ customerDecision: 'approve_once' })).status).toBe(409);
  });

  test('may block the merchant: that is a denial, and no more intents or bills of any kind, until it is lifted', async () => {
    const byLookupId = { lookupIDs: [lookupID] };
    const blocked = await put({ customerDecision: 'approve_once', blockMerchant: true });
    expect(blocked.body.data).toMatchObject({ customerDecision: 'deny', blockMerchant: true });
    expect(await billed(1)).toBe(403);
    expect(await billed(1, byLookupId)).toBe(403);
    expect((await intend()).status).toBe(403);
    // A field that is left out stays.
    expect((await put({ customerDecision: 'deny' })).body.data).toMatchObject({ blockMerchant: true });
    const lifted = await put({ customerDecision: 'deny', blockMerchant: false });
    expect(lifted.body.data).toMatchObject({ customerDecision: 'deny', blockMerchant: false });
    expect(await billed(1, byLookupId)).toBe(201);
    // An approval lifts it as well.
    await put({ customerDecision: 'deny', blockMerchant: true });
    expect((await put({ customerDecision: 'approve_once' })).body.data).toMatchObject({
      blockMerchant: false,
    });
    expect(await billed(1)).toBe(201);
  });

  test.each([
    [{ customerDecision: 'deny' }, 'denied'],
    [{ customerDecision: 'suspended' }, 'suspended'],
    [{ customerDecision: 'deny', blockMerchant: true }, 'blocked'],
  ] as const)('by %j answers an open intent', async (decision, reason) => {
    const intentId = await ask();
    await put(decision);
    expect(await intent(intentId)).toMatchObject({ status: 'declined', reason });
    expect(await told('billing.intent.response')).toMatchObject([
      { intentId, status: 'declined', reason, customerAction: 'declined' },
    ]);
    // The same from the prompt on the phone is the same answer; another one comes too late.
    expect((await respond(decision)).status).toBe(200);
    expect((await respond({ customerDecision: 'approve_once' })).status).toBe(409);
  });

  test('to an approval leaves an open intent for new terms open', async () => {
    const intentId = await ask();
    await put({ customerDecision: 'approve_once' });
    expect(await intent(intentId)).toMatchObject({ status: 'pending' });
    expect((await respond({ customerDecision: 'approve_recurring' })).status).toBe(200);
  });

  test('cannot approve what an open first intent is still asking; once it has passed, it can', async () => {
    await undecided();
    const intentId = await ask();
    expect(await put({ customerDecision: 'approve_once' })).toMatchObject({
      status: 409,
      body: { data: { status: 'pending', intentId } },
    });
    await moveClock(served.db, parties.merchantId, '25 hours');
    expect((await put({ customerDecision: 'approve_once' })).status).toBe(200);
    expect(await billed(1)).toBe(201);
  });

  test.each([
    [{}, ['customerDecision']],
    [
      { customerDecision: 'pending', spendingLimits: { daily: 0, hourly: 5 }, blockMerchant: 'yes' },
      ['blockMerchant', 'customerDecision', 'spendingLimits.daily', 'spendingLimits.hourly'],
    ],
    // Naira have two decimals.
    [{ customerDecision: 'deny', spendingLimits: { monthly: 1.005 } }, ['spendingLimits.monthly']],
  ])('to %j is refused by name', async (body, paths) => {
    const before = await theOne();
    const { status, body: refused } = await put(body);
    expect([status, refused.errors?.map(({ path }) => path).sort()]).toEqual([400, paths]);
    expect(await theOne()).toEqual(before);
  });
});

const show = (id: string) => parties.merchant.read(`/v1/billing/requests/${id}`);
const DENIED = { status: 'declined', declineReason: 'denied' };
/** So that the bank has seen all that it was asked. */
async function bankReads(): Promise<void> {
  await wholeFeed(served.db);
  await parties.bank.get('/v1/events');
}
const byRequest = (items: Shown[]) =>
  items.toSorted((a, b) => (String(a['billingRequestId']) < String(b['billingRequestId']) ? -1 : 1));
const pendingOf = async (body: object) => (await put(body)).body.data?.['pending'];

/** One charge that waits for its customer, one that its bank has, and one that it has not. */
async function threeCharges() {
  await put({ customerDecision: 'approve_once' });
  const waiting = await bill(parties, { amount: 100 });
  await put({ customerDecision: 'approve_recurring' });
  const asked = await bill(parties, { amount: 200 });
  await bankReads();
  return { waiting, asked, unseen: await bill(parties, { amount: 400 }) };
}

describe('a denial', () => {
  test('declines what waits for the customer or has not reached the bank, and names what the bank must deny', async () => {
    const { waiting, asked, unseen } = await threeCharges();
    const denied = await put({ customerDecision: 'deny' });

    const pending = [{ billingRequestId: asked.id, reference: asked.reference, amount: 200 }];
    expect(denied.body.data).toMatchObject({ pending, spent: { daily: 200, count: { daily: 1 } } });
    for (const { id } of [waiting, unseen]) expect(await show(id)).toMatchObject(DENIED);
    expect(await show(asked.id)).toMatchObject({ status: 'pending' });
    const ended = { billingRequestId: waiting.id, ...DENIED };
    // The bank hears of the other charge first by its end.
    const withdrawn = { billingRequestId: unseen.id, ...DENIED, sequence: 1 };
    expect(byRequest(await told('billing.response'))).toMatchObject([ended, withdrawn]);
    const closed = await served.announced(parties.bankId, 'billing.closed');
    expect(byRequest(closed)).toMatchObject([{ ...ended, sequence: 2 }, withdrawn]);

    expect((await put({ customerDecision: 'deny' })).body.data).toEqual(denied.body.data);
    expect(await told('billing.response')).toHaveLength(2);
    expect((await approve(parties, asked.id)).status).toBe(200);
    expect(await pendingOf({ customerDecision: 'deny' })).toEqual([]);
    expect(await bookDifferences(served.db)).toEqual([]);
  });

  test('is the bank’s own of the charges that it has stopped: the same word is a 200, an approval an exception', async () => {
    const { waiting, unseen } = await threeCharges();
    await put({ customerDecision: 'deny' });
    expect((await decline(parties, waiting.id, 'denied')).status).toBe(200);
    expect((await approve(parties, unseen.id)).status).toBe(409);
    expect(await parties.bank.list(EXCEPTIONS)).toMatchObject([{ billingRequestId: unseen.id }]);
  });

  test('leaves a charge open that the bank has approved by an id of another: money may have moved', async () => {
    const paid = await charge(parties);
    const { waiting } = await threeCharges();
    expect((await approve(parties, waiting.id, `tx-${paid.id}`)).status).toBe(409);
    expect(await pendingOf({ customerDecision: 'deny' })).toMatchObject([
      { billingRequestId: waiting.id },
      { amount: 200 },
    ]);
    expect((await approve(parties, waiting.id)).status).toBe(200);
  });

  test('stops one-time charges too where it blocks the merchant, of this customer alone', async () => {
    const first = await bill(parties, { paymentIDs: undefined, lookupIDs: [lookupID] });
    const elsewhere = await served.parties();
    const other = await bill(elsewhere);
    await put({ customerDecision: 'deny' });
    expect(await show(first.id)).toMatchObject({ status: 'pending' });
    await put({ customerDecision: 'deny', blockMerchant: true });
    expect(await show(first.id)).toMatchObject(DENIED);
    const path = `/v1/billing/requests/${other.id}`;
    expect(await elsewhere.merchant.read(path)).toMatchObject({ status: 'pending' });
  });

  test('by the answer to an intent does the same, and says so again', async () => {
    const { waiting, asked } = await threeCharges();
    const intentId = await ask();
    const answer = { intentId, customerDecision: 'deny', blockMerchant: true };
    const denied = await respond(answer);
    expect(denied.body.data).toMatchObject({ pending: [{ billingRequestId: asked.id, amount: 200 }] });
    expect((await respond(answer)).body).toEqual(denied.body);
    expect(await show(waiting.id)).toMatchObject(DENIED);
  });

  test('of new terms stops nothing: the old ones stand', async () => {
    const { waiting } = await threeCharges();
    await ask();
    expect((await respond({ customerDecision: 'deny' })).body.data).toMatchObject({ pending: [] });
    expect(await show(waiting.id)).toMatchObject({ status: 'pending' });
  });
});

test.each([
  { customerDecision: 'suspended' },
  { customerDecision: 'approve_once' },
  { customerDecision: 'approve_recurring', spendingLimits: { perCharge: 1 } },
])('%j stops no charge', async (body) => {
  const charges = await threeCharges();
  expect(await pendingOf(body)).toBeUndefined();
  for (const { id } of Object.values(charges)) expect(await show(id)).toMatchObject({ status: 'pending' });
});

test('racing decisions leave one of them standing, and schedules in line with it', async () => {
  const scheduleId = await makeSchedule(served.db, parties);
  const { id } = await bill(parties);
  await Promise.all([
    put({ customerDecision: 'suspended' }),
    put({ customerDecision: 'approve_once' }),
    parties.merchant.post(`/v1/billing/recurring/${scheduleId}/pause`),
    put({ customerDecision: 'approve_recurring' }),
    parties.bank.post('/v1/billing/bank-response', { billingRequestId: id, action: 'suspended' }),
  ]);
  const { customerDecision } = (await theOne()) as Shown;
  expect(await statusOf(scheduleId)).toBe(customerDecision === 'approve_recurring' ? 'paused' : 'suspended');
});

const setSpent = (total: bigint) =>
  served.db.rows`
  UPDATE agreements SET spent_on = CURRENT_DATE + 1, spent_daily = ${total}, spent_monthly = ${total}
  WHERE id = ${parties.agreementId}`;

describe('sums of more digits than a JSON number carries', () => {
  test('are shown rounded and in full, and keep no customer from taking an approval back', async () => {
    await setSpent(1_234_567_890_123_456n);
    const [rounded, exact] = [12_345_678_901_234.6, '12345678901234.56'];
    const spent = { daily: rounded, monthly: rounded, weekly: 0, exact: { daily: exact, monthly: exact } };
    expect((await theOne())?.['spent']).toMatchObject(spent);
    expect((await put({ customerDecision: 'deny' })).body.data).toMatchObject({ customerDecision: 'deny' });
    expect(await billed(1)).toBe(403);
  });

  test('end below what Postgres can add up: the next charge is refused, and is no fault', async () => {
    await put({ customerDecision: 'approve_recurring', spendingLimits: {} });
    await setSpent(9_000_000_000_000_000_000n - 100n);

    for (const [amount, status] of [
      [1.01, 403],
      [1, 201],
      [0.01, 403],
    ] as const) {
      expect([amount, await billed(amount)]).toEqual([amount, status]);
    }
    expect((await theOne())?.['spent']).toMatchObject({ daily: 9e16, monthly: 9e16 });
  });
});
