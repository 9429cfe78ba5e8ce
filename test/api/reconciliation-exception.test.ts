import { closeExpiredRequests } from '../../src/database/billing-request/outcome';
import type { Database } from '../../src/database/connection';
import { send, serveApi, tokenOf, type Answered, type ServedApi } from '../support/api';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { moveClock, standingApproval, type Standing } from '../support/standing';

/** What somebody has to look into: who sees it, who says what became of the money, and what follows. */

const ROLES = ['bank', 'provider', 'merchant'] as const;
type Shown = Record<string, unknown>;

let database: TestDatabase;
let db: Database;
let api: ServedApi;
let standing: Standing;
let tokens: Record<(typeof ROLES)[number], string>;

beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
  api = await serveApi(db, { settings: { RATE_LIMIT_TOKEN_ADDRESS: '999/999' } });
});
afterAll(async () => {
  await api.close();
  await database.drop();
});
beforeEach(async () => {
  standing = await standingApproval(db, api.deps.ring);
  tokens = await tokensOf(standing);
});

async function tokensOf({ credentials }: Standing): Promise<typeof tokens> {
  const [bank, provider, merchant] = await Promise.all([
    tokenOf(api, credentials.bank),
    tokenOf(api, credentials.provider),
    tokenOf(api, credentials.merchant),
  ]);
  return { bank, provider, merchant };
}

const get = (token: string, path: string): Promise<Answered> =>
  send(api.url, 'GET', path, undefined, { authorization: `Bearer ${token}` });
const post = (token: string, path: string, body: unknown): Promise<Answered> =>
  send(api.url, 'POST', path, body, { authorization: `Bearer ${token}` });

const EXCEPTIONS = '/v1/reconciliation/exceptions';

async function listed(token: string, query = ''): Promise<Shown[]> {
  const { status, body } = await get(token, EXCEPTIONS + query);
  expect(status).toBe(200);
  return body.data?.['exceptions'] as Shown[];
}

/** The only exception there is, as its bank sees it. */
async function theOne(query = ''): Promise<Shown & { exceptionId: string }> {
  const found = await listed(tokens.bank, query);
  expect(found).toHaveLength(1);
  return found[0] as Shown & { exceptionId: string };
}

/** A charge of 100 naira. */
async function charge(): Promise<{ reference: string; id: string }> {
  const { body } = await post(tokens.merchant, '/v1/customer/bill', {
    paymentIDs: [standing.paymentId],
    amount: 100,
    currency: 'NGN',
    description: 'Shoes',
  });
  const [item] = body as unknown as { reference: string; billingRequestId: string }[];
  return { reference: String(item?.reference), id: String(item?.billingRequestId) };
}

const approve = (id: string, bankTransactionId = `debit-of-${id}`) =>
  post(tokens.bank, '/v1/billing/bank-response', { billingRequestId: id, bankTransactionId });
const decline = (id: string, declineReason = 'insufficient_funds') =>
  post(tokens.bank, '/v1/billing/bank-response', { billingRequestId: id, declineReason });

/** A charge whose bank did not answer in time. */
async function unanswered(): Promise<{ reference: string; id: string }> {
  const made = await charge();
  // Whoever read the feed may have debited.
  await get(tokens.bank, '/v1/events');
  await moveClock(db, standing.merchantId, '2 days');
  await db.transaction((trx) => closeExpiredRequests(trx, api.deps.ring, [made.id], 'by its bank'));
  return made;
}

/** A charge that its bank approved, and then called declined. */
async function contradicted(): Promise<{ reference: string; id: string }> {
  const made = await charge();
  expect((await approve(made.id)).status).toBe(200);
  expect((await decline(made.id)).status).toBe(409);
  return made;
}

