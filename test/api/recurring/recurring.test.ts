import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { workflowIds } from '../../../src/domain/workflow/workflow-id';
import { recurringRules } from '../../../src/settings/config';
import { tokenOf } from '../../support/api';
import { runSchedule } from '../../support/schedule';
import { history, ROLES, shareApi, type Caller, type Parties } from '../../support/shared-api';
import { answerCharges, makeSchedule, moveClock } from '../../support/standing';
import { setEntityStatus } from '../../support/recorded-change';

const served = shareApi();
let parties: Parties;
beforeEach(async () => {
  parties = await served.parties();
});

const SCHEDULES = '/v1/billing/recurring';
const SUBSCRIPTIONS = '/v1/bank/customer/subscriptions';

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
const MINUTE = 60_000;

const create = (more: object = {}, by = parties.merchant) =>
  by.post(`${SCHEDULES}/create`, {
    customerId: parties.customerId,
    paymentID: parties.paymentId,
    amount: 1500.5,
    currency: 'NGN',
    frequency: 'monthly',
    ...more,
  });
const created = async (more: object = {}) => {
  const { status, body } = await create(more);
  expect(status).toBe(201);
  return body.data ?? {};
};
const run = (scheduleId: string) =>
  runSchedule(served.db, recurringRules(served.api.deps.config), scheduleId);
const answer = (declineReason?: string) => answerCharges(served.db, parties, declineReason);
const decide = async (customerDecision: string) => {
  const path = `/v1/bank/customer-decisions/${parties.agreementId}`;
  expect((await parties.bank.send('PUT', path, { customerDecision })).status).toBe(200);
};
const trust = (trustLevel: string) =>
  parties.provider.send('PATCH', '/v1/provider/merchant/trust', {
    merchantId: parties.merchantId,
    trustLevel,
  });

describe('making a schedule', () => {
  test('answers with the schedule, and leaves its workflow to be started', async () => {
    const startDate = inMs(3_600_000);
    const made = await created({
      startDate,
      endDate: '2040-01-01T00:00:00+01:00',
      maxBillings: 12,
      interval: 2,
      description: ' Gold plan ',
      metadata: { plan: 'gold', seats: 3 },
    });
    expect(made).toMatchObject({
      scheduleId: expect.stringMatching(/^sch_[0-9a-z]{26}$/) as string,
      customerId: parties.customerId,
      amount: 1500.5,
      currency: 'NGN',
      frequency: 'monthly',
      interval: 2,
      startDate,
      endDate: '2039-12-31T23:00:00.000Z',
      maxBillings: 12,
      description: 'Gold plan',
      metadata: { plan: 'gold', seats: 3 },
      status: 'active',
      nextBillingDate: startDate,
      lastDecline: null,
    });
    const started = await served.db.row`
      SELECT start->'attributes' AS attributes FROM outbox
      WHERE workflow_id = ${workflowIds.recurring(String(made['scheduleId']))}`;
    const { merchantId, bankId } = parties;
    expect(started).toEqual({
      attributes: { status: 'active', merchantId, bankId, nextBillingDate: startDate },
    });
  });

  test('starts it now, once per unit, where nothing else is said', async () => {
    const { startDate, ...made } = await created();
    const none = { endDate: null, maxBillings: null, description: null, metadata: {} };
    expect(made).toMatchObject({ interval: 1, ...none });
    expect(Math.abs(Date.now() - Date.parse(String(startDate)))).toBeLessThan(MINUTE);
  });

  test('names every problem of a body at once', async () => {
    const { status, body } = await create({
      amount: 0.001,
      frequency: 'yearly',
      interval: 4,
      maxBillings: 10_001,
      startDate: '2031-01-01T00:00:00Z',
      endDate: '2031-01-01T00:00:00Z',
      colour: 'red',
    });
    expect(status).toBe(400);
    const paths = body.errors?.map(({ path }) => path).sort();
    expect(paths).toEqual(['amount', 'colour', 'endDate', 'interval', 'maxBillings']);
  });

  test.each([
    ['daily', 1095],
    ['weekly', 156],
    ['monthly', 36],
    ['yearly', 3],
  ])('takes a %s interval up to three years', async (frequency, most) => {
    expect((await create({ frequency, interval: most })).status).toBe(201);
    expect(await create({ frequency, interval: most + 1 })).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'interval' }] },
    });
  });

  test.each([
    ['a start six minutes back', { startDate: -6 }, 'startDate'],
    ['an end before the start', { startDate: 2, endDate: 1 }, 'endDate'],
    ['an end that has passed, when it starts now', { endDate: -1 }, 'endDate'],
    [
      'a start too far back, before it looks for the agreement',
      { customerId: 'x', startDate: -6 },
      'startDate',
    ],
  ])('refuses %s', async (_, terms, path) => {
    const dated = Object.entries(terms).map(([name, value]) => [
      name,
      typeof value === 'number' ? inMs(value * MINUTE) : value,
    ]);
    expect(await create(Object.fromEntries(dated) as object)).toMatchObject({
      status: 400,
      body: { errors: [{ path }] },
    });
  });

  test('takes a start of four minutes ago, and judges by the test clock', async () => {
    await created({ startDate: inMs(-4 * MINUTE) });
    await moveClock(served.db, parties.merchantId, '1 day');
    expect((await create({ startDate: inMs(MINUTE) })).status).toBe(400);
    await created({ startDate: inMs(86_400_000 + MINUTE) });
  });

  test('is 404 for a customer who is not the agreement’s own', async () => {
    const other = await served.parties();
    expect((await create({ customerId: other.customerId })).status).toBe(404);
    expect((await create({ customerId: other.customerId, paymentID: other.paymentId })).status).toBe(404);
  });

  test('is 403 under every decision but the standing approval', async () => {
    for (const decision of ['approve_once', 'suspended', 'deny']) {
      await decide(decision);
      expect([decision, (await create()).status]).toEqual([decision, 403]);
    }
  });

  test('is the provider’s, too, but not for a merchant that the operator has disabled', async () => {
    expect((await create({}, parties.provider)).status).toBe(201);
    await setEntityStatus(served.db, parties.merchantId, 'disabled');
    expect((await create({}, parties.provider)).status).toBe(403);
  });

  test('is 403 for a merchant that lost its trust, whose schedules are suspended in the same moment', async () => {
    const { scheduleId } = await created();
    const status = async () => (await parties.merchant.read(`${SCHEDULES}/${String(scheduleId)}`))['status'];
    await trust('untrusted');
    expect((await create()).status).toBe(403);
    expect(await status()).toBe('suspended');
    await trust('trusted');
    expect(await status()).toBe('active');
  });
});

