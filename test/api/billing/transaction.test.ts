import { addDays, calendarDay } from '../../../src/domain/calendar';
import { letMidnightPass } from '../../support/midnight';
import { payAnother } from '../../support/settled';
import {
  answerRefund,
  approve,
  bill,
  charge,
  decline,
  eventsOf,
  history,
  itemsOf,
  refund,
  ROLES,
  shareApi,
  type Caller,
  type Parties,
  type Shown,
} from '../../support/shared-api';
import { lookupIdOf, moveClock } from '../../support/standing';

const served = shareApi();
let parties: Parties;
beforeEach(async () => {
  parties = await served.parties();
});

const HISTORY = '/v1/transaction-history';
const details = (caller: Caller, reference: unknown) =>
  caller.read(`/v1/transaction-details?reference=${String(reference)}`);

async function file(query = '?format=csv', caller = parties.merchant) {
  const [header = '', ...lines] = (await caller.file(`${HISTORY}${query}`)).split('\r\n').slice(0, -1);
  return { names: header.split(','), lines };
}

const told = async (caller: Caller, reference: string) => {
  const timeline = (await details(caller, reference))['timeline'] as {
    at: string;
    what: string;
    text: string;
  }[];
  return { timeline, of: (what: string) => timeline.flatMap((one) => (one.what === what ? one.text : [])) };
};

/** A charge by a call with these headers. */
const called = async (headers: Record<string, string>) => {
  const wish = { paymentIDs: [parties.paymentId], amount: 30.5, currency: 'NGN', description: 'Shoes' };
  const [item] = itemsOf(await parties.merchant.post('/v1/customer/bill', wish, headers));
  return { id: String(item?.billingRequestId), reference: String(item?.reference) };
};

describe('the timeline of a transaction', () => {
  it('is one line of time from the call to the books, in words', async () => {
    const { id, reference } = await called({ 'x-request-id': 'shop-42', 'idempotency-key': 'order-42' });
    await approve(parties, id);
    const { timeline, of } = await told(parties.merchant, reference);

    expect(timeline.map(({ what }) => what)).toEqual(['call', 'event', 'event', 'ledger', 'webhook']);
    expect(of('call')).toEqual([expect.stringMatching(/with an idempotency key, request shop-42$/)]);
    expect(of('event')).toEqual([
      expect.stringMatching(/^charge accepted: .* NGN 30\.50, request shop-42, by the merchant$/),
      expect.stringMatching(/^charge successful: .*, by the bank$/),
    ]);
    expect(of('ledger')).toEqual([
      expect.stringMatching(new RegExp(`: credit merchant of ${parties.merchantId} NGN 30\\.50$`)),
    ]);
    expect(of('webhook')).toEqual([
      expect.stringMatching(new RegExp(`billing.response dlv_\\w+ announced to ${parties.merchantId}`)),
    ]);
    expect(timeline.map(({ at }) => at)).toEqual(timeline.map(({ at }) => at).toSorted());
  });

  it('says that an act was the provider’s to a merchant, and by what request to the provider alone', async () => {
    const { reference } = await bill(parties);
    const untrusted = { merchantId: parties.merchantId, trustLevel: 'untrusted' };
    const headers = { 'x-request-id': 'ticket-4711' };
    await parties.provider.send('PATCH', '/v1/provider/merchant/trust', untrusted, headers);

    const toMerchant = await told(parties.merchant, reference);
    expect(toMerchant.of('act')).toEqual([expect.stringMatching(/by the provider$/)]);
    const toProvider = await told(parties.provider, reference);
    expect(toProvider.of('act')).toEqual([expect.stringMatching(/request ticket-4711$/)]);
  });

  it('has the request of each answer of a bank, for that bank alone', async () => {
    const { id: billingRequestId, reference } = await called({ 'x-request-id': 'shop-44' });
    for (const [n, status] of [200, 409].entries()) {
      const answer = { billingRequestId, bankTransactionId: `FT-${n}` };
      const headers = { 'x-request-id': `core-${n}` };
      expect((await parties.bank.post('/v1/billing/bank-response', answer, headers)).status).toBe(status);
    }

    expect((await told(parties.bank, reference)).of('event')).toEqual([
      expect.stringMatching(/^charge accepted: .* NGN 30\.50, by the merchant$/),
      expect.stringMatching(/^charge successful: .*, request core-0, by the bank$/),
      expect.stringMatching(/^exception opened: .*, request core-1, by the bank$/),
    ]);
    for (const caller of [parties.merchant, parties.provider]) {
      expect(JSON.stringify(await told(caller, reference))).not.toContain('core-');
    }
  });

  it('tells each party nothing that is of others alone', async () => {
    const { id, reference } = await called({ 'x-request-id': 'shop-43' });
    await approve(parties, id);
    for (const role of ROLES) {
      const text = JSON.stringify((await told(parties[role], reference)).timeline);
      const [ofMerchant, ofBank] = [role !== 'bank', role === 'bank'];
      expect(text.includes('shop-43')).toBe(role === 'merchant');
      expect(text.includes('bankTransactionId')).toBe(ofBank);
      expect(text.includes(`credit merchant of ${parties.merchantId}`)).toBe(ofMerchant);
      expect(text.includes(`debit customer_bank of ${parties.bankId}`)).toBe(ofBank);
      expect(text.includes('billing.request')).toBe(ofBank);
      expect(text.includes('workflow')).toBe(false);
    }
  });

  it('has nothing of another merchant, whose bank has taken the reference for its own id', async () => {
    const { reference } = await charge(parties);
    const shown = () => Promise.all(ROLES.map((role) => details(parties[role], reference)));
    const before = await shown();
    const others = await served.parties();
    expect((await approve(others, (await bill(others)).id, reference)).status).toBe(200);

    expect(await shown()).toEqual(before);
  });
});

