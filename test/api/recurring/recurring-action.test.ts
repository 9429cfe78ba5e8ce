import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { lockAgreement } from '../../../src/database/agreement/agreement';
import { applyDecision } from '../../../src/database/decision/apply-decision';
import { recurringRules } from '../../../src/settings/config';
import type { Database } from '../../../src/database/pool/connection';
import { enter, send, serveApi, tokensOf, type Answered, type ServedApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { runSchedule } from '../../support/schedule';
import { answerCharges, makeSchedule, standingApproval, type Standing } from '../../support/standing';

type Role = 'bank' | 'provider' | 'merchant';

let database: TestDatabase;
let db: Database;
let api: ServedApi;
let standing: Standing;
let tokens: Record<Role, string>;
let scheduleId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
  api = await serveApi(db);
});
afterAll(async () => {
  await api.close();
  await database.drop();
});

/** Every test has parties and a schedule of its own. */
beforeEach(async () => {
  standing = await standingApproval(db, api.deps.ring);
  tokens = await tokensOf(api, standing);
  scheduleId = await makeSchedule(db, api.deps.ring, standing);
});

const SCHEDULES = '/v1/billing/recurring';
const SUBSCRIPTIONS = '/v1/bank/customer/subscriptions';

function as(role: Role, method: string, path: string, body?: unknown): Promise<Answered> {
  return send(api.url, method, path, body, { authorization: `Bearer ${tokens[role]}` });
}

function act(action: 'pause' | 'resume' | 'cancel', role: Role = 'merchant'): Promise<Answered> {
  return as(role, 'POST', `${SCHEDULES}/${scheduleId}/${action}`);
}

function change(body: unknown, role: Role = 'merchant'): Promise<Answered> {
  return as(role, 'PATCH', `${SCHEDULES}/${scheduleId}`, body);
}

async function shown(): Promise<Record<string, unknown> | undefined> {
  const { billings, ...schedule } =
    (await as('merchant', 'GET', `${SCHEDULES}/${scheduleId}`)).body.data ?? {};
  expect(billings).toBeDefined();
  return schedule;
}

async function suspend(): Promise<void> {
  await db.transaction(async (trx) => {
    await lockAgreement(trx, standing.agreementId);
    const decision = { decision: 'suspended', blocked: false } as const;
    await applyDecision(trx, api.deps.ring, standing.agreementId, decision, 'bank');
  });
}

