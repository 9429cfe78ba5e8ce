import { recurringRules } from '../../../src/settings/config';
import { applyDecision } from '../../../src/database/decision/apply-decision';
import { setEntityStatus } from '../../../src/database/entity/create-entity';
import { rows, type Database } from '../../../src/database/pool/connection';
import { workflowIds } from '../../../src/domain/workflow/workflow-id';
import { enter, send, serveApi, tokensOf, type Answered, type ServedApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { runSchedule } from '../../support/schedule';
import { answerCharges, moveClock, standingApproval, type Standing } from '../../support/standing';

let database: TestDatabase;
let db: Database;
let api: ServedApi;
let standing: Standing;
let tokens: Record<'bank' | 'provider' | 'merchant', string>;

beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
  api = await serveApi(db);
});
afterAll(async () => {
  await api.close();
  await database.drop();
});

beforeEach(async () => {
  standing = await standingApproval(db, api.deps.ring);
  tokens = await tokensOf(api, standing);
});

const CREATE = '/v1/billing/recurring/create';

function as(
  token: string,
  method: string,
  path: string,
  body?: unknown,
  headers: object = {},
): Promise<Answered> {
  return send(api.url, method, path, body, { authorization: `Bearer ${token}`, ...headers });
}

function terms(more: object = {}): object {
  return {
    customerId: standing.customerId,
    paymentID: standing.paymentId,
    amount: 1500.5,
    currency: 'NGN',
    frequency: 'monthly',
    ...more,
  };
}

function create(more: object = {}, token = tokens.merchant): Promise<Answered> {
  return as(token, 'POST', CREATE, terms(more));
}

function inMs(ms: number): string {
  return new Date(Date.now() + ms).toISOString();
}