describe('the details of a transaction', () => {
  test('show each party the record as in the history, and its time line; the bank’s own id to the bank', async () => {
    const { id, reference } = await charge(parties);
    for (const role of ROLES) {
      const shown = await details(parties[role], reference);
      const { events, timeline, ...record } = shown;
      expect(timeline).not.toEqual([]);
      const [listed] = await history(parties[role]);
      expect(record).toEqual({
        ...listed,
        merchantName: 'Merchant',
        bankName: 'Bank',
        customerName: role === 'bank' ? 'Ada Obi' : null,
        payeeName: null,
        closedAt: record['settledAt'],
        expiresAt: null,
        approvalRequired: false,
        related: [{ type: 'charge', reference, status: 'successful', amount: 100, currency: 'NGN' }],
        exceptionIds: [],
        deliveries:
          role === 'provider'
            ? []
            : [
                {
                  deliveryId: expect.stringMatching(/^dlv_/) as string,
                  webhookType: expect.any(String) as string,
                  status: 'failed',
                  createdAt: expect.any(String) as string,
                },
              ],
      });
      expect(record).toMatchObject({ reference, type: 'charge', status: 'successful', amount: 100 });
      expect(await details(parties[role], record['transactionId'])).toEqual(shown);
      expect(events).toEqual([
        { type: 'billing_request.accepted', at: record['createdAt'], cause: 'merchant' },
        { type: 'billing_request.successful', at: record['settledAt'], cause: 'bank' },
      ]);
      expect(JSON.stringify(shown).includes(`tx-${id}`)).toBe(role === 'bank');
    }
  });

  test('and the search say until when a charge is pending, and nothing once it is answered', async () => {
    const { id, reference } = await bill(parties);
    const read = async () => {
      const shown = ROLES.map(async (role) => {
        const { body } = await parties[role].post('/v1/transaction-history/search', {});
        const { transactions } = body.data as unknown as { transactions: Shown[] };
        return [(await details(parties[role], reference))['expiresAt'], transactions[0]?.['expiresAt']];
      });
      return (await Promise.all(shown)).flat();
    };
    const { expiresAt } = await parties.merchant.read(`/v1/billing/requests/${id}`);
    expect(await read()).toEqual(Array.from({ length: 6 }, () => expiresAt));
    await approve(parties, id);
    expect(await read()).toEqual(Array.from({ length: 6 }, () => null));
  });

  test('say why a charge was declined, also in the bank’s own words', async () => {
    const declineReason = 'The card in her drawer has expired';
    const { id, reference } = await bill(parties);
    await decline(parties, id, declineReason);

    expect(await details(parties.merchant, reference)).toMatchObject({ declineReason });
    expect((await eventsOf(parties.merchant, reference)).slice(1)).toMatchObject([
      { type: 'billing_request.declined', declineReason },
    ]);
  });

  test('are to others those of nobody, by the id, too', async () => {
    const { reference } = await charge(parties);
    const { transactionId } = await details(parties.merchant, reference);
    const strangers = await served.parties();
    for (const role of ROLES) {
      const foreign = await strangers[role].get(`/v1/transaction-details?reference=${String(transactionId)}`);
      const ofNobody = await strangers[role].get('/v1/transaction-details?reference=NOBODYS');
      expect(foreign).toMatchObject({ status: 404, body: ofNobody.body });
    }
  });

  test('need a reference', async () => {
    for (const query of ['', '?reference=']) {
      expect(await parties.merchant.get(`/v1/transaction-details${query}`)).toMatchObject({
        status: 400,
        body: { errors: [{ path: 'query.reference' }] },
      });
    }
  });
});

