import type { SpendingLimits } from '../../../src/domain/spending-limit';
import { UNLIMITED } from '../../support/limits';
import { charge, decline, itemsOf, shareApi, type Item, type Parties } from '../../support/shared-api';
import { lookupIdOf, makeSchedule, moveClock, toNoon } from '../../support/standing';

/** What a customer allows: a merchant asks, the customer tightens, and each bill is judged. */

const served = shareApi({ ACCEPTED_CURRENCIES: 'NGN,USD' });
let parties: Parties;
let lookupID: string;
async function allow(limits: Partial<SpendingLimits> = {}): Promise<void> {
  parties = await served.parties({ limits });
  lookupID = await lookupIdOf(served.db, parties.customerId);
}
beforeEach(() => allow());

const intend = (spendingLimits?: object, more: object = {}) =>
  parties.merchant.post('/v1/billing/intent', {
    lookupIDs: [lookupID],
    currency: 'NGN',
    description: 'Gold plan',
    ...(spendingLimits && { intentSettings: { spendingLimits } }),
    ...more,
  });
/** @returns the id of the intent */
async function ask(...asked: Parameters<typeof intend>): Promise<string> {
  const answered = await intend(...asked);
  expect(answered.status).toBe(200);
  return String(itemsOf(answered)[0]?.intentId);
}
const respond = (more: object = {}) =>
  parties.bank.post('/v1/billing/intent-response', {
    customerId: parties.customerId,
    entityId: parties.merchantId,
    lookupID,
    customerDecision: 'approve_recurring',
    ...more,
  });
const DECISIONS = '/v1/bank/customer-decisions';
const put = (spendingLimits?: object, customerDecision = 'approve_recurring') =>
  parties.bank.send('PUT', `${DECISIONS}/${parties.agreementId}`, {
    customerDecision,
    ...(spendingLimits && { spendingLimits }),
  });
const agreement = () => parties.merchant.read(`/v1/agreements/${parties.agreementId}`);
const billing = (amount: number, more: object = {}) =>
  parties.merchant.post('/v1/customer/bill', {
    paymentIDs: [parties.paymentId],
    amount,
    currency: 'NGN',
    description: 'Shoes',
    ...more,
  });

/** @returns what refuses a bill: the limit, or the code; `accepted` where nothing does */
async function refusal(amount: number, more: object = {}): Promise<string> {
  const { body } = await billing(amount, more);
  const [item] = (Array.isArray(body) ? body : body.data) as unknown as (Item & {
    code?: string;
    limit?: string;
  })[];
  return item?.limit ?? item?.code ?? 'accepted';
}

const clock = async (): Promise<Date> =>
  (await served.db.oneRow<{ now: Date }>`SELECT business_now(${parties.merchantId}) AS now`).now;
const inDays = async (days: number) => new Date((await clock()).getTime() + days * 86_400_000);

const shownLimits = async () => (await agreement())['spendingLimits'] as object;
const chargeable = async () => (await agreement())['chargeableNow'];
const momentIn = async (days: number | null) => (days === null ? null : (await inDays(days)).toISOString());
const create = (more: object) =>
  parties.merchant.post('/v1/billing/recurring/create', {
    customerId: parties.customerId,
    paymentID: parties.paymentId,
    amount: 10,
    currency: 'NGN',
    frequency: 'monthly',
    ...more,
  });

const EACH = { daily: 10, weekly: 20, monthly: 30, yearly: 40, total: 50 };