describe('making a schedule', () => {
  test('answers with the schedule, and leaves its workflow to be started', async () => {
    const startDate = inMs(3_600_000);
    const made = await create({
      startDate,
      endDate: '2040-01-01T00:00:00+01:00',
      maxBillings: 12,
      interval: 2,
      description: ' Gold plan ',
      metadata: { plan: 'gold', seats: 3 },
    });
    expect(made).toMatchObject({ status: 201, body: { statusCode: 201, success: true } });
    expect(made.body.data).toMatchObject({
      scheduleId: expect.stringMatching(/^sch_[0-9a-z]{26}$/) as string,
      customerId: standing.customerId,
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
    });
    const started = await rows<{ start: { attributes: object } }>(
      db,
      `SELECT start FROM outbox WHERE workflow_id = :id`,
      {
        id: workflowIds.recurring(String(made.body.data?.['scheduleId'])),
      },
    );
    expect(started.map(({ start }) => start.attributes)).toEqual([
      {
        status: 'active',
        merchantId: standing.merchantId,
        bankId: standing.bankId,
        nextBillingDate: startDate,
      },
    ]);
  });

  test('starts now, once per unit, where nothing else is said', async () => {
    const made = await create();
    expect(made.body.data).toMatchObject({
      interval: 1,
      endDate: null,
      maxBillings: null,
      description: null,
      metadata: {},
    });
    const start = Date.parse(String(made.body.data?.['startDate']));
    expect(Math.abs(Date.now() - start)).toBeLessThan(60_000);
  });

  test('with an idempotency key is done once, and answered twice', async () => {
    const headers = { 'idempotency-key': 'one' };
    const first = await as(tokens.merchant, 'POST', CREATE, terms(), headers);
    const second = await as(tokens.merchant, 'POST', CREATE, terms(), headers);
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect(second.body).toEqual(first.body);
    expect((await as(tokens.merchant, 'GET', '/v1/billing/recurring')).body.data).toMatchObject({ total: 1 });
  });

  test('names every problem of a body at once', async () => {
    const { status, body } = await create({
      amount: 0.001,
      currency: 'NGN',
      frequency: 'yearly',
      interval: 4,
      maxBillings: 10_001,
      startDate: '2031-01-01T00:00:00Z',
      endDate: '2031-01-01T00:00:00Z',
      colour: 'red',
    });
    expect(status).toBe(400);
    expect(body.errors?.map(({ path }) => path).sort()).toEqual([
      'amount',
      'colour',
      'endDate',
      'interval',
      'maxBillings',
    ]);
  });

  test.each([
    ['daily', 1095],
    ['weekly', 156],
    ['monthly', 36],
    ['yearly', 3],
  ])('takes a %s interval up to three years', async (frequency, most) => {
    expect(await create({ frequency, interval: most })).toMatchObject({ status: 201 });
    expect(await create({ frequency, interval: most + 1 })).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'interval' }] },
    });
  });

  test.each([
    ['a start six minutes back', () => ({ startDate: inMs(-6 * 60_000) }), ['startDate']],
    ['an end before the start', () => ({ startDate: inMs(60_000), endDate: inMs(59_000) }), ['endDate']],
    ['an end that has passed, when it starts now', () => ({ endDate: inMs(-1_000) }), ['endDate']],
    ['no billings at all', () => ({ maxBillings: 0 }), ['maxBillings']],
    ['a start without its offset from UTC', () => ({ startDate: '2031-01-01T00:00:00' }), ['startDate']],
    ['half an interval', () => ({ interval: 1.5 }), ['interval']],
    ['a currency that the network does not take', () => ({ currency: 'USD' }), ['currency']],
    ['an unknown frequency', () => ({ frequency: 'hourly' }), ['frequency']],
    ['an interval in words', () => ({ interval: 'two' }), ['interval']],
    [
      'a start too far back, before it looks for the agreement',
      () => ({ customerId: 'cus_nobody', startDate: inMs(-6 * 60_000) }),
      ['startDate'],
    ],
  ] as const)('refuses %s', async (_, more, paths) => {
    const { status, body } = await create(more());
    expect(status).toBe(400);
    expect(body.errors?.map(({ path }) => path)).toEqual(paths);
  });

  test('takes a start of four minutes ago, and judges by the test clock', async () => {
    expect(await create({ startDate: inMs(-4 * 60_000) })).toMatchObject({ status: 201 });
    await moveClock(db, standing.merchantId, '1 day');
    expect(await create({ startDate: inMs(60_000) })).toMatchObject({ status: 400 });
    expect(await create({ startDate: inMs(86_400_000 + 60_000) })).toMatchObject({ status: 201 });
  });

  test('is 404 for a customer who is not the agreement’s own, and for a paymentID of somebody else', async () => {
    const other = await standingApproval(db, api.deps.ring);
    expect(await create({ customerId: other.customerId })).toMatchObject({ status: 404 });
    expect(await create({ customerId: 'cus_nobody' })).toMatchObject({ status: 404 });
    expect(await create({ paymentID: other.paymentId })).toMatchObject({ status: 404 });
    expect(await create({ customerId: other.customerId, paymentID: other.paymentId })).toMatchObject({
      status: 404,
    });
  });

  test.each(['approve_once', 'deny', 'suspended'] as const)(
    'is 403 under the decision %s',
    async (decision) => {
      await db.transaction((trx) =>
        applyDecision(trx, api.deps.ring, standing.agreementId, { decision, blocked: false }, 'bank'),
      );
      expect(await create()).toMatchObject({ status: 403, body: { success: false } });
    },
  );

  test('is 403 for a merchant that is not trusted any more', async () => {
    await as(tokens.provider, 'PATCH', '/v1/provider/merchant/trust', {
      merchantId: standing.merchantId,
      trustLevel: 'untrusted',
    });
    expect(await create()).toMatchObject({ status: 403 });
  });

  test('is 403 to the provider of a merchant that the operator has disabled', async () => {
    await setEntityStatus(db, standing.merchantId, 'disabled');
    expect(await create({}, tokens.provider)).toMatchObject({ status: 403 });
  });

  test('is for a merchant and its own provider, and for nobody else', async () => {
    expect(await create({}, tokens.provider)).toMatchObject({ status: 201 });
    expect(await create({}, tokens.bank)).toMatchObject({ status: 403 });
    const [otherMerchant, otherProvider] = await Promise.all([
      enter(api, 'merchant'),
      enter(api, 'provider'),
    ]);
    expect(await otherMerchant.send('POST', CREATE, terms())).toMatchObject({ status: 404 });
    expect(await otherProvider.send('POST', CREATE, terms())).toMatchObject({ status: 404 });
  });
});