const references = (found: Shown[]) => found.map(({ reference }) => reference);

const named = async (by: Parties, bankTransactionId: string) =>
  (await history(by.bank, `?bankTransactionId=${bankTransactionId}`)).map(({ type }) => type);

/** Charges of two merchants, told by their descriptions, at two banks. */
async function fiveCharges() {
  const others = await served.parties();
  const oneTime = async ({ merchant }: Parties, at: Parties, amount: number, description: string) => {
    const lookupIDs = [await lookupIdOf(served.db, at.customerId)];
    const wish = { lookupIDs, amount, currency: 'NGN', description };
    const [item] = itemsOf(await merchant.post('/v1/customer/bill', wish));
    await approve(at, item?.billingRequestId ?? '');
  };
  const agreed = await charge(parties, { amount: 30.5, description: 'agreed' });
  const declined = await bill(parties, { amount: 20, description: 'declined' });
  await decline(parties, declined.id);
  const pending = await bill(parties, { amount: 50, description: 'pending' });
  await oneTime(parties, others, 10, 'elsewhere');
  await oneTime(others, parties, 40, 'of another');
  return { agreed, pending, others };
}
const described = (found: Shown[]) => found.map(({ description }) => description);

describe('the history', () => {
  test('shows each party its own, the newest first; what is open or declined has not settled', async () => {
    const { agreed, others } = await fiveCharges();
    expect(described(await history(others.merchant))).toEqual(['of another']);
    expect(described(await history(others.bank))).toEqual(['elsewhere']);
    const [ofBank] = (await history(parties.bank)).toReversed();
    expect(described(await history(parties.bank))).toEqual(['of another', 'pending', 'declined', 'agreed']);
    const ofMerchant = await history(parties.merchant);
    expect(
      ofMerchant.map((one) => [one['description'], one['status'], one['declineReason'], !one['settledAt']]),
    ).toEqual([
      ['elsewhere', 'successful', null, false],
      ['pending', 'pending', null, true],
      ['declined', 'declined', 'insufficient_funds', true],
      ['agreed', 'successful', null, false],
    ]);
    // All that there is to say about the money, and nothing about the person.
    const { metadata: _, ...record } = ofMerchant[3] ?? {};
    expect(record).toEqual({
      transactionId: expect.stringMatching(/^txn_[0-9a-z]{26}$/),
      reference: agreed.reference,
      type: 'charge',
      status: 'successful',
      amount: 30.5,
      currency: 'NGN',
      description: 'agreed',
      customerId: parties.customerId,
      merchantId: parties.merchantId,
      bankId: parties.bankId,
      billingRequestId: agreed.id,
      scheduleId: null,
      declineReason: null,
      refundedAmount: 0,
      reversedAmount: 0,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      settledAt: expect.stringMatching(/Z$/),
    });
    const toBank = { bankTransactionId: `tx-${agreed.id}`, payeeBankId: null, payeeLookupID: null };
    expect(ofBank).toEqual({ ...record, ...toBank });
  });

  test('is narrowed down, by several filters at once too, and cut into pages that leave nothing out', async () => {
    const { pending, others } = await fiveCharges();
    const all = await history(parties.merchant);
    const at = (description: string) =>
      String(all.find((one) => one['description'] === description)?.['createdAt']);
    const { customerId } = parties;
    const filters: [Record<string, string>, string[]][] = [
      [{ status: 'declined' }, ['declined']],
      [{ type: 'refund' }, []],
      [{ customerId }, ['pending', 'declined', 'agreed']],
      // One that cannot be.
      [{ customerId: 'ada' }, []],
      [{ merchantId: 'shop' }, []],
      [{ merchantId: others.merchantId }, []],
      [{ reference: pending.reference }, ['pending']],
      [{ customerId, status: 'successful' }, ['agreed']],
      [{ from: '2999-01-01T00:00:00Z' }, []],
      [{ to: '2000-01-01T00:00:00Z' }, []],
      // The first moment is in, and the last is out.
      [{ from: at('declined'), to: at('elsewhere') }, ['pending', 'declined']],
    ];
    for (const [query, expected] of filters) {
      const read = await parties.merchant.read(`${HISTORY}?${new URLSearchParams(query).toString()}`);
      const seen = described(read['transactions'] as Shown[]);
      expect({ query, seen, total: read['total'] }).toEqual({
        query,
        seen: expected,
        total: expected.length,
      });
    }

    const page = (n: number) =>
      parties.merchant.read(`${HISTORY}?sortBy=amount&sortOrder=asc&limit=3&page=${n}`);
    const pages = [await page(1), await page(2), await page(3)];
    expect(pages.map(({ transactions }) => (transactions as Shown[]).map(({ amount }) => amount))).toEqual([
      [10, 20, 30.5],
      [50],
      [],
    ]);
    expect(pages[1]).toMatchObject({ total: 4, page: 2, limit: 3 });
  });

  test.each([
    'colour=blue',
    'status=lost',
    'from=2026-01-01T00:00:00',
    'limit=0',
    'limit=101',
    'sortBy=customerEmail',
  ])('is refused by name for %s', async (query) => {
    const { status, body } = await parties.merchant.get(`${HISTORY}?${query}`);
    expect([status, body.errors?.map(({ path }) => path)]).toEqual([400, [`query.${query.split('=')[0]}`]]);
  });

  test('is asked for by when its money moved, whenever it was made', async () => {
    const { reference } = await charge(parties);
    const pending = await bill(parties);
    const before = new Date().toISOString();
    await moveClock(served.db, parties.merchantId, '3 hours');
    const later = await charge(parties);
    await refund(parties, reference, 20, 'completed');
    await approve(parties, pending.id);
    for (const role of ROLES) {
      const found = (query: string) => history(parties[role], `?sortOrder=asc&${query}`);
      expect(references(await found(`settledTo=${before}`))).toEqual([reference]);
      const since = await found(`settledFrom=${before}`);
      expect(since.map(({ type }) => type)).toEqual(['charge', 'charge', 'refund']);
      expect(references(since).slice(0, 2)).toEqual([pending.reference, later.reference]);
      expect(await found(`settledFrom=${before}&settledTo=${before}`)).toEqual([]);
      const { lines } = await file(`?format=csv&settledFrom=${before}`, parties[role]);
      expect(lines).toHaveLength(3);
    }
  });

  test('is asked for by settlement days of the network’s zone, both included', async () => {
    await letMidnightPass();
    const today = await charge(parties);
    await moveClock(served.db, parties.merchantId, '24 hours');
    const tomorrow = await charge(parties);
    const found = async (query: string) =>
      references(await history(parties.merchant, `?sortOrder=asc&${query}`));
    const first = calendarDay(new Date(), 'Africa/Lagos');
    const second = addDays(first, 1);
    expect(await found(`settledFrom=${first}&settledTo=${first}`)).toEqual([today.reference]);
    expect(await found(`settledFrom=${first}&settledTo=${second}`)).toHaveLength(2);
    expect(await found(`settledFrom=${second}`)).toEqual([tomorrow.reference]);
    const message = expect.stringMatching(/^must be a day, as in/) as string;
    expect(await parties.merchant.get(`${HISTORY}?settledTo=yesterday`)).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'query.settledTo', message }] },
    });
  });

  test('is asked for by the id that a bank gave, by banks alone', async () => {
    const stranger = await served.parties();
    const { id, reference } = await charge(parties);
    const refundId = await refund(parties, reference, 20);
    await answerRefund(parties, refundId, 'completed');
    const payment = await payAnother(served.db, parties, stranger);
    expect(await named(parties, `tx-${id}`)).toEqual(['charge']);
    expect(await named(parties, `transfer-${refundId}`)).toEqual(['refund']);
    expect(await named(stranger, `tx-${id}`)).toEqual([]);
    // The payee's bank got the id with the money.
    expect(await named(stranger, `tx-${payment.id}`)).toEqual(['charge']);
    for (const caller of [parties.merchant, parties.provider]) {
      expect(await caller.get(`${HISTORY}?bankTransactionId=tx-${id}`)).toMatchObject({
        status: 400,
        body: { errors: [{ path: 'query.bankTransactionId' }] },
      });
    }
  });
});