describe('pausing, resuming and cancelling', () => {
  test.each(['merchant', 'provider'] as const)('a %s does all three, and sees each state', async (role) => {
    for (const [action, status] of [
      ['pause', 'paused'],
      ['pause', 'paused'],
      ['resume', 'active'],
      ['resume', 'active'],
      ['cancel', 'cancelled'],
      ['cancel', 'cancelled'],
    ] as const) {
      const done = await act(action, role);
      expect(done).toMatchObject({ status: 200, body: { statusCode: 200, success: true, data: { status } } });
      expect(done.body.data).toEqual(await shown());
    }
  });

  test('what has ended can be neither paused nor resumed nor changed, and says how it ended', async () => {
    await act('cancel');
    const refused = { status: 409, body: { success: false, data: { status: 'cancelled' } } };
    expect(await act('pause')).toMatchObject(refused);
    expect(await act('resume')).toMatchObject(refused);
    expect(await change({ amount: 5 })).toMatchObject(refused);
    // What is wrong with what was sent comes first, as everywhere.
    expect(await change({ amount: 10.123 })).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'amount' }] },
    });
  });

  test('a body that was announced and is empty is none', async () => {
    const pause = request(`${api.url}${SCHEDULES}/${scheduleId}/pause`, {
      method: 'POST',
      // In chunks, of which there are none: how a proxy hands on what may have a body.
      headers: { authorization: `Bearer ${tokens.merchant}`, 'transfer-encoding': 'chunked' },
    }).end();
    const [answer] = (await once(pause, 'response')) as [IncomingMessage];
    answer.resume();
    expect(answer.statusCode).toBe(200);
    expect(await shown()).toMatchObject({ status: 'paused' });
  });

  test('one that has come to its own end cannot be cancelled, neither by its merchant nor by the bank', async () => {
    scheduleId = await makeSchedule(db, api.deps.ring, standing, { maxBillings: 1 });
    const rules = recurringRules(api.deps.config);
    await runSchedule(db, api.deps.ring, rules, scheduleId);
    await answerCharges(db, api.deps.ring, standing);
    await runSchedule(db, api.deps.ring, rules, scheduleId);
    const refused = { status: 409, body: { success: false, data: { status: 'completed' } } };
    expect(await act('cancel')).toMatchObject(refused);
    expect(await as('bank', 'POST', `${SUBSCRIPTIONS}/${scheduleId}/cancel`)).toMatchObject(refused);
  });

  test.each<Role>(['merchant', 'bank'])('no retry is told of once the %s has cancelled', async (role) => {
    const rules = recurringRules(api.deps.config);
    await runSchedule(db, api.deps.ring, rules, scheduleId);
    await answerCharges(db, api.deps.ring, standing, 'insufficient_funds');
    await runSchedule(db, api.deps.ring, rules, scheduleId);
    expect(await shown()).toMatchObject({ status: 'past_due', retryAt: expect.any(String) as string });
    const path = role === 'merchant' ? SCHEDULES : SUBSCRIPTIONS;
    const cancelled = await as(role, 'POST', `${path}/${scheduleId}/cancel`);
    const asItIs = { status: 'cancelled', nextBillingDate: null, retryAt: null };
    expect(cancelled).toMatchObject({ status: 200, body: { data: asItIs } });
    expect(await shown()).toMatchObject(asItIs);
    expect((await list('?status=cancelled')).body.data).toMatchObject({ subscriptions: [asItIs] });
  });

  test('a suspended schedule is not the merchant’s to resume', async () => {
    await suspend();
    expect(await act('resume')).toMatchObject({ status: 409, body: { data: { status: 'suspended' } } });
    expect(await act('pause')).toMatchObject({ status: 200, body: { data: { status: 'suspended' } } });
    expect(await act('cancel')).toMatchObject({ status: 200, body: { data: { status: 'cancelled' } } });
  });

  test('the customer’s bank cancels it, and gets its own view of it', async () => {
    const cancelled = await as('bank', 'POST', `${SUBSCRIPTIONS}/${scheduleId}/cancel`);
    expect(cancelled).toMatchObject({ status: 200, body: { data: { scheduleId, status: 'cancelled' } } });
    expect(cancelled.body.data).not.toHaveProperty('metadata');
    expect(await as('bank', 'POST', `${SUBSCRIPTIONS}/${scheduleId}/cancel`)).toMatchObject({ status: 200 });
    expect(await shown()).toMatchObject({ status: 'cancelled', nextBillingDate: null });
  });

  test('each side has its own paths', async () => {
    for (const action of ['pause', 'resume', 'cancel'] as const) {
      expect(await act(action, 'bank')).toMatchObject({ status: 403 });
    }
    expect(await change({ amount: 5 }, 'bank')).toMatchObject({ status: 403 });
    for (const role of ['merchant', 'provider'] as const) {
      expect(await as(role, 'POST', `${SUBSCRIPTIONS}/${scheduleId}/cancel`)).toMatchObject({ status: 403 });
    }
    expect(await shown()).toMatchObject({ status: 'active' });
  });

  test('somebody else’s schedule is answered like one that does not exist', async () => {
    const [merchant, provider, bank] = await Promise.all([
      enter(api, 'merchant'),
      enter(api, 'provider'),
      enter(api, 'bank'),
    ]);
    for (const [party, path] of [
      [merchant, `${SCHEDULES}/ID/pause`],
      [merchant, `${SCHEDULES}/ID/resume`],
      [provider, `${SCHEDULES}/ID/cancel`],
      [bank, `${SUBSCRIPTIONS}/ID/cancel`],
    ] as const) {
      const [theirs, unknown, malformed] = await Promise.all(
        [scheduleId, 'sch_01h455vb4pex5vsknk084sn02q', 'nonsense'].map((id) =>
          party.send('POST', path.replace('ID', id)),
        ),
      );
      expect(theirs).toMatchObject({ status: 404, body: { success: false } });
      expect(unknown?.body).toEqual(theirs?.body);
      expect(malformed?.body).toEqual(theirs?.body);
    }
    const patched = await merchant.send('PATCH', `${SCHEDULES}/${scheduleId}`, { amount: 5 });
    const unknown = await merchant.send('PATCH', `${SCHEDULES}/sch_nothing`, { amount: 5 });
    expect(patched).toMatchObject({ status: 404 });
    expect(unknown.body).toEqual(patched.body);
    expect(await shown()).toMatchObject({ status: 'active', amount: 1500 });
  });
});