describe('looking at schedules', () => {
  test('shows one with its next billing to its merchant and its provider, and hides it from all others', async () => {
    const made = await create();
    const path = `/v1/billing/recurring/${String(made.body.data?.['scheduleId'])}`;
    for (const token of [tokens.merchant, tokens.provider]) {
      const shown = await as(token, 'GET', path);
      expect(shown.body.data).toEqual({
        ...made.body.data,
        billings: [{ n: 0, dueDate: made.body.data?.['startDate'], status: 'scheduled', attempts: [] }],
      });
    }
    const other = await enter(api, 'merchant');
    expect(await other.send('GET', path)).toMatchObject({ status: 404 });
    expect(await as(tokens.merchant, 'GET', '/v1/billing/recurring/sch_nothing')).toMatchObject({
      status: 404,
    });
    expect(await as(tokens.bank, 'GET', path)).toMatchObject({ status: 403 });
  });

  test('lists a merchant’s own, page by page, each once', async () => {
    await Promise.all([1, 2, 3].map((amount) => create({ amount })));
    const pages = await Promise.all(
      [1, 2].map((page) =>
        as(tokens.merchant, 'GET', `/v1/billing/recurring?limit=2&page=${page}&sortBy=amount&sortOrder=asc`),
      ),
    );
    expect(pages.map(({ body }) => body.data?.['total'])).toEqual([3, 3]);
    const listed = pages.flatMap(({ body }) => body.data?.['schedules'] as { amount: number }[]);
    expect(listed.map(({ amount }) => amount)).toEqual([1, 2, 3]);
    expect(
      (await as(tokens.merchant, 'GET', '/v1/billing/recurring?status=cancelled')).body.data,
    ).toMatchObject({
      schedules: [],
      total: 0,
    });
    const other = await enter(api, 'merchant');
    expect((await other.send('GET', '/v1/billing/recurring')).body.data).toMatchObject({ total: 0 });
  });
});

test('a merchant that loses trust sees its schedule suspended in the same moment', async () => {
  const made = await create();
  const path = `/v1/billing/recurring/${String(made.body.data?.['scheduleId'])}`;
  const trust = (trustLevel: string) =>
    as(tokens.provider, 'PATCH', '/v1/provider/merchant/trust', {
      merchantId: standing.merchantId,
      trustLevel,
    });
  await trust('untrusted');
  expect((await as(tokens.merchant, 'GET', path)).body.data).toMatchObject({ status: 'suspended' });
  await trust('trusted');
  expect((await as(tokens.merchant, 'GET', path)).body.data).toMatchObject({ status: 'active' });
});

const pastDue = async (token: string, path: string) =>
  (await as(token, 'GET', `${path}?status=past_due`)).body.data;

test('a schedule that is past due says why where it is listed, to its merchant and to the bank', async () => {
  const made = await create();
  const scheduleId = String(made.body.data?.['scheduleId']);
  expect(made.body.data).toMatchObject({ lastDecline: null });
  const run = () => runSchedule(db, api.deps.ring, recurringRules(api.deps.config), scheduleId);
  await run();
  await answerCharges(db, api.deps.ring, standing, 'insufficient_funds');
  await run();
  await create();
  const [attempt] = await rows<{ reference: string }>(
    db,
    'SELECT reference FROM billing_requests WHERE schedule_id = :scheduleId',
    { scheduleId },
  );
  const lastDecline = {
    reference: attempt?.reference,
    reason: 'insufficient_funds',
    at: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/) as string,
  };
  const found = { total: 1, schedules: [{ scheduleId, status: 'past_due', lastDecline }] };
  expect(await pastDue(tokens.merchant, '/v1/billing/recurring')).toMatchObject(found);
  expect(await pastDue(tokens.provider, '/v1/billing/recurring')).toMatchObject(found);
  expect(await pastDue(tokens.bank, '/v1/bank/customer/subscriptions')).toMatchObject({
    total: 1,
    subscriptions: [{ scheduleId, lastDecline }],
  });
});
