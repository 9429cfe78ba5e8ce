import { row, rows, type Database } from '../../../src/database/pool/connection';
import { refundState, remindBank } from '../../../src/database/refund/settle-refund';
import { chargeUnder, send, serveApi, tokensOf, type Answered, type ServedApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { answerCharges, moveClock, standingApproval, type Standing } from '../../support/standing';

type Who = 'bank' | 'provider' | 'merchant';

let database: TestDatabase;
let db: Database;
let api: ServedApi;
let standing: Standing;
let tokens: Record<Who, string>;

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

const as = (token: string, method: string, path: string, body?: unknown, headers = {}): Promise<Answered> =>
  send(api.url, method, path, body, { authorization: `Bearer ${token}`, ...headers });

/** A charge of 100 naira, successful unless left open. @returns its reference */
async function charge({ open = false, declined = false } = {}): Promise<string> {
  const { reference } = await chargeUnder(api, standing, tokens.merchant);
  if (!open) await answerCharges(db, api.deps.ring, standing, declined ? 'insufficient_funds' : undefined);
  return reference;
}

const initiate = (body: object, headers = {}): Promise<Answered> =>
  as(tokens.merchant, 'POST', '/v1/refunds/initiate', body, headers);

const respond = (body: object, token = tokens.bank): Promise<Answered> =>
  as(token, 'POST', '/v1/bank/refund-response', body);

/** @returns the id of a refund that the bank has not answered */
async function refund(reference: string, amount?: number): Promise<string> {
  const { body } = await initiate({ reference, ...(amount !== undefined && { amount }) });
  return String(body.data?.['refundId']);
}

async function refunded(reference: string): Promise<unknown> {
  const { body } = await as(tokens.merchant, 'GET', `/v1/transaction-details?reference=${reference}`);
  return body.data?.['refundedAmount'];
}

describe('initiating a refund', () => {
  test('sends back what is left, and leaves its workflow to be started', async () => {
    const reference = await charge();

    const { status, body } = await initiate({ reference, reason: ' Too small ' });

    expect(status).toBe(201);
    expect(body.data).toMatchObject({
      refundId: expect.stringMatching(/^rfd_[0-9a-z]{26}$/) as string,
      reference: expect.stringMatching(/^[0-9A-Z]{1,24}$/) as string,
      originalReference: reference,
      amount: 100,
      currency: 'NGN',
      status: 'pending',
      reason: 'Too small',
      overdue: false,
      expectedBy: expect.stringMatching(/Z$/) as string,
    });
    expect(body.data).not.toHaveProperty('bankTransactionId');
    const id = String(body.data?.['refundId']);
    const started = await row(
      db,
      `SELECT workflow_id AS id FROM outbox WHERE start->>'type' = 'refund'
      AND start->'args'->>0 = :id`,
      { id },
    );
    expect(started).toEqual({ id: `refund/${id}` });
  });

  test('sends parts back until nothing is left', async () => {
    const reference = await charge();

    expect((await initiate({ reference, amount: 30.5 })).body.data).toMatchObject({ amount: 30.5 });
    expect(await initiate({ reference, amount: 69.51 })).toMatchObject({
      status: 409,
      body: { data: { status: 'successful' } },
    });
    expect((await initiate({ reference })).body.data).toMatchObject({ amount: 69.5 });
    expect((await initiate({ reference })).status).toBe(409);
    expect(await refunded(reference)).toBe(100);
  });

  test('never sends back more than was taken, however many race', async () => {
    const reference = await charge();

    const answers = await Promise.all(Array.from({ length: 8 }, () => initiate({ reference, amount: 30 })));

    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      201, 201, 201, 409, 409, 409, 409, 409,
    ]);
    expect(await refunded(reference)).toBe(90);
  });

  test.each([
    ['open', { open: true }, 'pending'],
    ['declined', { declined: true }, 'declined'],
  ])('of a charge that is %s gets 409', async (_, how, status) => {
    expect(await initiate({ reference: await charge(how) })).toMatchObject({
      status: 409,
      body: { data: { status } },
    });
  });

  test('of another merchant’s charge gets what that of nobody’s gets', async () => {
    const reference = await charge();
    const stranger = await tokensOf(api, await standingApproval(db, api.deps.ring));

    const ofAnother = await as(stranger.merchant, 'POST', '/v1/refunds/initiate', { reference });
    const ofNobody = await as(stranger.merchant, 'POST', '/v1/refunds/initiate', { reference: 'NOBODYS' });

    expect(ofAnother.status).toBe(404);
    expect(ofAnother.body).toEqual(ofNobody.body);
  });

  test.each([
    [{}, 'reference'],
    [{ amount: 0 }, 'amount'],
    [{ amount: 1.005 }, 'amount'],
    [{ amount: '1' }, 'amount'],
    [{ reason: '' }, 'reason'],
    [{ colour: 'blue' }, 'colour'],
  ])('with %j gets 400 that names %s', async (more, path) => {
    const reference = await charge();
    const { status, body } = await initiate(path === 'reference' ? more : { reference, ...more });

    expect(status).toBe(400);
    expect(body.errors?.map((problem) => problem.path)).toEqual([path]);
    expect(await refunded(reference)).toBe(0);
  });

  test('happens once for one idempotency key', async () => {
    const reference = await charge();
    const key = { 'idempotency-key': reference };

    const first = await initiate({ reference, amount: 10 }, key);
    const again = await initiate({ reference, amount: 10 }, key);

    expect(again.body).toEqual(first.body);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await refunded(reference)).toBe(10);
  });
});