describe('what a merchant asks for', () => {
  test('is shown to the bank and in the intent, beside the limits that hold', async () => {
    await allow({ daily: 10_000n, 'count.weekly': 2n });
    const validUntil = (await inDays(30)).toISOString();
    const id = await ask({ perCharge: 2500, monthly: 10_000, count: { weekly: 2 }, validUntil });
    const asked = {
      ...UNLIMITED,
      perCharge: 2500,
      monthly: 10_000,
      count: { ...UNLIMITED.count, weekly: 2 },
      validUntil,
    };
    expect(await parties.merchant.read(`/v1/billing/intents/${id}`)).toMatchObject({ spendingLimits: asked });
    expect(await served.announced(parties.bankId, 'billing.intent')).toMatchObject([
      {
        spendingLimits: asked,
        termsInWords: expect.stringMatching(
          /^At most NGN 2,500 a charge and NGN 10,000 a month, at most 2 charges a week, until \d\d:\d\d on /,
        ) as string,
        currentLimits: { ...UNLIMITED, daily: 100, count: { ...UNLIMITED.count, weekly: 2 } },
      },
    ]);
  });

  test('ends the intent with the permission that it is about', async () => {
    const validUntil = (await inDays(0.5)).toISOString();
    const id = await ask({ validUntil });
    expect(await parties.merchant.read(`/v1/billing/intents/${id}`)).toMatchObject({ expiresAt: validUntil });
    await moveClock(served.db, parties.merchantId, '12 hours');
    expect(await respond()).toMatchObject({ status: 409, body: { code: 'late_answer' } });
  });

  test.each([
    ['is over', -1, null],
    ['ends before it begins', 2, 3],
    ['ends as it begins', 2, 2],
  ])('gets 400 where the span %s', async (_, until, from) => {
    const validUntil = await momentIn(until);
    const spendingLimits = { validUntil, validFrom: until === from ? validUntil : await momentIn(from) };
    const faulty = {
      status: 400,
      body: { errors: [{ path: expect.stringMatching(/validUntil$/) as string }] },
    };
    expect(await intend(spendingLimits)).toMatchObject(faulty);
    expect(await put(spendingLimits)).toMatchObject(faulty);
    await ask();
    expect(await respond({ spendingLimits })).toMatchObject(faulty);
  });

  test('gets 400 for what no limit can be, by name', async () => {
    const { status, body } = await intend({
      perCharge: 0.001,
      weekly: -1,
      count: { daily: 0, total: 10_001, hourly: 1 },
      validFrom: 'soon',
    });
    expect([status, body.errors?.map(({ path }) => path).sort()]).toEqual([
      400,
      [
        'intentSettings.spendingLimits.count.daily',
        'intentSettings.spendingLimits.count.hourly',
        'intentSettings.spendingLimits.count.total',
        'intentSettings.spendingLimits.validFrom',
        'intentSettings.spendingLimits.weekly',
      ],
    ]);
    expect(await intend({ perCharge: 0.001 })).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'intentSettings.spendingLimits.perCharge' }] },
    });
  });
});

describe('the answer to an intent', () => {
  test('tightens each member, shows the result, and may be sent again', async () => {
    const [sooner, later] = [await inDays(10), await inDays(20)];
    await ask({ ...EACH, perCharge: 5, count: EACH, validFrom: sooner, validUntil: later });
    const answer = {
      spendingLimits: {
        perCharge: 4,
        daily: 11,
        weekly: null,
        monthly: 29,
        count: { weekly: 21, yearly: 1 },
        validFrom: later.toISOString().replace('Z', '+00:00'),
        validUntil: (await inDays(30)).toISOString(),
      },
    };
    // It would begin as it ends.
    expect((await respond(answer)).status).toBe(400);
    answer.spendingLimits.validFrom = (await inDays(5)).toISOString();
    const limits = {
      ...EACH,
      perCharge: 4,
      monthly: 29,
      count: { ...EACH, yearly: 1 },
      validFrom: sooner.toISOString(),
      validUntil: later.toISOString(),
    };
    for (const time of ['first', 'second']) {
      const { status, body } = await respond(answer);
      expect([time, status, body.data]).toMatchObject([time, 200, { spendingLimits: limits }]);
    }
    expect(await respond({ spendingLimits: { perCharge: 3 } })).toMatchObject({
      status: 409,
      body: { code: 'already_answered' },
    });
    expect(await agreement()).toMatchObject({
      spendingLimits: limits,
      termsSince: expect.any(String) as string,
    });
  });

  test('without an intentId is held to what the superseded ones asked, too; with it to its own', async () => {
    const first = await ask({ daily: 10, count: { total: 3 } });
    await ask({ weekly: 20 });
    const last = await ask({ daily: 30 });
    expect(await respond({ intentId: first })).toMatchObject({ status: 409, body: { code: 'late_answer' } });
    expect(await respond({ intentId: 'int_01kafz3q9sew7r5v4t2h8m6xcz' })).toMatchObject({ status: 404 });
    const tightest = { ...UNLIMITED, daily: 10, weekly: 20, count: { ...UNLIMITED.count, total: 3 } };
    expect((await respond()).body.data).toMatchObject({ intentId: last, spendingLimits: tightest });

    await ask({ daily: 10 });
    const alone = await ask({ daily: 30 });
    const answered = await respond({ intentId: alone });
    expect(answered.body.data).toMatchObject({ spendingLimits: { ...UNLIMITED, daily: 30 } });
    expect((await respond({ intentId: alone })).status).toBe(200);
  });

  test('takes over no amounts of a superseded intent in another currency', async () => {
    await ask({ daily: 10, count: { total: 3 } }, { currency: 'USD' });
    await ask();
    const { body } = await respond();
    const held = { ...UNLIMITED, count: { ...UNLIMITED.count, total: 3 } };
    expect(body.data).toMatchObject({ spendingLimits: held });
  });
});