describe('looking at schedules', () => {
  test('shows one with its next billing to its merchant and its provider', async () => {
    const made = await created();
    const billings = [{ n: 0, dueDate: made['startDate'], status: 'scheduled', attempts: [] }];
    for (const caller of [parties.merchant, parties.provider]) {
      expect(await caller.read(`${SCHEDULES}/${String(made['scheduleId'])}`)).toEqual({ ...made, billings });
    }
  });

  test('lists a merchant’s own, page by page, each once', async () => {
    for (const amount of [1, 2, 3]) await created({ amount });
    const page = (n: number) =>
      parties.merchant.read(`${SCHEDULES}?limit=2&page=${n}&sortBy=amount&sortOrder=asc`);
    expect(await page(1)).toMatchObject({ total: 3, schedules: [{ amount: 1 }, { amount: 2 }] });
    expect(await page(2)).toMatchObject({ total: 3, schedules: [{ amount: 3 }] });
    expect(await parties.merchant.list(`${SCHEDULES}?status=cancelled`)).toEqual([]);
    expect(await (await served.parties()).merchant.list(SCHEDULES)).toEqual([]);
  });

  test('says why one that is past due is so, to its merchant and to the bank', async () => {
    const scheduleId = String((await created())['scheduleId']);
    await run(scheduleId);
    await answer('insufficient_funds');
    await run(scheduleId);
    await created();
    const [attempt] = await history(parties.merchant);
    const at = expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/) as string;
    const lastDecline = { reference: attempt?.['reference'], reason: 'insufficient_funds', at };
    for (const [caller, path] of [
      [parties.merchant, SCHEDULES],
      [parties.provider, SCHEDULES],
      [parties.bank, SUBSCRIPTIONS],
    ] as const) {
      expect(await caller.list(`${path}?status=past_due`)).toMatchObject([
        { scheduleId, status: 'past_due', lastDecline },
      ]);
    }
  });
});