describe('changing a schedule', () => {
  test.each(['merchant', 'provider'] as const)('a %s changes each field that may change', async (role) => {
    const changed = await change(
      {
        amount: 2000.25,
        endDate: '2040-01-01T00:00:00+01:00',
        maxBillings: 12,
        description: ' Platinum ',
        metadata: { seats: 4 },
      },
      role,
    );
    expect(changed).toMatchObject({
      status: 200,
      body: {
        data: {
          scheduleId,
          amount: 2000.25,
          endDate: '2039-12-31T23:00:00.000Z',
          maxBillings: 12,
          description: 'Platinum',
          metadata: { seats: 4 },
          status: 'active',
        },
      },
    });
    expect(changed.body.data).toEqual(await shown());
    const cleared = await change({ endDate: null, maxBillings: null, description: null, metadata: {} }, role);
    expect(cleared.body.data).toMatchObject({
      amount: 2000.25,
      endDate: null,
      maxBillings: null,
      description: null,
      metadata: {},
    });
  });

  test.each([
    ['most billings', { maxBillings: 1 }],
    ['an end before the next one', { endDate: new Date(Date.now() + 86_400_000).toISOString() }],
  ])('%s that leaves nothing to charge answers that it is completed', async (_, body) => {
    const rules = recurringRules(api.deps.config);
    await runSchedule(db, api.deps.ring, rules, scheduleId);
    await answerCharges(db, api.deps.ring, standing);
    await runSchedule(db, api.deps.ring, rules, scheduleId);
    const changed = await change(body);
    expect(changed).toMatchObject({
      status: 200,
      body: { message: 'The schedule is completed', data: { status: 'completed', nextBillingDate: null } },
    });
    expect(await change({ maxBillings: 5 })).toMatchObject({ status: 409, body: { code: 'schedule_ended' } });
  });

  test.each([
    ['nothing', {}, ['body']],
    ['what never changes', { frequency: 'daily', currency: 'NGN' }, ['frequency', 'currency', 'body']],
    ['no amount', { amount: 0 }, ['amount']],
    ['more decimals than naira have', { amount: 1.005 }, ['amount']],
    ['an amount in words', { amount: '5' }, ['amount']],
    ['half a billing', { maxBillings: 1.5 }, ['maxBillings']],
    ['no billings', { maxBillings: 0 }, ['maxBillings']],
    ['too many billings', { maxBillings: 10_001 }, ['maxBillings']],
    ['an end without offset', { endDate: '2040-01-01T00:00:00' }, ['endDate']],
    ['an end in the past', { endDate: '2020-01-01T00:00:00Z' }, ['endDate']],
    ['an empty description', { description: ' ' }, ['description']],
    ['nested metadata', { metadata: { a: { b: 1 } } }, ['metadata.a']],
    ['two wrong fields', { amount: -1, maxBillings: 0 }, ['amount', 'maxBillings']],
    ['an array', [], ['body']],
  ])('refuses %s', async (_, body, paths) => {
    const before = await shown();
    const { status, body: answer } = await change(body);
    expect(status).toBe(400);
    expect(answer.errors?.map(({ path }) => path)).toEqual(paths);
    expect(await shown()).toEqual(before);
  });

  test('needs a JSON body', async () => {
    expect(await change(undefined)).toMatchObject({ status: 400 });
    const form = await send(api.url, 'PATCH', `${SCHEDULES}/${scheduleId}`, 'amount=5', {
      authorization: `Bearer ${tokens.merchant}`,
      'content-type': 'application/x-www-form-urlencoded',
    });
    expect(form).toMatchObject({ status: 415 });
  });
});