describe('a change by the customer', () => {
  test('ends a daily or monthly limit that is left out, and any other only by null', async () => {
    const all = { ...EACH, perCharge: 5, count: EACH };
    await put(all);
    expect(await shownLimits()).toMatchObject(all);
    await put();
    expect(await shownLimits()).toMatchObject(all);
    await put({ weekly: 21, count: { daily: null } });
    const count = { ...EACH, daily: null };
    expect(await shownLimits()).toMatchObject({ ...all, daily: null, monthly: null, weekly: 21, count });
    await put({ perCharge: null, total: null, count: null });
    expect(await shownLimits()).toMatchObject({
      perCharge: null,
      total: null,
      yearly: 40,
      count: UNLIMITED.count,
    });
  });

  test('may send back what was read, also once the permission is over', async () => {
    await put({ validUntil: await inDays(1) });
    await moveClock(served.db, parties.merchantId, '2 days');
    const read = await shownLimits();
    expect((await put(read, 'deny')).status).toBe(200);
    expect((await put({ ...read, validUntil: await inDays(-1) })).status).toBe(400);
  });
});

describe('a bill', () => {
  test('is refused by the first that fails: decision, currency, validity, then the limits in their order', async () => {
    await toNoon(served.db, parties.merchantId);
    const span = { validFrom: await inDays(1), validUntil: await inDays(2) };
    await put({ ...span, perCharge: 5, count: { daily: 1 } }, 'suspended');
    expect(await refusal(6, { currency: 'USD' })).toBe('not_approved');
    await put({ ...span });
    expect(await refusal(6, { currency: 'USD' })).toBe('currency_mismatch');
    expect(await refusal(6)).toBe('consent_not_yet_valid');
    await moveClock(served.db, parties.merchantId, '1 day');
    expect(await refusal(6)).toBe('perCharge');
    expect(await refusal(5)).toBe('accepted');
    expect(await refusal(6)).toBe('perCharge');
    expect(await refusal(5)).toBe('count.daily');
    await put({ weekly: 9 });
    expect(await refusal(5)).toBe('weekly');
    expect(await refusal(4)).toBe('count.daily');
    await moveClock(served.db, parties.merchantId, '1 day');
    expect(await refusal(6)).toBe('consent_expired');
  });

  test('names the limit in its item, and whether none was accepted', async () => {
    await put({ perCharge: 5 });
    const refused = { code: 'limit_reached', limit: 'perCharge', phrase: parties.paymentId };
    expect(await billing(6)).toMatchObject({
      status: 403,
      body: { code: 'limit_reached', data: [{ statusCode: 403, ...refused }] },
    });
  });

  test('is accepted up to `chargeableNow`, and no further', async () => {
    await toNoon(served.db, parties.merchantId);
    expect(await chargeable()).toBeNull();
    await put({ perCharge: 60, monthly: 100, count: { weekly: 3 } });
    for (const [most, next] of [
      [60, 60],
      [40, 30],
      [10, 10],
    ] as const) {
      expect(await chargeable()).toBe(most);
      expect(await refusal(most + 0.01)).not.toBe('accepted');
      expect(await refusal(next)).toBe('accepted');
    }
    expect(await chargeable()).toBe(0);
    await put({ monthly: 1, count: null });
    expect(await chargeable()).toBe(0);
    await put({ monthly: null }, 'suspended');
    expect(await chargeable()).toBe(0);
  });

  test('of earlier terms counts no more in the total of later ones, whenever it ends', async () => {
    await toNoon(served.db, parties.merchantId);
    const terms = { daily: 100, total: 100, count: { total: 2 } };
    await ask(terms);
    await respond();
    const billed = await billing(40);
    const spent = async () => {
      const { spent: sums } = await agreement();
      const { daily, total, count } = sums as Record<string, unknown>;
      return { daily, total, times: (count as Record<string, unknown>)['total'] };
    };
    expect(await spent()).toEqual({ daily: 40, total: 40, times: 1 });
    const { termsSince } = await agreement();
    // The customer's own change does not begin them anew.
    await put({ ...terms, total: 90 });
    expect(await spent()).toEqual({ daily: 40, total: 40, times: 1 });
    expect(await agreement()).toMatchObject({ termsSince });
    await ask(terms);
    await respond();
    expect((await agreement())['termsSince']).not.toBe(termsSince);
    expect(await spent()).toEqual({ daily: 40, total: 0, times: 0 });
    await decline(parties, String(itemsOf(billed)[0]?.billingRequestId));
    expect(await spent()).toEqual({ daily: 0, total: 0, times: 0 });
  });

  test('by lookupID is outside all limits', async () => {
    await put({ perCharge: 5, count: { daily: 1 } });
    expect((await billing(6, { paymentIDs: undefined, lookupIDs: [lookupID] })).status).toBe(201);
    expect(await agreement()).toMatchObject({ spent: { daily: 0, count: { daily: 0 } } });
  });

  test('counts on in a currency to which the agreement returns', async () => {
    await toNoon(served.db, parties.merchantId);
    await charge(parties, { amount: 100 });
    for (const [currency, yearly] of [
      ['USD', 0],
      ['NGN', 100],
    ] as const) {
      await ask({ yearly: 150 }, { currency });
      await respond();
      expect(await agreement()).toMatchObject({
        spent: { yearly, total: 0, count: { yearly: yearly / 100 } },
      });
    }
    expect(await refusal(51)).toBe('yearly');
  });
});