const find = async (caller: Caller, body: object, query = '') => {
  const { status, body: answered } = await caller.post(`${SCHEDULES}/search${query}`, body);
  if (status !== 200) throw new Error(JSON.stringify(answered));
  const { schedules } = answered.data as unknown as { schedules: { description: string }[] };
  return schedules.map(({ description }) => description);
};

describe('a search for schedules', () => {
  test('finds by words, ids, names and metadata, for each party its own', async () => {
    const { scheduleId } = await created({ description: 'Gold Plan_50%', metadata: { order: '#4711' } });
    await created({ description: 'Silver' });
    const gold = ['Gold Plan_50%'];
    const all = ['Silver', ...gold];
    const { customerId } = parties;
    for (const role of ROLES) {
      const by = (search: string) => find(parties[role], { search });
      expect(await find(parties[role], {})).toEqual(all);
      expect(await find(parties[role], { customerId, status: 'active' }, '?page=2&limit=1')).toEqual(gold);
      expect(await find(parties[role], { status: 'paused' })).toEqual([]);
      expect(await by('plan_')).toEqual(gold);
      expect(await by('p__n')).toEqual([]);
      expect(await by(String(scheduleId))).toEqual(gold);
      expect(await by(customerId.slice(-6))).toEqual(all);
      expect(await by(customerId.slice(-5))).toEqual([]);
      // A customer's name is for the bank, an order's number for the merchant.
      expect(await by('obi ada')).toEqual(role === 'bank' ? all : []);
      expect(await by('#4711')).toEqual(role === 'bank' ? [] : gold);
      expect(await by('merch')).toEqual(role === 'merchant' ? [] : all);
      expect(await find((await served.parties())[role], {})).toEqual([]);
    }
  });

  test('saves all that it finds as CSV: amounts in full, times in the network’s zone', async () => {
    const startDate = '2040-01-02T23:30:00.000Z';
    await created({ description: 'Gold', metadata: { seats: 3 }, startDate });
    await created({ description: 'Silver', startDate });
    for (const role of ROLES) {
      const file = await parties[role].post(`${SCHEDULES}/search`, { search: 'gold', format: 'csv' });
      const [header = '', line = '', ...rest] = (file.body as unknown as string).split('\r\n');
      const cells = Object.fromEntries(header.split(',').map((name, i) => [name, line.split(',')[i]]));
      expect(cells).toMatchObject({
        status: 'active',
        amount: '1500.50',
        nextBillingDate: '"2040-01-03 00:30:00"',
        customerId: parties.customerId,
        ...(role === 'bank' ? { customerName: '"Ada Obi"' } : { metadata: '"{""seats"":3}"' }),
      });
      expect(cells).not.toHaveProperty(role === 'bank' ? 'metadata' : 'customerName');
      expect(rest).toEqual(['']);
    }
  });
});

