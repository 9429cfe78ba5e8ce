import { rows, type Database } from '../../../src/database/pool/connection';
import { send, serveApi, tokensOf, type Answered, type ServedApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { answerCharges, standingApproval, type Standing } from '../../support/standing';

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

const ROLES = ['bank', 'provider', 'merchant'] as const;

/** @returns the reference */
async function charge(description = 'Shoes', headers = {}): Promise<string> {
  const { body } = await send(
    api.url,
    'POST',
    '/v1/customer/bill',
    { paymentIDs: [standing.paymentId], amount: 30.5, currency: 'NGN', description },
    { authorization: `Bearer ${tokens.merchant}`, ...headers },
  );
  const [item] = body as unknown as { reference: string }[];
  return String(item?.reference);
}

const details = (token: string, query: string): Promise<Answered> =>
  send(api.url, 'GET', `/v1/transaction-details${query}`, undefined, { authorization: `Bearer ${token}` });

async function file(query = '?format=csv', headers = {}, token = tokens.merchant) {
  const answered = await fetch(`${api.url}/v1/transaction-history${query}`, {
    headers: { authorization: `Bearer ${token}`, ...headers },
  });
  const [header = '', ...lines] = (await answered.text()).split('\r\n').slice(0, -1);
  return { type: answered.headers.get('content-type'), names: header.split(','), lines };
}

interface TimelineEntry {
  at: string;
  what: string;
  text: string;
}

describe('the timeline of a transaction', () => {
  const told = async (role: (typeof ROLES)[number], reference: string) => {
    const { body } = await details(tokens[role], `?reference=${reference}`);
    const timeline = body.data?.['timeline'] as TimelineEntry[];
    return { timeline, of: (what: string) => timeline.flatMap((one) => (one.what === what ? one.text : [])) };
  };

  it('is one line of time from the call to the books, in words', async () => {
    const reference = await charge('Shoes', { 'x-request-id': 'shop-42', 'idempotency-key': 'order-42' });
    await answerCharges(db, api.deps.ring, standing);
    const { timeline, of } = await told('merchant', reference);

    expect(timeline.map(({ what }) => what)).toEqual(['call', 'event', 'event', 'ledger', 'webhook']);
    expect(of('call')).toEqual([expect.stringMatching(/with an idempotency key, request shop-42$/)]);
    expect(of('event')).toEqual([
      expect.stringMatching(/^charge accepted: .* 30.5 NGN, request shop-42, by the merchant$/),
      expect.stringMatching(/^charge successful: .*, by the bank$/),
    ]);
    expect(of('ledger')).toEqual([
      expect.stringMatching(new RegExp(`: credit merchant of ${standing.merchantId} 30.5 NGN$`)),
    ]);
    expect(of('webhook')).toEqual([
      expect.stringMatching(new RegExp(`billing.response dlv_\\w+ announced to ${standing.merchantId}`)),
    ]);
    expect(timeline.map(({ at }) => at)).toEqual(timeline.map(({ at }) => at).toSorted());
  });

  it('says that an act was the provider’s to a merchant, and by what request to the provider alone', async () => {
    const reference = await charge();
    const body = { merchantId: standing.merchantId, trustLevel: 'untrusted' };
    const headers = { authorization: `Bearer ${tokens.provider}`, 'x-request-id': 'ticket-4711' };
    await send(api.url, 'PATCH', '/v1/provider/merchant/trust', body, headers);

    expect((await told('merchant', reference)).of('act')).toEqual([
      expect.stringMatching(/by the provider$/),
    ]);
    expect((await told('provider', reference)).of('act')).toEqual([
      expect.stringMatching(/request ticket-4711$/),
    ]);
  });

  it('has the request of each answer of a bank, for that bank alone', async () => {
    const reference = await charge('Shoes', { 'x-request-id': 'shop-44' });
    const { body } = await details(tokens.merchant, `?reference=${reference}`);
    const { billingRequestId } = body.data ?? {};
    const answer = (id: string, requestId: string) =>
      send(
        api.url,
        'POST',
        '/v1/billing/bank-response',
        { billingRequestId, bankTransactionId: id },
        { authorization: `Bearer ${tokens.bank}`, 'x-request-id': requestId },
      );
    expect((await answer('FT-1', 'core-1')).status).toBe(200);
    expect((await answer('FT-2', 'core-2')).status).toBe(409);

    expect((await told('bank', reference)).of('event')).toEqual([
      expect.stringMatching(/^charge accepted: .* NGN, by the merchant$/),
      expect.stringMatching(/^charge successful: .*, request core-1, by the bank$/),
      expect.stringMatching(/^exception opened: .*, request core-2, by the bank$/),
    ]);
    for (const role of ['merchant', 'provider'] as const) {
      expect(JSON.stringify(await told(role, reference))).not.toContain('core-');
    }
  });

  it.each(ROLES)('tells a %s nothing that is of others alone', async (role) => {
    const reference = await charge('Shoes', { 'x-request-id': 'shop-43' });
    await answerCharges(db, api.deps.ring, standing);
    const { timeline } = await told(role, reference);

    const text = JSON.stringify(timeline);
    const [ofMerchant, ofBank] = [role !== 'bank', role === 'bank'];
    expect(text.includes('shop-43')).toBe(role === 'merchant');
    expect(text.includes('bankTransactionId')).toBe(ofBank);
    expect(text.includes(`credit merchant of ${standing.merchantId}`)).toBe(ofMerchant);
    expect(text.includes(`debit customer_bank of ${standing.bankId}`)).toBe(ofBank);
    expect(text.includes('billing.request')).toBe(ofBank);
    expect(text.includes('workflow')).toBe(false);
  });

  it('has nothing of another merchant, whose bank has taken the reference for its own id', async () => {
    const reference = await charge();
    await answerCharges(db, api.deps.ring, standing);
    const own = tokens;
    const answers = () => Promise.all(ROLES.map((role) => details(own[role], `?reference=${reference}`)));
    const before = await answers();

    standing = await standingApproval(db, api.deps.ring);
    tokens = await tokensOf(api, standing);
    const others = await details(tokens.merchant, `?reference=${await charge('Boots')}`);
    const { billingRequestId } = others.body.data ?? {};
    const body = { billingRequestId, bankTransactionId: reference };
    const authorization = `Bearer ${tokens.bank}`;
    const answered = await send(api.url, 'POST', '/v1/billing/bank-response', body, { authorization });
    expect(answered.status).toBe(200);

    const after = await answers();
    expect(after.map((one) => one.body.data)).toEqual(before.map((one) => one.body.data));
  });
});

describe('the details of a transaction', () => {
  test.each(ROLES)('show a %s the record as in the history, and its time line', async (role) => {
    const reference = await charge();
    await answerCharges(db, api.deps.ring, standing);

    const { status, body } = await details(tokens[role], `?reference=${reference}`);

    expect(status).toBe(200);
    const { events, timeline, ...record } = body.data ?? {};
    expect(timeline).not.toEqual([]);
    const history = await send(api.url, 'GET', '/v1/transaction-history', undefined, {
      authorization: `Bearer ${tokens[role]}`,
    });
    expect(history.body.data?.['transactions']).toEqual([record]);
    expect(record).toMatchObject({ reference, type: 'charge', status: 'successful', amount: 30.5 });
    const byId = await details(tokens[role], `?reference=${String(record['transactionId'])}`);
    expect(byId.body.data).toEqual(body.data);
    expect(events).toEqual([
      { type: 'billing_request.accepted', at: record['createdAt'], cause: 'merchant' },
      { type: 'billing_request.successful', at: record['settledAt'], cause: 'bank' },
    ]);
  });

  test('tell the bank’s own transaction id to nobody else', async () => {
    const reference = await charge();
    await answerCharges(db, api.deps.ring, standing);

    for (const role of ROLES) {
      const { body } = await details(tokens[role], `?reference=${reference}`);
      expect(JSON.stringify(body).includes(`tx-${String(body.data?.['billingRequestId'])}`)).toBe(
        role === 'bank',
      );
    }
  });

  test.each(['insufficient_funds', 'The card in her drawer has expired'])(
    'say why a charge was declined, also in the bank’s own words: %s',
    async (reason) => {
      const reference = await charge();
      await answerCharges(db, api.deps.ring, standing, reason);

      const { body } = await details(tokens.merchant, `?reference=${reference}`);

      expect(body.data).toMatchObject({ declineReason: reason });
      expect(body.data?.['events']).toEqual([
        expect.objectContaining({ type: 'billing_request.accepted' }),
        expect.objectContaining({ type: 'billing_request.declined', declineReason: reason }),
      ]);
    },
  );

  test.each(ROLES)('of someone else are to a %s what those of nobody are', async (role) => {
    const reference = await charge();
    const stranger = await tokensOf(api, await standingApproval(db, api.deps.ring));

    const ofAnother = await details(stranger[role], `?reference=${reference}`);
    const ofNobody = await details(stranger[role], '?reference=NOBODYS');

    expect(ofAnother.status).toBe(404);
    expect(ofAnother.body).toEqual(ofNobody.body);
    const own = await details(tokens[role], `?reference=${reference}`);
    const byId = await details(stranger[role], `?reference=${String(own.body.data?.['transactionId'])}`);
    expect(byId).toMatchObject({ status: 404, body: ofNobody.body });
  });

  test.each([
    ['', 'query.reference'],
    ['?reference=', 'query.reference'],
    ['?reference=A&reference=B', 'query.reference'],
    ['?reference=A&colour=blue', 'query.colour'],
  ])('need one reference and nothing else: %s gets 400', async (query, path) => {
    const { status, body } = await details(tokens.merchant, query);

    expect(status).toBe(400);
    expect(body.errors?.map((problem) => problem.path)).toContain(path);
  });
});

describe('the history as a file', () => {
  test('has the fields of the records, in the order of the history', async () => {
    await charge('first');
    const reference = await charge('second');
    await answerCharges(db, api.deps.ring, standing);
    const { body } = await send(api.url, 'GET', '/v1/transaction-history', undefined, {
      authorization: `Bearer ${tokens.merchant}`,
    });
    const [newest] = (body.data?.['transactions'] ?? []) as Record<string, string | number | null>[];

    const { type, names, lines } = await file();

    expect(type).toMatch(/^text\/csv/);
    expect(names.toSorted()).toEqual(Object.keys(newest ?? {}).toSorted());
    expect(lines).toHaveLength(2);
    expect(lines[0]?.split(',')).toEqual(
      names.map((name) => (name === 'metadata' ? '"{}"' : String(newest?.[name] ?? ''))),
    );
    expect(lines[0]).toContain(reference);
  });

  test('tells the bank, and only the bank, its own transaction id', async () => {
    await charge();
    await answerCharges(db, api.deps.ring, standing);

    expect((await file('?format=csv', {}, tokens.bank)).names).toContain('bankTransactionId');
    for (const token of [tokens.merchant, tokens.provider]) {
      const { names, lines } = await file('?format=csv', {}, token);
      expect(names).not.toContain('bankTransactionId');
      expect(lines).toHaveLength(1);
      expect(lines[0]).not.toContain('tx-');
    }
  });

  test.each([
    ['?format=csv', {}, 'text/csv'],
    ['', { accept: 'text/csv' }, 'text/csv'],
    ['?format=json', { accept: 'text/csv' }, 'application/json'],
    ['?format=csv', { accept: 'application/json' }, 'text/csv'],
    ['', { accept: '*/*' }, 'application/json'],
    ['', { accept: 'text/csv;q=0.5, application/json' }, 'application/json'],
  ])('is asked for by name or by header, the name first: %s %j gets %s', async (query, headers, type) => {
    expect((await file(query, headers)).type).toContain(type);
  });

  test('does not let what a merchant typed run in the reader’s spreadsheet', async () => {
    await charge('=HYPERLINK("https://bad.example")');

    const { lines } = await file();

    expect(lines[0]).toContain(`,"'=HYPERLINK(""https://bad.example"")",`);
  });

  test('takes the filters of the history, and no notice of its pages', async () => {
    const first = await charge('first');
    await answerCharges(db, api.deps.ring, standing);
    await charge('second');
    await charge('third');

    const successful = await file('?format=csv&status=successful');
    const all = await file('?format=csv&page=2&limit=1');

    expect(successful.lines).toEqual([expect.stringContaining(first)]);
    expect(all.lines).toHaveLength(3);
  });

  test.each([
    ['sortBy=createdAt&sortOrder=desc', 'createdAt'],
    ['sortBy=createdAt&sortOrder=asc', 'createdAt'],
    ['sortBy=amount&sortOrder=desc', 'amount'],
    ['sortBy=amount&sortOrder=asc', 'amount'],
  ])('has each of thousands once, also of those equal in %s', async (query, sortBy) => {
    await charge();
    // Microseconds and equals on both sides of where a page of a thousand ends.
    await rows(
      db,
      `INSERT INTO billing_requests (id, transaction_id, reference, batch_id, merchant_id, customer_id, bank_id,
         lookup_id, amount, currency, description, approval_required, expires_at, workflow_id, created_at)
       SELECT 'brq_' || :tag || n, 'txn_' || :tag || n, :tag || n, batch_id, merchant_id, customer_id, bank_id,
         lookup_id, 100 + n / 700, currency, n::text, true, expires_at, workflow_id,
         created_at + n / 10 * interval '1 microsecond'
       FROM billing_requests, generate_series(1, 2500) AS n WHERE merchant_id = :merchantId`,
      { tag: standing.merchantId.slice(-10), merchantId: standing.merchantId },
    );

    const { names, lines } = await file(`?format=csv&${query}`);

    const column = (name: string) => lines.map((line) => line.split(',')[names.indexOf(name)] ?? '');
    expect(new Set(column('reference')).size).toBe(2501);
    expect(lines).toHaveLength(2501);
    const sorted = column(sortBy).toSorted((a, b) =>
      sortBy === 'amount' ? Number(a) - Number(b) : a < b ? -1 : a > b ? 1 : 0,
    );
    expect(column(sortBy)).toEqual(query.endsWith('asc') ? sorted : sorted.toReversed());
  });

  test('in another form than these two is refused', async () => {
    const { status, body } = await send(api.url, 'GET', '/v1/transaction-history?format=xml', undefined, {
      authorization: `Bearer ${tokens.merchant}`,
    });

    expect(status).toBe(400);
    expect(body.errors?.map(({ path }) => path)).toEqual(['query.format']);
  });
});
