import { LIST_REACH } from '../../../src/database/query/list-page';
import { apiOfFile, send, tokensOf } from '../../support/api';
import { standingApproval, type Standing } from '../../support/standing';

/**
 * Lists that are longer than they are counted, of charges that stand for all: they are written by
 * one statement.
 */

const { api, db } = apiOfFile();
let standing: Standing;
let tokens: Record<'bank' | 'provider' | 'merchant', string>;

beforeAll(async () => {
  standing = await standingApproval(db);
  tokens = await tokensOf(api, standing);
  await charges(1, LIST_REACH);
});

/** The n-th is n minutes old. */
async function charges(first: number, last: number): Promise<void> {
  await db.rows`
    INSERT INTO billing_requests (id, reference, batch_id, merchant_id, customer_id, bank_id, lookup_id,
      agreement_id, amount, currency, description, approval_required, expires_at, workflow_id, created_at)
    SELECT 'brq_' || lpad(n::text, 26, '0'), lpad(n::text, 24, '0'), 'bat_1', a.merchant_id, a.customer_id,
      a.bank_id, 'a-b-c-d-10', a.id, 100 * n, 'NGN', 'Shoes', false, clock_timestamp() + interval '1 day',
      'billing-request/' || n,
      clock_timestamp() - n * interval '1 minute'
    FROM agreements a, generate_series(${first}::int, ${last}::int) AS n WHERE a.id = ${standing.agreementId}`;
}

const referenceOf = (n: number) => String(n).padStart(24, '0');

interface History {
  message: string;
  errors: { path: string; message: string }[];
  data: { transactions: { reference: string }[]; total: number; totalIsMinimum?: boolean };
}

const get = (path: string, role: keyof typeof tokens = 'merchant') =>
  send(api.url, 'GET', path, undefined, { authorization: `Bearer ${tokens[role]}` });

async function history(query: string, role: keyof typeof tokens = 'merchant') {
  const { status, body } = await get(`/v1/transaction-history${query}`, role);
  return { status, ...(body as unknown as History) };
}

describe('a list as long as it is counted', () => {
  it('tells its total exactly, has all its pages and orders, and is empty beyond', async () => {
    const last = await history(`?limit=100&page=${LIST_REACH / 100}`);
    expect(last.data).toMatchObject({ total: LIST_REACH, limit: 100 });
    expect(last.data).not.toHaveProperty('totalIsMinimum');
    expect(last.data.transactions.at(-1)?.reference).toBe(referenceOf(LIST_REACH));

    const largest = await history('?limit=1&sortBy=amount');
    expect(largest.data.transactions).toMatchObject([{ reference: referenceOf(LIST_REACH) }]);

    const beyond = await history('?limit=100&page=100000');
    expect(beyond).toMatchObject({ status: 200, data: { transactions: [], total: LIST_REACH } });
  });
});

describe('a longer list', () => {
  beforeAll(() => charges(LIST_REACH + 1, LIST_REACH + 50));

  it.each(['bank', 'provider', 'merchant'] as const)('tells a %s that there are more', async (role) => {
    const first = await history('?limit=2', role);
    expect(first.message).toBe('more than 10000 transactions');
    expect(first.data).toMatchObject({ total: LIST_REACH, totalIsMinimum: true });
    expect(first.data.transactions.map(({ reference }) => reference)).toEqual([
      referenceOf(1),
      referenceOf(2),
    ]);
  });

  it('has the pages up to there, and refuses the next with what to do instead', async () => {
    const last = await history(`?limit=100&page=${LIST_REACH / 100}`);
    expect(last.data.transactions.at(-1)?.reference).toBe(referenceOf(LIST_REACH));

    const next = await history(`?limit=100&page=${LIST_REACH / 100 + 1}`);
    expect(next.status).toBe(400);
    expect(next.errors).toMatchObject([
      { path: 'query.page', message: expect.stringContaining('format=csv') as string },
    ]);
  });

  it.each(['', '&format=csv'])('is not sorted by what has no index%s', async (format) => {
    const refused = await history(`?sortBy=amount${format}`);
    expect(refused.status).toBe(400);
    expect(refused.errors).toMatchObject([
      { path: 'query.sortBy', message: expect.stringContaining('from and to') as string },
    ]);
    const tenth = await db.row<{ createdAt: Date }>`
      SELECT created_at AS "createdAt" FROM billing_requests WHERE reference = ${referenceOf(10)}`;
    const from = new Date((tenth?.createdAt.getTime() ?? 0) - 30_000).toISOString();
    const narrowed = await history(`?sortBy=amount&limit=1&from=${from}`);
    expect(narrowed.data).toMatchObject({ total: 10, transactions: [{ reference: referenceOf(10) }] });
  });

  it('goes whole into a file', async () => {
    const file = await fetch(`${api.url}/v1/transaction-history?format=csv`, {
      headers: { authorization: `Bearer ${tokens.bank}` },
    });
    expect((await file.text()).trim().split('\r\n')).toHaveLength(1 + LIST_REACH + 50);
  });
});

describe('a transaction to which more has happened than is shown', () => {
  it('shows the latest of it, oldest first', async () => {
    await db.rows`
      INSERT INTO events (id, resource_id, sequence, type, cause, details, business_at, commit_id)
      SELECT 'evt_' || lpad(n::text, 26, '0'), ${`brq_${'1'.padStart(26, '0')}`}, n, 'billing_request.' || n,
        'bank', '{}', clock_timestamp() + n * interval '1 second',
        gen_random_uuid()
      FROM generate_series(1, 1002) AS n`;
    const { body } = await get(`/v1/transaction-details?reference=${referenceOf(1)}`);
    const { events } = (body as unknown as { data: { events: { type: string }[] } }).data;
    expect([events.length, events[0]?.type, events.at(-1)?.type]).toEqual([
      1_000,
      'billing_request.3',
      'billing_request.1002',
    ]);
  });
});