describe('a schedule', () => {
  let scheduleId: string;
  beforeEach(async () => {
    scheduleId = await makeSchedule(served.db, parties);
  });
  const act = (action: 'pause' | 'resume' | 'cancel', by = parties.merchant) =>
    by.post(`${SCHEDULES}/${scheduleId}/${action}`);
  const change = (body: unknown, by = parties.merchant) =>
    by.send('PATCH', `${SCHEDULES}/${scheduleId}`, body);
  const shown = async () => {
    const { billings, ...schedule } = await parties.merchant.read(`${SCHEDULES}/${scheduleId}`);
    expect(billings).toBeDefined();
    return schedule;
  };

  test.each(['merchant', 'provider'] as const)(
    'is paused, resumed and cancelled by its %s, who sees each state, and then changed no more',
    async (role) => {
      for (const [action, status] of [
        ['pause', 'paused'],
        ['pause', 'paused'],
        ['resume', 'active'],
        ['resume', 'active'],
        ['cancel', 'cancelled'],
        ['cancel', 'cancelled'],
      ] as const) {
        const done = await act(action, parties[role]);
        expect(done).toMatchObject({ status: 200, body: { data: { status } } });
        expect(done.body.data).toEqual(await shown());
      }
      const refused = { status: 409, body: { data: { status: 'cancelled' } } };
      expect(await act('pause')).toMatchObject(refused);
      expect(await act('resume')).toMatchObject(refused);
      expect(await change({ amount: 5 })).toMatchObject(refused);
      // A wrong body is refused first, as everywhere.
      expect((await change({ amount: 10.123 })).status).toBe(400);
    },
  );

  test('takes a body that was announced and is empty for none', async () => {
    const pause = request(`${served.api.url}${SCHEDULES}/${scheduleId}/pause`, {
      method: 'POST',
      // In chunks, of which there are none: how a proxy hands on what may have a body.
      headers: {
        authorization: `Bearer ${await tokenOf(served.api, parties.merchant)}`,
        'transfer-encoding': 'chunked',
      },
    }).end();
    const [answered] = (await once(pause, 'response')) as [IncomingMessage];
    answered.resume();
    expect(answered.statusCode).toBe(200);
    expect(await shown()).toMatchObject({ status: 'paused' });
  });

  test.each(['merchant', 'bank'] as const)('tells of no retry once the %s has cancelled it', async (role) => {
    await run(scheduleId);
    await answer('insufficient_funds');
    await run(scheduleId);
    expect(await shown()).toMatchObject({ status: 'past_due', retryAt: expect.any(String) as string });
    const path = role === 'merchant' ? SCHEDULES : SUBSCRIPTIONS;
    const cancelled = await parties[role].post(`${path}/${scheduleId}/cancel`);
    const asItIs = { scheduleId, status: 'cancelled', nextBillingDate: null, retryAt: null };
    expect(cancelled).toMatchObject({ status: 200, body: { data: asItIs } });
    expect('metadata' in (cancelled.body.data ?? {})).toBe(role === 'merchant');
    expect(await shown()).toMatchObject(asItIs);
    expect(await parties.bank.list(`${SUBSCRIPTIONS}?status=cancelled`)).toMatchObject([asItIs]);
  });

  test('tells of no retry while it is paused, and of the same once it is resumed', async () => {
    await run(scheduleId);
    await answer('insufficient_funds');
    await run(scheduleId);
    const { retryAt } = await shown();
    await parties.merchant.post(`${SCHEDULES}/${scheduleId}/pause`);
    expect(await shown()).toMatchObject({ status: 'paused', retryAt: null });
    await parties.merchant.post(`${SCHEDULES}/${scheduleId}/resume`);
    expect(await shown()).toMatchObject({ status: 'past_due', retryAt });
  });

  test('is changed in each field that may change, and cleared of what is null', async () => {
    const terms = { maxBillings: 12, description: 'Platinum', metadata: { seats: 4 } };
    const end = '2040-01-01T00:00:00+01:00';
    const changed = await change({ amount: 2000.25, endDate: end, ...terms }, parties.provider);
    const endDate = '2039-12-31T23:00:00.000Z';
    expect(changed).toMatchObject({ status: 200, body: { data: { amount: 2000.25, endDate, ...terms } } });
    expect(changed.body.data).toEqual(await shown());
    const none = { endDate: null, maxBillings: null, description: null, metadata: {} };
    expect((await change(none)).body.data).toMatchObject({ amount: 2000.25, ...none });
  });

  test('is completed where a change leaves it nothing to charge', async () => {
    await run(scheduleId);
    await answer();
    await run(scheduleId);
    const message = 'The schedule is completed';
    expect(await change({ maxBillings: 1 })).toMatchObject({
      status: 200,
      body: { message, data: { status: 'completed', nextBillingDate: null } },
    });
    const cancelled = await parties.bank.post(`${SUBSCRIPTIONS}/${scheduleId}/cancel`);
    for (const late of [await change({ maxBillings: 5 }), await act('cancel'), cancelled]) {
      expect(late).toMatchObject({ status: 409, body: { code: 'schedule_ended' } });
    }
  });

  test.each([
    ['nothing', {}, ['body']],
    ['what never changes', { frequency: 'daily', currency: 'NGN' }, ['frequency', 'currency', 'body']],
    ['more decimals than naira have', { amount: 1.005 }, ['amount']],
    ['too many billings', { maxBillings: 10_001 }, ['maxBillings']],
    ['an end in the past', { endDate: '2020-01-01T00:00:00Z' }, ['endDate']],
    ['two wrong fields', { amount: -1, maxBillings: 0 }, ['amount', 'maxBillings']],
  ])('is not changed to %s', async (_, body, paths) => {
    const before = await shown();
    const { status, body: refused } = await change(body);
    expect([status, refused.errors?.map(({ path }) => path)]).toEqual([400, paths]);
    expect(await shown()).toEqual(before);
  });

  test('is listed to the bank with whose it is and how it stands, without the merchant’s notes', async () => {
    expect(await parties.bank.read(SUBSCRIPTIONS)).toEqual({
      subscriptions: [
        {
          scheduleId,
          merchant: { id: parties.merchantId, name: 'Merchant' },
          customerId: parties.customerId,
          customerName: 'Ada Obi',
          lookupID: expect.stringMatching(/^[a-z]+-[a-z]+-[a-z]+-[a-z]+-\d\d$/) as string,
          amount: 1500,
          currency: 'NGN',
          frequency: 'monthly',
          interval: 1,
          startDate: expect.any(String) as string,
          endDate: null,
          maxBillings: null,
          description: null,
          status: 'active',
          nextBillingDate: expect.any(String) as string,
          retryAt: null,
          suspendedReason: null,
          lastDecline: null,
          billingsCompleted: 0,
          createdAt: expect.any(String) as string,
          updatedAt: expect.any(String) as string,
        },
      ],
      total: 1,
      page: 1,
      limit: 20,
    });
    const stranger = (await served.parties()).bank;
    expect(await stranger.list(SUBSCRIPTIONS)).toEqual([]);
    const [one] = await parties.bank.list(SUBSCRIPTIONS);
    const whole = await parties.bank.read(`${SUBSCRIPTIONS}/${scheduleId}`);
    expect(whole).toEqual({ ...one, billings: [expect.objectContaining({ n: 0, status: 'scheduled' })] });
    expect((await stranger.get(`${SUBSCRIPTIONS}/${scheduleId}`)).status).toBe(404);
  });

  test('has one billing skipped by its customer, who may have it charged after all', async () => {
    await run(scheduleId);
    await answer();
    await run(scheduleId);
    const skip = (n: number, word = 'skip', by = parties.bank) =>
      by.post(`${SUBSCRIPTIONS}/${scheduleId}/${word}`, { n });
    const billings = async () => {
      const { billings: all } = await parties.bank.read(`${SUBSCRIPTIONS}/${scheduleId}`);
      return (all as Record<string, unknown>[]).map(({ n, status, reason }) => [n, status, reason]);
    };
    expect((await skip(2)).status).toBe(200);
    const inTurn = [
      [0, 'successful', undefined],
      [1, 'scheduled', undefined],
      [2, 'skipped', 'customer_skipped'],
    ];
    expect(await billings()).toEqual(inTurn);
    expect((await skip(1)).status).toBe(200);
    expect(await billings()).toEqual([inTurn[0], [1, 'skipped', 'customer_skipped'], inTurn[2]]);
    expect((await skip(1, 'unskip')).status).toBe(200);
    expect(await billings()).toEqual(inTurn);
    expect(await skip(0)).toMatchObject({
      status: 409,
      body: { code: 'too_late_to_skip', data: { status: 'successful' } },
    });
    expect((await skip(1, 'skip', parties.merchant)).status).toBe(403);
    expect((await skip(1, 'skip', (await served.parties()).bank)).status).toBe(404);
    expect((await skip(1_002)).status).toBe(404);
    await act('cancel');
    expect((await skip(1)).status).toBe(404);
    expect(await billings()).toEqual([inTurn[0]]);
  });

  test('is in the bank’s list by customer, status and amount, each once', async () => {
    for (const amount of [30_000n, 10_000n, 20_000n]) await makeSchedule(served.db, parties, { amount });
    await act('cancel');
    const amounts = async (query: string) =>
      (await parties.bank.list(SUBSCRIPTIONS + query)).map(({ amount }) => amount);
    const { customerId } = parties;
    expect(await amounts('?status=cancelled')).toEqual([1500]);
    expect(await amounts('?status=failed')).toEqual([]);
    expect(await amounts(`?customerId=${customerId}&status=active`)).toEqual([200, 100, 300]);
    expect(await amounts('?customerId=cus_nobody')).toEqual([]);
    expect(await amounts('')).toEqual([200, 100, 300, 1500]);
    expect(await amounts('?limit=3&sortBy=amount&sortOrder=asc')).toEqual([100, 200, 300]);
    expect(await amounts('?limit=3&page=2&sortBy=amount&sortOrder=asc')).toEqual([1500]);
  });
});