describe('the history as a file', () => {
  test('has the fields of the records, in the order of the history, those of the bank for the bank alone', async () => {
    await bill(parties);
    const { reference } = await charge(parties);
    for (const role of ROLES) {
      const [newest] = (await history(parties[role])) as Record<string, string | number | null>[];
      const { names, lines } = await file('?format=csv', parties[role]);
      expect(names.toSorted()).toEqual(Object.keys(newest ?? {}).toSorted());
      expect(lines).toHaveLength(2);
      expect(lines[0]?.split(',')).toEqual(
        names.map((name) => (name === 'metadata' ? '"{}"' : String(newest?.[name] ?? ''))),
      );
      expect(lines[0]).toContain(reference);
      expect(names.includes('bankTransactionId')).toBe(role === 'bank');
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
    const answered = await parties.merchant.send('GET', `${HISTORY}${query}`, undefined, headers);
    expect(answered.headers.get('content-type')).toContain(type);
    expect((await parties.merchant.get(`${HISTORY}?format=xml`)).status).toBe(400);
  });

  test('does not let what a merchant typed run in the reader’s spreadsheet', async () => {
    await bill(parties, { description: '=HYPERLINK("https://bad.example")' });
    const { lines } = await file();
    expect(lines[0]).toContain(`,"'=HYPERLINK(""https://bad.example"")",`);
  });

  test('takes the filters of the history, and no notice of its pages', async () => {
    const { reference } = await charge(parties);
    await bill(parties);
    await bill(parties);

    const successful = await file('?format=csv&status=successful');
    expect(successful.lines).toEqual([expect.stringContaining(reference)]);
    expect((await file('?format=csv&page=2&limit=1')).lines).toHaveLength(3);
  });

  test('has each of thousands once, in every order, also of those that are equal in it', async () => {
    await bill(parties);
    // Microseconds and equals on both sides of where a page of a thousand ends.
    const tag = parties.merchantId.slice(-10);
    await served.db.rows`
      INSERT INTO billing_requests (id, reference, batch_id, merchant_id, customer_id, bank_id,
        lookup_id, amount, currency, description, approval_required, expires_at, workflow_id, created_at)
      SELECT 'brq_' || ${tag} || n, ${tag} || n, batch_id, merchant_id, customer_id, bank_id,
        lookup_id, 100 + n / 700, currency, n::text, true, expires_at, workflow_id,
        created_at + n / 10 * interval '1 microsecond'
      FROM billing_requests, generate_series(1, 2500) AS n WHERE merchant_id = ${parties.merchantId}`;

    for (const sortBy of ['createdAt', 'amount']) {
      for (const order of ['asc', 'desc']) {
        const { names, lines } = await file(`?format=csv&sortBy=${sortBy}&sortOrder=${order}`);
        const column = (name: string) => lines.map((line) => line.split(',')[names.indexOf(name)] ?? '');
        expect(lines).toHaveLength(2501);
        expect(new Set(column('reference')).size).toBe(2501);
        const sorted = column(sortBy).toSorted((a, b) =>
          sortBy === 'amount' ? Number(a) - Number(b) : a < b ? -1 : a > b ? 1 : 0,
        );
        expect(column(sortBy)).toEqual(order === 'asc' ? sorted : sorted.toReversed());
      }
    }
  });
});