describe('the list', () => {
  test.each(ROLES)('shows a %s its own exception, and none of the money of others', async (role) => {
    const { reference, id } = await contradicted();
    const stranger = await tokensOf(await standingApproval(db, api.deps.ring));

    expect(await listed(tokens[role])).toEqual([
      {
        exceptionId: expect.stringMatching(/^exc_/) as string,
        kind: 'conflicting_answer',
        state: 'open',
        reference,
        billingRequestId: id,
        refundId: null,
        merchantId: standing.merchantId,
        bankId: standing.bankId,
        amount: 100,
        currency: 'NGN',
        ...(role === 'bank' && { bankTransactionId: null }),
        openedAt: expect.any(String) as string,
        resolvedAt: null,
        resolution: null,
        note: null,
        sequence: expect.any(Number) as number,
      },
    ]);
    expect(await listed(stranger[role])).toEqual([]);
  });

  test('tells the id of a bank’s debit to that bank alone', async () => {
    const { id } = await charge();
    await approve(id);
    await approve(id, 'a-second-debit');

    expect(await theOne()).toMatchObject({ bankTransactionId: 'a-second-debit' });
    for (const role of ['merchant', 'provider'] as const) {
      expect(JSON.stringify(await listed(tokens[role]))).not.toContain('second-debit');
    }
  });

  test('is filtered by state, kind, time and reference, and turned page by page', async () => {
    const late = await unanswered();
    const other = await contradicted();
    const kinds = async (query: string) => (await listed(tokens.merchant, query)).map(({ kind }) => kind);
    const [newest, oldest] = await listed(tokens.merchant);

    expect(await kinds('')).toEqual(['conflicting_answer', 'unanswered']);
    expect(await kinds('?kind=unanswered')).toEqual(['unanswered']);
    expect(await kinds('?state=open&sortOrder=asc')).toEqual(['unanswered', 'conflicting_answer']);
    expect(await kinds('?state=resolved')).toEqual([]);
    expect(await kinds(`?reference=${late.reference}`)).toEqual(['unanswered']);
    expect(await kinds(`?reference=${other.reference}`)).toEqual(['conflicting_answer']);
    expect(await kinds('?reference=NOBODYS')).toEqual([]);
    expect(await kinds(`?from=${String(newest?.['openedAt'])}`)).toEqual(['conflicting_answer']);
    expect(await kinds(`?to=${String(newest?.['openedAt'])}`)).toEqual(['unanswered']);
    expect(await kinds('?limit=1&page=2')).toEqual([oldest?.['kind']]);
    expect((await get(tokens.merchant, `${EXCEPTIONS}?limit=1`)).body.data).toMatchObject({ total: 2 });
    expect((await get(tokens.merchant, `${EXCEPTIONS}?state=closed`)).status).toBe(400);
  });

  test('finds what is about a refund by its own reference, and by that of its charge', async () => {
    const { reference, id } = await charge();
    await approve(id);
    const refund = await post(tokens.merchant, '/v1/refunds/initiate', { reference, amount: 40 });
    const refundId = String(refund.body.data?.['refundId']);
    const answer = { refundId, action: 'completed', bankTransactionId: 'transfer-1' };
    await post(tokens.bank, '/v1/bank/refund-response', answer);
    await post(tokens.bank, '/v1/bank/refund-response', { refundId, action: 'rejected' });

    const own = String(refund.body.data?.['reference']);
    const found = await theOne(`?reference=${own}`);
    expect(found).toMatchObject({ kind: 'refund_conflict', refundId, reference: own, amount: 40 });
    expect(await listed(tokens.provider, `?reference=${reference}`)).toHaveLength(1);
  });
});

describe('one exception', () => {
  test.each(ROLES)('is shown to a %s with its story', async (role) => {
    const { id } = await unanswered();
    await approve(id, 'too-late');
    const { exceptionId } = await theOne();

    const { status, body } = await get(tokens[role], `${EXCEPTIONS}/${exceptionId}`);

    expect(status).toBe(200);
    const { events, ...record } = body.data ?? {};
    expect(record).toEqual((await listed(tokens[role]))[0]);
    expect(record).toMatchObject({ kind: 'late_answer', state: 'open' });
    expect(events).toEqual([
      { type: 'exception.opened', at: expect.any(String) as string, cause: 'network', kind: 'unanswered' },
      { type: 'exception.updated', at: expect.any(String) as string, cause: 'bank', kind: 'late_answer' },
    ]);
  });

  test.each(ROLES)('of somebody else’s money is to a %s what does not exist', async (role) => {
    await contradicted();
    const { exceptionId } = await theOne();
    const stranger = await tokensOf(await standingApproval(db, api.deps.ring));

    const foreign = await get(stranger[role], `${EXCEPTIONS}/${exceptionId}`);

    expect(foreign.status).toBe(404);
    expect(foreign.body).toEqual((await get(stranger[role], `${EXCEPTIONS}/exc_none`)).body);
  });
});