describe('a schedule', () => {
  test('above `perCharge`, or from the end of the permission on, is refused at once, and so is its change', async () => {
    const validUntil = await inDays(10);
    await put({ perCharge: 10, validUntil });
    const limited = { status: 403, body: { code: 'limit_reached', data: { limit: 'perCharge' } } };
    expect(await create({ amount: 10.01 })).toMatchObject(limited);
    expect(await create({ startDate: validUntil })).toMatchObject({
      status: 403,
      body: { code: 'consent_expired' },
    });
    const made = await create({ startDate: new Date(validUntil.getTime() - 1) });
    expect(made.status).toBe(201);
    const path = `/v1/billing/recurring/${String(made.body.data?.['scheduleId'])}`;
    expect(await parties.merchant.send('PATCH', path, { amount: 10.01 })).toMatchObject(limited);
    expect((await parties.merchant.send('PATCH', path, { amount: 9 })).status).toBe(200);
    await put({ perCharge: 5 });
    expect((await parties.merchant.send('PATCH', path, { description: 'Silver plan' })).status).toBe(200);
  });

  test('waits for the permission to begin', async () => {
    await put({ validFrom: await inDays(10) });
    expect((await create({})).status).toBe(201);
    await expect(makeSchedule(served.db, parties)).resolves.toMatch(/^sch_/);
  });
});