describe('the bank’s answer', () => {
  test('completes the refund, and the same again changes nothing', async () => {
    const refundId = await refund(await charge());
    const answer = { refundId, action: 'completed', bankTransactionId: `back-${refundId}` };

    expect(await respond(answer)).toMatchObject({
      status: 200,
      body: { data: { refundId, status: 'completed' } },
    });
    expect(await respond(answer)).toMatchObject({
      status: 200,
      body: { data: { refundId, status: 'completed' } },
    });
    expect(await refundState(db, refundId)).toMatchObject({ status: 'completed', next: null });
  });

  test('that rejects gives the amount back to be refunded again, once', async () => {
    const reference = await charge();
    const refundId = await refund(reference, 60);
    const answer = { refundId, action: 'rejected', reason: 'account_closed' };

    expect(await respond(answer)).toMatchObject({
      status: 200,
      body: { data: { refundId, status: 'rejected' } },
    });
    await respond(answer);

    expect(await refunded(reference)).toBe(0);
    expect((await initiate({ reference })).body.data).toMatchObject({ amount: 100 });
  });

  test('in the bank’s own words stays with the refund, and out of what is kept for good', async () => {
    const reference = await charge();
    const { body } = await initiate({ reference, reason: 'Ada Obi moved away' });
    const refundId = String(body.data?.['refundId']);
    await respond({ refundId, action: 'rejected', reason: 'Ada Obi closed her account' });

    expect((await as(tokens.bank, 'GET', `/v1/refunds/${refundId}`)).body.data).toMatchObject({
      reason: 'Ada Obi moved away',
      rejectReason: 'Ada Obi closed her account',
    });
    const kept = await rows<{ details: object }>(
      db,
      `SELECT details FROM events WHERE resource_id = :refundId`,
      {
        refundId,
      },
    );
    expect(kept).toHaveLength(2);
    expect(JSON.stringify(kept)).not.toContain('Ada');
  });

  test('that says something else later gets 409 with the true status, and is kept', async () => {
    const reference = await charge();
    const refundId = await refund(reference);
    await respond({ refundId, action: 'completed', bankTransactionId: `one-${refundId}` });

    for (const other of [
      { action: 'rejected' },
      { action: 'completed', bankTransactionId: `two-${refundId}` },
    ]) {
      expect(await respond({ refundId, ...other })).toMatchObject({
        status: 409,
        body: { data: { refundId, status: 'completed' } },
      });
    }

    expect(await refunded(reference)).toBe(100);
    expect(
      await rows(db, `SELECT id FROM reconciliation_exceptions WHERE refund_id = :refundId`, { refundId }),
    ).toHaveLength(1);
  });

  test.each(['completed', 'rejected'])('that says %s may bring both an id and a reason', async (action) => {
    const refundId = await refund(await charge());
    const answer = { refundId, action, bankTransactionId: `both-${refundId}`, reason: 'as agreed' };

    expect((await respond(answer)).status).toBe(200);
    expect((await respond(answer)).status).toBe(200);

    const { body } = await as(tokens.bank, 'GET', `/v1/refunds/${refundId}`);
    expect(body.data).toMatchObject(
      action === 'completed'
        ? { bankTransactionId: answer.bankTransactionId, rejectReason: null }
        : { bankTransactionId: null, rejectReason: 'as agreed' },
    );
  });

  test('of two that race counts once', async () => {
    const reference = await charge();
    const refundId = await refund(reference);

    const answers = await Promise.all([
      respond({ refundId, action: 'completed', bankTransactionId: `back-${refundId}` }),
      respond({ refundId, action: 'rejected' }),
    ]);

    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    const [one, other] = answers.map(({ body }) => body.data?.['status']);
    expect(one).toBe(other);
    expect(await refunded(reference)).toBe(one === 'completed' ? 100 : 0);
  });

  test('names each movement of money once, be it a debit or a refund', async () => {
    const reference = await charge();
    const [first, second] = [await refund(reference, 10), await refund(reference, 10)];
    const { body } = await as(tokens.bank, 'GET', `/v1/transaction-details?reference=${reference}`);
    const debit = String(body.data?.['bankTransactionId']);

    expect((await respond({ refundId: first, action: 'completed', bankTransactionId: debit })).status).toBe(
      409,
    );
    await respond({ refundId: first, action: 'completed', bankTransactionId: `own-${first}` });
    expect(
      (await respond({ refundId: second, action: 'completed', bankTransactionId: `own-${first}` })).status,
    ).toBe(409);
    expect((await refundState(db, second)).status).toBe('pending');
  });

  test('to another bank’s refund gets what that to nobody’s gets', async () => {
    const refundId = await refund(await charge());
    const stranger = await tokensOf(api, await standingApproval(db, api.deps.ring));

    const answer = { action: 'rejected' };
    const toAnother = await respond({ refundId, ...answer }, stranger.bank);
    const toNobody = await respond({ refundId: 'rfd_x', ...answer }, stranger.bank);

    expect(toAnother.status).toBe(404);
    expect(toAnother.body).toEqual(toNobody.body);
  });

  test.each([
    [{ action: 'lost' }, 'action'],
    [{}, 'action'],
    [{ action: 'completed' }, 'bankTransactionId'],
  ])('%j gets 400 that names %s', async (answer, path) => {
    const { status, body } = await respond({ refundId: 'rfd_x', ...answer });

    expect(status).toBe(400);
    expect(body.errors?.map((problem) => problem.path)).toEqual([path]);
  });
});

