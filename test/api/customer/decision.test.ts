import { lockAgreement } from '../../../src/database/agreement/agreement';
import { rows, type Database } from '../../../src/database/pool/connection';
import { applyDecision } from '../../../src/database/decision/apply-decision';
import { enter, send, serveApi, tokensOf, type Answered, type ServedApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import {
  announcedTo,
  answerCharges,
  makeSchedule,
  moveClock,
  standingApproval,
  type Standing,
} from '../../support/standing';

type Role = 'bank' | 'provider' | 'merchant';

let database: TestDatabase;
let db: Database;
let api: ServedApi;
let standing: Standing;
let tokens: Record<Role, string>;

beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
  api = await serveApi(db);
});
afterAll(async () => {
  await api.close();
  await database.drop();
});

/** Every test has parties and a standing approval of its own. */
beforeEach(async () => {
  standing = await standingApproval(db, api.deps.ring, { dailyLimit: 500_000n });
  tokens = await tokensOf(api, standing);
});

const DECISIONS = '/v1/bank/customer-decisions';

function as(role: Role, method: string, path: string, body?: unknown): Promise<Answered> {
  return send(api.url, method, path, body, { authorization: `Bearer ${tokens[role]}` });
}

function list(query = '', role: Role = 'bank'): Promise<Answered> {
  return as(role, 'GET', `${DECISIONS}${query}`);
}

async function listed(query = ''): Promise<Record<string, unknown>[]> {
  const { data = {} } = (await list(query)).body;
  return data['decisions'] as Record<string, unknown>[];
}

async function total(query: string): Promise<unknown> {
  return (await list(query)).body.data?.['total'];
}

async function ids(query: string): Promise<unknown[]> {
  return (await listed(query)).map(({ id }) => id);
}

function put(body: unknown, role: Role = 'bank'): Promise<Answered> {
  return as(role, 'PUT', `${DECISIONS}/${standing.agreementId}`, body);
}

function bill(amount: number, payer: object = { paymentIDs: [standing.paymentId] }): Promise<Answered> {
  const body = { ...payer, amount, currency: 'NGN', description: 'Shoes' };
  return as('merchant', 'POST', '/v1/customer/bill', body);
}

async function lookupId(): Promise<string> {
  return String((await listed())[0]?.['lookupID']);
}

/** @returns the id of the intent */
async function ask(): Promise<string> {
  const body = { lookupIDs: [await lookupId()], currency: 'NGN', description: 'Gold plan' };
  const { body: answer } = await as('merchant', 'POST', '/v1/billing/intent', body);
  const [item] = answer as unknown as { intentId: string }[];
  return String(item?.intentId);
}

function respond(more: object): Promise<Answered> {
  return lookupId().then((lookupID) =>
    as('bank', 'POST', '/v1/billing/intent-response', {
      customerId: standing.customerId,
      entityId: standing.merchantId,
      lookupID,
      ...more,
    }),
  );
}

async function intent(id: string): Promise<unknown> {
  return (await as('merchant', 'GET', `/v1/billing/intents/${id}`)).body.data;
}

async function statusOf(scheduleId: string): Promise<unknown> {
  return (await as('merchant', 'GET', `/v1/billing/recurring/${scheduleId}`)).body.data?.['status'];
}

async function webhooksOf(type: string): Promise<Record<string, unknown>[]> {
  const announced = await announcedTo(db, api.deps.ring, standing.merchantId);
  return announced.filter((one) => one.type === type).map(({ item }) => item);
}

/** Makes the agreement one that the customer has not decided about. */
async function undecided(): Promise<void> {
  await rows(db, `UPDATE agreements SET decision = 'pending' WHERE id = :id`, { id: standing.agreementId });
}