function list(query = '', role: Role = 'bank'): Promise<Answered> {
  return as(role, 'GET', `${SUBSCRIPTIONS}${query}`);
}

async function total(query: string): Promise<unknown> {
  return (await list(query)).body.data?.['total'];
}

async function amounts(query: string): Promise<number[]> {
  const { data = {} } = (await list(query)).body;
  return (data['subscriptions'] as { amount: number }[]).map(({ amount }) => amount);
}

describe('the bank’s list of subscriptions', () => {
  test('shows whose they are and how they stand, without the merchant’s notes', async () => {
    const { status, body } = await list();
    expect(status).toBe(200);
    expect(body.data).toEqual({
      subscriptions: [
        {
          scheduleId,
          merchant: { id: standing.merchantId, name: 'Merchant' },
          customerId: standing.customerId,
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
  });

  test('is filtered by customer and by status', async () => {
    await makeSchedule(db, api.deps.ring, standing);
    await act('cancel');
    expect(await total('?status=cancelled')).toBe(1);
    expect(await total('?status=active')).toBe(1);
    expect(await total('?status=failed')).toBe(0);
    expect(await total(`?customerId=${standing.customerId}`)).toBe(2);
    expect(await total(`?customerId=${standing.customerId}&status=cancelled`)).toBe(1);
    expect(await total('?customerId=cus_nobody')).toBe(0);
  });

  test('comes in pages, each subscription once, in the order asked for', async () => {
    for (const amount of [30_000n, 10_000n, 20_000n]) {
      await makeSchedule(db, api.deps.ring, standing, { amount });
    }
    expect(await amounts('?limit=3&sortBy=amount&sortOrder=asc')).toEqual([100, 200, 300]);
    expect(await amounts('?limit=3&page=2&sortBy=amount&sortOrder=asc')).toEqual([1500]);
    expect(await amounts('?page=3&limit=3')).toEqual([]);
    expect(await amounts('')).toEqual([200, 100, 300, 1500]);
  });

  test.each([
    ['?limit=0', 'query.limit'],
    ['?limit=101', 'query.limit'],
    ['?page=0', 'query.page'],
    ['?sortBy=merchant', 'query.sortBy'],
    ['?sortOrder=up', 'query.sortOrder'],
    ['?status=waiting', 'query.status'],
    ['?merchantId=x', 'query.merchantId'],
    ['?status=active&status=paused', 'query.status'],
  ])('refuses %s', async (query, path) => {
    const { status, body } = await list(query);
    expect(status).toBe(400);
    expect(body.errors?.map((problem) => problem.path)).toEqual([path]);
  });

  test('is for banks, and holds what is of their own customers', async () => {
    expect(await list('', 'merchant')).toMatchObject({ status: 403 });
    expect(await list('', 'provider')).toMatchObject({ status: 403 });
    const other = await enter(api, 'bank');
    expect((await other.send('GET', `${SUBSCRIPTIONS}?customerId=${standing.customerId}`)).body.data).toEqual(
      {
        subscriptions: [],
        total: 0,
        page: 1,
        limit: 20,
      },
    );
  });
});