const remind = (refundId: string) =>
  db.transaction((trx) => remindBank(trx, api.deps.ring, 'Africa/Lagos', refundId));
const told = async (refundId: string) =>
  rows<{ type: string }>(db, `SELECT type FROM events WHERE resource_id = :refundId ORDER BY sequence`, {
    refundId,
  });

describe('a refund that takes long', () => {
  test('is overdue from its day on and not before, and the bank is reminded', async () => {
    const refundId = await refund(await charge());
    await remind(refundId);
    expect(await told(refundId)).toHaveLength(1);

    await moveClock(db, standing.merchantId, '10 days');
    await Promise.all([remind(refundId), remind(refundId)]);

    const { body } = await as(tokens.merchant, 'GET', `/v1/refunds/${refundId}`);
    expect(body.data).toMatchObject({ status: 'pending', overdue: true });
    expect((await told(refundId)).map(({ type }) => type)).toEqual(['refund.requested', 'refund.overdue']);
    const { next } = await refundState(db, refundId);
    expect(next?.inMs).toBeGreaterThan(0);

    await moveClock(db, standing.merchantId, '5 days');
    await remind(refundId);
    expect((await told(refundId)).map(({ type }) => type).slice(2)).toEqual(['refund.reminded']);
    expect((await respond({ refundId, action: 'rejected' })).status).toBe(200);
  });
});

describe('reading refunds', () => {
  const ROLES: Who[] = ['bank', 'provider', 'merchant'];

  test.each(ROLES)('is open to the %s concerned, in the list, alone, and in the history', async (role) => {
    const reference = await charge();
    const refundId = await refund(reference, 40);
    await respond({ refundId, action: 'completed', bankTransactionId: `back-${refundId}` });

    const one = await as(tokens[role], 'GET', `/v1/refunds/${refundId}`);
    const list = await as(tokens[role], 'GET', '/v1/refunds?status=completed');
    const history = await as(tokens[role], 'GET', '/v1/transaction-history?type=refund');

    expect(one.body.data).toMatchObject({ refundId, amount: 40, status: 'completed' });
    expect('bankTransactionId' in (one.body.data ?? {})).toBe(role === 'bank');
    expect(list.body.data).toMatchObject({ refunds: [one.body.data], total: 1, page: 1, limit: 20 });
    expect(history.body.data?.['transactions']).toMatchObject([
      {
        type: 'refund',
        reference: one.body.data?.['reference'],
        amount: 40,
        status: 'completed',
        refundedAmount: 0,
      },
    ]);
    const details = await as(tokens[role], 'GET', `/v1/transaction-details?reference=${reference}`);
    expect(details.body.data).toMatchObject({ refundedAmount: 40 });
    expect(((details.body.data?.['events'] ?? []) as { type: string }[]).map(({ type }) => type)).toEqual([
      'billing_request.accepted',
      'billing_request.successful',
      'refund.requested',
      'refund.completed',
    ]);
  });

  test.each(ROLES)('of others is to a %s like reading nobody’s', async (role) => {
    const refundId = await refund(await charge());
    const stranger = await tokensOf(api, await standingApproval(db, api.deps.ring));

    const ofAnother = await as(stranger[role], 'GET', `/v1/refunds/${refundId}`);
    const ofNobody = await as(stranger[role], 'GET', '/v1/refunds/rfd_x');

    expect(ofAnother.status).toBe(404);
    expect(ofAnother.body).toEqual(ofNobody.body);
    expect((await as(stranger[role], 'GET', '/v1/refunds')).body.data).toMatchObject({
      refunds: [],
      total: 0,
    });
  });
});