/** Moves the merchant's clock to this hour, in UTC, of the 10th of the next month. */
async function onTheTenth(hour: number): Promise<void> {
  await rows(
    db,
    `UPDATE entities SET clock_offset = date_trunc('month', clock_timestamp()) + interval '1 month 9 days'
       + :hour * interval '1 hour' - clock_timestamp()
     WHERE id = :id`,
    { hour, id: standing.merchantId },
  );
}

describe('the list of decisions', () => {
  test('shows what is allowed, and what is spent of it', async () => {
    await onTheTenth(11);
    await bill(1200.5);
    const { status, body } = await list();
    expect(status).toBe(200);
    expect(body.data).toEqual({
      decisions: [
        {
          id: standing.agreementId,
          customerId: standing.customerId,
          lookupID: expect.stringMatching(/^[a-z]+-[a-z]+-[a-z]+-[a-z]+-\d\d$/) as string,
          merchant: { id: standing.merchantId, name: 'Merchant' },
          customerDecision: 'approve_recurring',
          spendingLimits: { daily: 5000, monthly: null },
          spent: { daily: 1200.5, monthly: 1200.5 },
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

  test('counts a charge on the day that it was accepted, whenever its bank answers', async () => {
    // Eleven at night in Lagos.
    await onTheTenth(22);
    await bill(1000);
    await moveClock(db, standing.merchantId, '2 hours');
    expect(await answerCharges(db, api.deps.ring, standing)).toBe(1);
    expect((await listed())[0]).toMatchObject({ spent: { daily: 0, monthly: 1000 } });
  });

  test('counts what is spent by the merchant’s clock: nothing on another day, nothing in another month', async () => {
    // The 10th of a month at noon in Lagos, so that neither step crosses more than it should.
    await onTheTenth(11);
    await bill(1000);
    await moveClock(db, standing.merchantId, '1 day');
    expect((await listed())[0]).toMatchObject({ spent: { daily: 0, monthly: 1000 } });
    await bill(200);
    expect((await listed())[0]).toMatchObject({ spent: { daily: 200, monthly: 1200 } });
    await moveClock(db, standing.merchantId, '1 month');
    expect((await listed())[0]).toMatchObject({ spent: { daily: 0, monthly: 0 } });
  });

  test('is filtered by customer, merchant and decision', async () => {
    expect(await total(`?customerId=${standing.customerId}`)).toBe(1);
    expect(await total('?customerId=cus_nobody')).toBe(0);
    expect(await total(`?merchantId=${standing.merchantId}`)).toBe(1);
    expect(await total('?merchantId=mch_nobody')).toBe(0);
    expect(await total('?decision=approve_recurring')).toBe(1);
    expect(await total('?decision=deny')).toBe(0);
    await undecided();
    expect(await total('?decision=pending')).toBe(1);
  });

  test('comes in pages, each decision once', async () => {
    const second = await enter(api, 'merchant', { name: 'Another' });
    const body = { lookupIDs: [await lookupId()], currency: 'NGN', description: 'Gold plan' };
    await second.send('POST', '/v1/billing/intent', body);
    const [newest, oldest] = await ids('');
    expect(oldest).toBe(standing.agreementId);
    expect(await ids('?limit=1&page=1')).toEqual([newest]);
    expect(await ids('?limit=1&page=2')).toEqual([oldest]);
    expect(await ids('?limit=1&page=3')).toEqual([]);
    expect(await ids('?sortOrder=asc')).toEqual([oldest, newest]);
    await put({ customerDecision: 'suspended' });
    expect(await ids('?sortBy=updatedAt')).toEqual([oldest, newest]);
  });

  test.each([
    ['?limit=101', 'query.limit'],
    ['?page=0', 'query.page'],
    ['?sortBy=spent', 'query.sortBy'],
    ['?sortOrder=up', 'query.sortOrder'],
    ['?decision=maybe', 'query.decision'],
    ['?status=active', 'query.status'],
    ['?page=1&page=2', 'query.page'],
  ])('refuses %s', async (query, path) => {
    const { status, body } = await list(query);
    expect(status).toBe(400);
    expect(body.errors?.map((problem) => problem.path)).toEqual([path]);
  });

  test('is for banks, and holds what is of their own customers', async () => {
    expect(await list('', 'merchant')).toMatchObject({ status: 403 });
    expect(await list('', 'provider')).toMatchObject({ status: 403 });
    const other = await enter(api, 'bank');
    const hidden = await other.send('GET', `${DECISIONS}?customerId=${standing.customerId}`);
    expect(hidden.body.data).toMatchObject({ decisions: [], total: 0 });
  });
});

describe('changing a decision', () => {
  test('answers with the decision as the list shows it, and tells the merchant without limits', async () => {
    const changed = await put({ customerDecision: 'approve_once', spendingLimits: { monthly: 99.5 } });
    expect(changed).toMatchObject({
      status: 200,
      body: {
        data: {
          id: standing.agreementId,
          customerDecision: 'approve_once',
          spendingLimits: { daily: null, monthly: 99.5 },
        },
      },
    });
    expect(await listed()).toEqual([changed.body.data]);
    const [told] = await webhooksOf('decision.updated');
    expect(told).toEqual({
      id: standing.agreementId,
      sequence: 1,
      customerId: standing.customerId,
      lookupID: changed.body.data?.['lookupID'],
      paymentID: standing.paymentId,
      customerDecision: 'approve_once',
      currency: 'NGN',
    });
  });

  test('takes effect for the next charge', async () => {
    await put({ customerDecision: 'approve_recurring', spendingLimits: { daily: 100 } });
    expect(await bill(100.01)).toMatchObject({ status: 403 });
    expect(await bill(100)).toMatchObject({ status: 201 });
    await put({ customerDecision: 'approve_recurring', spendingLimits: {} });
    expect(await bill(100)).toMatchObject({ status: 201 });
    await put({ customerDecision: 'approve_once' });
    await bill(7);
    expect((await announcedTo(db, api.deps.ring, standing.bankId)).at(-1)).toMatchObject({
      type: 'billing.request',
      item: { amount: 7, approvalRequired: true },
    });
    for (const customerDecision of ['suspended', 'deny'] as const) {
      await put({ customerDecision });
      expect(await bill(1)).toMatchObject({ status: 403 });
    }
    await put({ customerDecision: 'approve_once' });
    expect(await bill(1)).toMatchObject({ status: 201 });
  });

  test('to new limits alone is nothing that the merchant hears of', async () => {
    await put({ customerDecision: 'approve_recurring', spendingLimits: { daily: 1 } });
    expect(await webhooksOf('decision.updated')).toEqual([]);
  });

  test('leaves the limits alone where it names none, and takes back what the list has shown', async () => {
    await put({ customerDecision: 'suspended' });
    const [shown] = await listed();
    expect(shown).toMatchObject({ spendingLimits: { daily: 5000, monthly: null } });
    const { customerDecision, spendingLimits, blockMerchant } = shown ?? {};
    expect((await put({ customerDecision, spendingLimits, blockMerchant })).body.data).toEqual(shown);
  });

  test('to what it is already changes nothing and tells nobody', async () => {
    await put({ customerDecision: 'suspended' });
    const [before] = await listed();
    expect((await put({ customerDecision: 'suspended' })).body.data).toEqual(before);
    expect(await webhooksOf('decision.updated')).toHaveLength(1);
  });

  test.each([
    ['suspended', 'suspended'],
    ['approve_once', 'suspended'],
    ['deny', 'cancelled'],
  ] as const)('to %s leaves its schedules %s', async (customerDecision, status) => {
    const scheduleId = await makeSchedule(db, api.deps.ring, standing);
    await put({ customerDecision });
    expect(await statusOf(scheduleId)).toBe(status);
    expect(await webhooksOf('recurring.updated')).toMatchObject([
      { scheduleId, status, previousStatus: 'active' },
    ]);
    await put({ customerDecision: 'approve_recurring' });
    expect(await statusOf(scheduleId)).toBe(status === 'suspended' ? 'active' : 'cancelled');
  });

  test('leaves a charge that the bank has been asked for open, for the bank to answer', async () => {
    const { body } = await bill(10);
    const [item] = body as unknown as { billingRequestId: string }[];
    await put({ customerDecision: 'deny', blockMerchant: true });
    const path = `/v1/billing/requests/${item?.billingRequestId}`;
    expect((await as('merchant', 'GET', path)).body.data).toMatchObject({ status: 'pending' });
    const answer = { billingRequestId: item?.billingRequestId, bankTransactionId: 'core-1' };
    expect(await as('bank', 'POST', '/v1/billing/bank-response', answer)).toMatchObject({
      status: 200,
      body: { data: { status: 'successful' } },
    });
    expect((await listed())[0]).toMatchObject({ customerDecision: 'deny', blockMerchant: true });
  });

  test.each([
    [{ customerDecision: 'deny' }, 'deny'],
    [{ customerDecision: 'suspended' }, 'suspended'],
    [{ customerDecision: 'approve_once' }, 'suspended'],
  ] as const)('to %j is followed by a charge that its bank answers by suspended: %s', async (body, after) => {
    const { body: billed } = await bill(10);
    const [item] = billed as unknown as { billingRequestId: string }[];
    await put(body);
    const answer = { billingRequestId: item?.billingRequestId, action: 'suspended' };
    expect(await as('bank', 'POST', '/v1/billing/bank-response', answer)).toMatchObject({
      status: 200,
      body: { data: { status: 'declined' } },
    });
    expect((await listed())[0]).toMatchObject({ customerDecision: after });
    expect((await webhooksOf('decision.updated')).map((told) => told['customerDecision'])).toEqual([
      ...new Set([body.customerDecision, after]),
    ]);
  });

  test('of a customer who has decided nothing is not made by a charge answered with suspended', async () => {
    await undecided();
    const { body } = await bill(10, { lookupIDs: [await lookupId()] });
    const [item] = body as unknown as { billingRequestId: string }[];
    const answer = { billingRequestId: item?.billingRequestId, action: 'suspended' };
    expect(await as('bank', 'POST', '/v1/billing/bank-response', answer)).toMatchObject({ status: 200 });
    expect((await listed())[0]).toMatchObject({ customerDecision: 'pending' });
    expect(await webhooksOf('decision.updated')).toEqual([]);
  });

  test('to approve_recurring is 403 for a merchant that is not trusted, and nothing changes', async () => {
    await put({ customerDecision: 'suspended' });
    const trust = { merchantId: standing.merchantId, trustLevel: 'untrusted' };
    await as('provider', 'PATCH', '/v1/provider/merchant/trust', trust);
    const [before] = await listed();
    expect(await put({ customerDecision: 'approve_recurring', spendingLimits: {} })).toMatchObject({
      status: 403,
      body: { success: false },
    });
    expect(await listed()).toEqual([before]);
    expect(await put({ customerDecision: 'approve_once' })).toMatchObject({ status: 200 });
  });

  test('to approve_recurring is 403, and no conflict, also where that merchant’s first intent is open', async () => {
    await undecided();
    const intents = { lookupIDs: [await lookupId()], currency: 'NGN', description: 'Gold plan' };
    expect(await as('merchant', 'POST', '/v1/billing/intent', intents)).toMatchObject({ status: 200 });
    const trust = { merchantId: standing.merchantId, trustLevel: 'untrusted' };
    await as('provider', 'PATCH', '/v1/provider/merchant/trust', trust);
    expect(await put({ customerDecision: 'approve_recurring' })).toMatchObject({ status: 403 });
    expect(await put({ customerDecision: 'approve_once' })).toMatchObject({ status: 409 });
  });

  test('may block the merchant: that is a denial, and no more intents or bills of any kind', async () => {
    const lookupIDs = [await lookupId()];
    const blocked = await put({ customerDecision: 'approve_once', blockMerchant: true });
    expect(blocked.body.data).toMatchObject({ customerDecision: 'deny', blockMerchant: true });
    expect(await bill(1)).toMatchObject({ status: 403 });
    expect(await bill(1, { lookupIDs })).toMatchObject({ status: 403 });
    const intents = { lookupIDs, currency: 'NGN', description: 'Gold plan' };
    expect(await as('merchant', 'POST', '/v1/billing/intent', intents)).toMatchObject({ status: 403 });
    // What is left out stays.
    expect((await put({ customerDecision: 'deny' })).body.data).toMatchObject({ blockMerchant: true });
    const lifted = await put({ customerDecision: 'deny', blockMerchant: false });
    expect(lifted.body.data).toMatchObject({ customerDecision: 'deny', blockMerchant: false });
    expect(await bill(1, { lookupIDs })).toMatchObject({ status: 201 });
  });

  test('to an approval lifts a block', async () => {
    await put({ customerDecision: 'deny', blockMerchant: true });
    const approved = await put({ customerDecision: 'approve_once' });
    expect(approved.body.data).toMatchObject({ customerDecision: 'approve_once', blockMerchant: false });
    expect(await bill(1)).toMatchObject({ status: 201 });
  });

  test.each([
    [{ customerDecision: 'deny' }, 'denied'],
    [{ customerDecision: 'suspended' }, 'suspended'],
    [{ customerDecision: 'deny', blockMerchant: true }, 'blocked'],
  ] as const)('by %j answers an open intent', async (decision, reason) => {
    const intentId = await ask();
    await put(decision);
    expect(await intent(intentId)).toMatchObject({ status: 'declined', reason });
    expect(await webhooksOf('billing.intent.response')).toMatchObject([
      { intentId, status: 'declined', reason, customerAction: 'declined' },
    ]);
    // The same from the prompt on the phone is the same answer; another one comes too late.
    expect(await respond(decision)).toMatchObject({ status: 200 });
    expect(await respond({ customerDecision: 'approve_once' })).toMatchObject({ status: 409 });
  });

  test('to an approval leaves an open intent for new terms open', async () => {
    const intentId = await ask();
    await put({ customerDecision: 'approve_once' });
    expect(await intent(intentId)).toMatchObject({ status: 'pending' });
    expect(await respond({ customerDecision: 'approve_recurring' })).toMatchObject({ status: 200 });
  });

  test('cannot approve what an open first intent is still asking; once it has passed, it can', async () => {
    await undecided();
    const intentId = await ask();
    expect(await put({ customerDecision: 'approve_once' })).toMatchObject({
      status: 409,
      body: { data: { status: 'pending', intentId } },
    });
    await moveClock(db, standing.merchantId, '25 hours');
    expect(await put({ customerDecision: 'approve_once' })).toMatchObject({ status: 200 });
    expect(await bill(1)).toMatchObject({ status: 201 });
  });

  test.each([
    ['no decision', {}, ['customerDecision']],
    ['an undecided decision', { customerDecision: 'pending' }, ['customerDecision']],
    ['an unknown field', { customerDecision: 'deny', currency: 'NGN' }, ['currency']],
    [
      'a limit of nothing',
      { customerDecision: 'deny', spendingLimits: { daily: 0 } },
      ['spendingLimits.daily'],
    ],
    [
      'a limit with more decimals than naira have',
      { customerDecision: 'deny', spendingLimits: { monthly: 1.005 } },
      ['spendingLimits.monthly'],
    ],
    [
      'an unknown limit',
      { customerDecision: 'deny', spendingLimits: { weekly: 5 } },
      ['spendingLimits.weekly'],
    ],
    ['a block in words', { customerDecision: 'deny', blockMerchant: 'yes' }, ['blockMerchant']],
  ])('refuses %s', async (_, body, paths) => {
    const [before] = await listed();
    const { status, body: answer } = await put(body);
    expect(status).toBe(400);
    expect(answer.errors?.map(({ path }) => path)).toEqual(paths);
    expect(await listed()).toEqual([before]);
  });

  test('is for the customer’s own bank: anybody else’s decision is like one that does not exist', async () => {
    expect(await put({ customerDecision: 'deny' }, 'merchant')).toMatchObject({ status: 403 });
    expect(await put({ customerDecision: 'deny' }, 'provider')).toMatchObject({ status: 403 });
    const other = await enter(api, 'bank');
    const [theirs, unknown, malformed] = await Promise.all(
      [standing.agreementId, 'agr_01h455vb4pex5vsknk084sn02q', 'nonsense'].map((id) =>
        other.send('PUT', `${DECISIONS}/${id}`, { customerDecision: 'deny' }),
      ),
    );
    expect(theirs).toMatchObject({ status: 404, body: { success: false } });
    expect(unknown?.body).toEqual(theirs?.body);
    expect(malformed?.body).toEqual(theirs?.body);
    expect((await listed())[0]).toMatchObject({ customerDecision: 'approve_recurring' });
  });
});

test('racing decisions leave one of them standing, and schedules in line with it', async () => {
  const scheduleId = await makeSchedule(db, api.deps.ring, standing);
  await Promise.all([
    put({ customerDecision: 'suspended' }),
    put({ customerDecision: 'approve_once' }),
    as('merchant', 'POST', `/v1/billing/recurring/${scheduleId}/pause`),
    put({ customerDecision: 'approve_recurring' }),
    db.transaction(async (trx) => {
      await lockAgreement(trx, standing.agreementId);
      const decided = { decision: 'suspended', blocked: false } as const;
      await applyDecision(trx, api.deps.ring, standing.agreementId, decided, 'bank');
    }),
  ]);
  const standingNow = (await listed())[0]?.['customerDecision'];
  expect(await statusOf(scheduleId)).toBe(standingNow === 'approve_recurring' ? 'paused' : 'suspended');
});

const setSpent = (daily: bigint, monthly: bigint) =>
  rows(
    db,
    `UPDATE agreements SET spent_day = CURRENT_DATE + 1, spent_day_total = :daily, spent_month = date_trunc('month', CURRENT_DATE + 1),
         spent_month_total = :monthly WHERE id = :id`,
    { daily: daily.toString(), monthly: monthly.toString(), id: standing.agreementId },
  );

describe('sums of more digits than a JSON number carries', () => {
  test('are shown rounded, and in full beside it', async () => {
    await setSpent(150_050n, 1_234_567_890_123_456n);

    expect((await listed())[0]?.['spent']).toEqual({
      daily: 1500.5,
      monthly: 12_345_678_901_234.6,
      exact: { monthly: '12345678901234.56' },
    });
  });

  test('keep no customer from taking an approval back', async () => {
    await setSpent(1_234_567_890_123_456n, 1_234_567_890_123_456n);

    expect(await put({ customerDecision: 'deny' })).toMatchObject({
      status: 200,
      body: { data: { customerDecision: 'deny' } },
    });
    expect(await bill(1)).toMatchObject({ status: 403 });
  });

  test('end below what Postgres can add up: the next charge is refused, and is no fault', async () => {
    await put({ customerDecision: 'approve_recurring', spendingLimits: {} });
    const most = 9_000_000_000_000_000_000n;
    await setSpent(most - 100n, most - 100n);

    expect((await bill(1.01)).status).toBe(403);
    expect((await bill(1)).status).toBe(201);
    expect((await bill(0.01)).status).toBe(403);
    expect((await listed())[0]?.['spent']).toEqual({ daily: 9e16, monthly: 9e16 });
  });
});
