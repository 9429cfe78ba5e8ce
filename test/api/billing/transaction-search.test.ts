import { listTransactions } from '../../../src/database/ledger/list-transactions';
import { searchTransactions } from '../../../src/database/ledger/search-transactions';
import type { TransactionFilter } from '../../../src/database/ledger/transaction-filter';
import { totalTransactions } from '../../../src/database/ledger/total-transactions';
import { letMidnightPass } from '../../support/midnight';
import { answerBill, payAnother, resolveAsOperator, settleOfEachKind } from '../../support/settled';
import {
  approve,
  bill,
  callerAt,
  charge,
  decline,
  itemsOf,
  ROLES,
  shareApi,
  type Caller,
  type Parties,
  type Shown,
} from '../../support/shared-api';
import { makeSchedule } from '../../support/standing';
import { runSchedule } from '../../support/schedule';
import { recurringRules } from '../../../src/settings/config';
import { dayOf } from '../../support/statements';

const served = shareApi();
let parties: Parties;
beforeEach(async () => {
  await letMidnightPass();
  parties = await served.parties();
});

const SEARCH = '/v1/transaction-history/search';

interface Found {
  transactions: (Shown & { reference: string })[];
  next: string | null;
}

async function search(caller: Caller, body: object): Promise<Found> {
  const { status, body: answer } = await caller.post(SEARCH, body);
  if (status !== 200) throw new Error(JSON.stringify(answer));
  return answer.data as unknown as Found;
}

const references = async (caller: Caller, body: object) =>
  (await search(caller, body)).transactions.map(({ reference }) => reference);

interface Totals {
  count: number;
  countIsMinimum?: true;
  moved: { currency: string; amount: number }[];
  totals: { type: string; status: string; count: number; amount: number }[];
}

async function totals(caller: Caller, body: object): Promise<Totals> {
  const { status, body: answer } = await caller.post('/v1/transaction-history/totals', body);
  if (status !== 200) throw new Error(JSON.stringify(answer));
  return answer.data as unknown as Totals;
}

async function file(caller: Caller, body: object): Promise<Record<string, string>[]> {
  const { body: text } = await caller.post(SEARCH, { ...body, format: 'csv' });
  const [header = '', ...lines] = (text as unknown as string).split('\r\n').slice(0, -1);
  const names = header.split(',');
  return lines.map((line) => Object.fromEntries(line.split(',').map((cell, i) => [names[i] ?? '', cell])));
}

describe('a search for payments', () => {
  it('finds by the beginning of a reference, by words, by an amount; each party its own', async () => {
    const shoes = await charge(parties, { amount: 1250.5 });
    const tea = await charge(parties, { description: 'Green TEA_50%', amount: 99 });
    const others = await served.parties();
    await charge(others, { amount: 1250.5 });
    for (const role of ROLES) {
      const caller = parties[role];
      const by = (text: string) => references(caller, { search: text });
      expect(await by(shoes.reference.slice(0, 8).toLowerCase())).toEqual([shoes.reference]);
      expect(await by(shoes.reference.slice(0, 1))).toContain(shoes.reference);
      expect(await by('shoe')).toEqual([shoes.reference]);
      expect(await by('tea_50%')).toEqual([tea.reference]);
      expect(await by('t__')).toEqual([]);
      if (role !== 'merchant') expect(await by('MERCH')).toHaveLength(2);
      expect(await by('1,250.50')).toEqual([shoes.reference]);
      expect(await by('ngn 99')).toEqual([tea.reference]);
      expect(await references(caller, {})).toEqual([tea.reference, shoes.reference]);
      expect(await totals(caller, { search: 'tea' })).toMatchObject({ count: 1 });
    }
  });

  it.each([
    ['text', '4711'],
    ['a number', 4711],
    ['text with a #', '#4711'],
  ])('finds an order by its number, as people write it, that metadata holds as %s', async (_, value) => {
    const { reference } = await charge(parties, { metadata: { source: 'web', 'Order No': value } });
    for (const metadata of [{ order: '47110' }, { order: 'order 4711 b' }, { 4711: 'order' }])
      await charge(parties, { metadata });
    for (const text of ['4711', '#4711', ' # 4711', 'order 4711', 'Order no. #4711', 'WEB']) {
      for (const caller of [parties.merchant, parties.provider]) {
        expect([text, await references(caller, { search: text })]).toEqual([text, [reference]]);
        expect(await totals(caller, { search: text })).toMatchObject({ count: 1 });
        expect(await file(caller, { search: text })).toMatchObject([{ reference }]);
      }
    }
  });

  it('finds by metadata its own for a merchant, and nothing for a bank', async () => {
    const { provider } = parties;
    const wish = { name: 'Salt', email: 'shop@example.test', clientRef: 'salt' };
    const { body } = await provider.post('/v1/provider/merchants', { merchants: [wish] });
    const [made] = (body.data as unknown as { merchants: [Parameters<typeof callerAt>[1]] }).merchants;
    const sibling = callerAt(served.api, made);
    const { reference } = await charge(parties, { metadata: { order: 'KEY-4711' } });
    for (const caller of [parties.merchant, provider])
      expect(await references(caller, { search: 'key-4711' })).toEqual([reference]);
    const others = await served.parties();
    for (const caller of [sibling, parties.bank, others.merchant, others.provider, others.bank]) {
      expect(await references(caller, { search: 'key-4711' })).toEqual([]);
      expect(await totals(caller, { search: 'key-4711' })).toMatchObject({ count: 0 });
    }
  });

  it('finds and names customers for their own bank alone', async () => {
    const { id, reference } = await charge(parties);
    const payer = await served.parties();
    await payAnother(served.db, payer, parties);
    expect(await references(parties.bank, { search: 'obi AD' })).toHaveLength(2);
    expect(await totals(parties.bank, { search: 'obi ad' })).toMatchObject({ count: 2 });
    expect(await references(parties.bank, { search: 'obi bob' })).toEqual([]);
    expect(await references(parties.bank, { search: `tx-${id}` })).toEqual([reference]);
    expect(await references(parties.merchant, { search: `tx-${id}` })).toEqual([]);
    expect(await references(parties.merchant, { search: 'obi' })).toEqual([]);
    const named = async (caller: Caller) =>
      (await search(caller, {})).transactions.map(({ merchantName, bankName, customerName, payeeName }) => [
        merchantName,
        bankName,
        customerName,
        payeeName,
      ]);
    expect(await named(parties.bank)).toEqual([
      [null, 'Bank', null, 'Ada Obi'],
      ['Merchant', 'Bank', 'Ada Obi', null],
    ]);
    expect(await named(payer.bank)).toEqual([[null, 'Bank', 'Ada Obi', null]]);
    expect(await named(parties.merchant)).toEqual([['Merchant', 'Bank', null, null]]);
    expect((await search(parties.provider, { search: reference })).transactions).toMatchObject([
      { customerName: null },
    ]);
  });

  it('is refused where a text is in the names of more merchants than can be looked for', async () => {
    await served.db.rows`
      INSERT INTO entities (id, type, name, provider_id)
      SELECT 'mch_' || left(md5(provider_id || n), 26), type, 'Kiosk ' || n, provider_id
      FROM entities, generate_series(1, 1001) AS n WHERE id = ${parties.merchantId}`;
    expect(await references(parties.provider, { search: 'kiosk 1' })).toEqual([]);
    for (const path of [SEARCH, '/v1/transaction-history/totals']) {
      const { status, body } = await parties.provider.post(path, { search: 'kiosk' });
      expect([status, body.errors]).toEqual([
        400,
        [
          {
            path: 'search',
            message: 'is in the names of more than 1000 of your merchants: give more of it, or a merchantId',
          },
        ],
      ]);
    }
  });

  it('narrows by reason, amount, customer, merchant and schedule, and is clear about what it takes', async () => {
    const declined = await bill(parties, { amount: 10 });
    await decline(parties, declined.id, 'Mrs Obi has moved');
    const poor = await bill(parties, { amount: 20 });
    await decline(parties, poor.id);
    const paid = await charge(parties, { amount: 30 });
    const own = (body: object) => references(parties.merchant, body);
    expect(await own({ reason: 'other' })).toEqual([declined.reference]);
    expect(await own({ reason: 'insufficient_funds' })).toEqual([poor.reference]);
    expect(await own({ status: 'declined', type: 'charge' })).toEqual([poor.reference, declined.reference]);
    expect(await own({ currency: 'NGN', amountFrom: 20, amountTo: 20 })).toEqual([poor.reference]);
    expect(await own({ currency: 'NGN', amountFrom: 20.01 })).toEqual([paid.reference]);
    expect(await own({ customerId: parties.customerId, limit: 1 })).toEqual([paid.reference]);
    expect(await own({ merchantId: 'mch_nobody' })).toEqual([]);
    expect(await references(parties.bank, { merchantId: parties.merchantId })).toHaveLength(3);

    const scheduleId = await makeSchedule(served.db, parties, { description: 'Gold plan' });
    await runSchedule(served.db, recurringRules(served.api.deps.config), scheduleId);
    expect((await search(parties.merchant, { scheduleId })).transactions).toMatchObject([
      { description: 'Gold plan', scheduleId },
    ]);
    expect((await parties.merchant.post(SEARCH, { amountFrom: 1 })).body.errors).toEqual([
      { path: 'amountFrom', message: 'needs a currency' },
    ]);
    expect((await parties.merchant.post(SEARCH, { cursor: '12;' })).status).toBe(400);
  });

  it('goes through charges of one moment page after page, and neither skips nor repeats one', async () => {
    const wish = { amount: 5, currency: 'NGN', description: 'Shoes' };
    for (const _ of [1, 2]) {
      const lookupIDs = await lookupIds(25);
      itemsOf(await parties.merchant.post('/v1/customer/bill', { lookupIDs, ...wish }));
    }
    const all: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Found = await search(parties.merchant, { limit: 7, ...(cursor !== null && { cursor }) });
      all.push(...page.transactions.map(({ reference }) => reference));
      cursor = page.next;
    } while (cursor !== null);
    expect(all).toHaveLength(50);
    expect(new Set(all).size).toBe(50);
    expect(all).toEqual(await references(parties.merchant, { limit: 100 }));
    expect((await file(parties.merchant, {})).map(({ reference }) => reference)).toEqual(all);
  });

  it('finds what is rare among many by looking further, a bounded number of payments at a time', async () => {
    const { reference } = await charge(parties, { description: 'Saffron', metadata: { order: 4711 } });
    await manyLater(20_000, { source: 'web' });
    const first = await search(parties.merchant, { search: 'saffron' });
    expect(first.transactions).toEqual([]);
    expect(await references(parties.merchant, { search: 'saffron', cursor: first.next })).toEqual([
      reference,
    ]);
    // An index has it: it comes first, however old.
    for (const indexed of [reference.slice(0, 6), '#4711'])
      expect(await references(parties.merchant, { search: indexed })).toEqual([reference]);
    // With most payments a value of metadata says little.
    expect(await references(parties.merchant, { search: 'web' })).toEqual([]);
    expect(await references(parties.bank, { search: 'ada', limit: 1, cursor: 'r' })).toEqual([]);
    // `next` of a list without a text, sent with one.
    const { next } = await search(parties.merchant, { limit: 1 });
    expect(await references(parties.merchant, { search: 'not there', cursor: next })).toEqual([]);
    expect(await totals(parties.merchant, { search: 'saffron' })).toMatchObject({ count: 1 });
    expect(await file(parties.merchant, { search: 'saffron' })).toMatchObject([{ reference }]);
  });
});

/** How many, and the names of the page. */
async function merchantsFound(caller: Caller, body: object, query = ''): Promise<(number | string)[]> {
  const { body: answer } = await caller.post(`/v1/merchants/search${query}`, body);
  const { merchants, total } = answer.data as unknown as { merchants: { name: string }[]; total: number };
  return [total, ...merchants.map(({ name }) => name)];
}

describe('a search for merchants', () => {
  it('finds a provider’s by the beginning of a name, and a bank’s once they have charged its customers', async () => {
    const merchants = ['Merry Shop', 'Salt', 'ẸBÙN%'].map((name) => ({
      name,
      email: 'shop@example.com',
      clientRef: name,
    }));
    await parties.provider.post('/v1/provider/merchants', { merchants });
    expect(await merchantsFound(parties.provider, { name: 'mER' })).toEqual([2, 'Merchant', 'Merry Shop']);
    expect(await merchantsFound(parties.provider, { name: 'mer' }, '?limit=1&page=2')).toEqual([
      2,
      'Merry Shop',
    ]);
    expect(await merchantsFound(parties.provider, { name: 'ẹb' })).toEqual([1, 'ẸBÙN%']);
    expect(await merchantsFound(parties.provider, { name: '%' })).toEqual([0]);
    expect(await merchantsFound(parties.bank, {})).toEqual([0]);
    await charge(parties);
    const others = await served.parties();
    await charge(others);
    const { merchantId } = parties;
    for (const role of ['provider', 'bank'] as const) {
      expect(await merchantsFound(parties[role], { merchantId })).toEqual([1, 'Merchant']);
      expect(await merchantsFound(others[role], { merchantId })).toEqual([0]);
      expect(await merchantsFound(others[role], { name: 'mer' })).toEqual([1, 'Merchant']);
    }
    expect((await parties.merchant.post('/v1/merchants/search', {})).status).toBe(403);
  });
});

/** Charges of an hour from now on, a millisecond apart; a statement has ten seconds. */
async function manyLater(count: number, metadata: object): Promise<void> {
  for (let n = 1; n <= count; n += 2_000) await someLater(n, n + 1_999, metadata);
}

async function someLater(from: number, to: number, metadata: object): Promise<void> {
  await served.db.rows`
    INSERT INTO billing_requests (id, reference, batch_id, merchant_id, customer_id, bank_id, lookup_id,
      agreement_id, amount, currency, description, approval_required, expires_at, workflow_id, created_at,
      metadata)
    SELECT 'brq_' || lpad(n::text, 26, '0'), lpad(n::text, 24, '0'), 'bat_1', a.merchant_id, a.customer_id,
      a.bank_id, 'a-b-c-d-10', a.id, 100, 'NGN', 'Shoes', false, clock_timestamp() + interval '1 day',
      'billing-request/' || n,
      now() + interval '1 hour' + n * interval '1 millisecond', ${JSON.stringify(metadata)}::jsonb
    FROM agreements a, generate_series(${from}::int, ${to}::int) AS n WHERE a.id = ${parties.agreementId}`;
}

/** New customers of the bank. */
async function lookupIds(count: number): Promise<string[]> {
  const customers = Array.from({ length: count }, () => {
    const clientRef = `c-${Math.random()}`;
    const accountNumber = String(Math.random()).slice(2, 14).padEnd(12, '0');
    const name = { firstname: 'Bola', lastname: 'Ade', accountName: 'ADE BOLA' };
    return { clientRef, ...name, email: 'bola@example.test', country: 'NG', accountNumber };
  });
  const { body } = await parties.bank.post('/v1/bank/customers', { customers });
  return ((body.data?.['customers'] ?? []) as { lookupID: string }[]).map(({ lookupID }) => lookupID);
}

describe('totals of payments, and their file', () => {
  it('are what the summary counts, and add up to the statement', async () => {
    await settleOfEachKind(served.db, parties);
    const today = await dayOf(served.db, parties.merchantId);
    for (const role of ROLES) {
      const caller = parties[role];
      const summary = (await caller.read('/v1/summary')) as unknown as {
        totals: Record<string, { count: number; amount: number }>[];
      };
      const [counted] = summary.totals;
      const day = { settledFrom: today, settledTo: today, currency: 'NGN' };
      const side = role === 'bank' ? { side: 'payer' } : {};
      const of = async (body: object) => {
        const all = await totals(caller, body);
        const sum = (name: 'count' | 'amount') => all.totals.reduce((total, one) => total + one[name], 0);
        return { count: all.count, amount: Math.round(sum('amount') * 100) / 100 };
      };
      const isOwn = role !== 'bank';
      expect(await of({ ...day, ...side, type: 'charge' })).toMatchObject(counted?.['charged'] ?? {});
      expect(await of({ ...day, type: 'refund' })).toEqual(counted?.['refunded']);
      expect(await of({ ...day, type: 'reversal' })).toEqual(counted?.['reversed']);
      const ended = { closedFrom: today, closedTo: today, type: 'charge', ...side };
      const { count, amount } = counted?.['declined'] ?? {};
      expect(await of({ ...ended, status: 'declined' })).toEqual({ count, amount });
      expect(await of({ ...ended, reason: 'insufficient_funds' })).toEqual({ count, amount });
      expect((await of(ended)).count).toBe((counted?.['charged']?.count ?? 0) + (count ?? 0));

      const statement = await caller.read(`/v1/statements?date=${today}`);
      const writtenOff = (statement['writeOffs'] as { amount: number } | undefined)?.amount ?? 0;
      const balance = Number(statement['closingBalance']) - Number(statement['openingBalance']);
      const moved = (await totals(caller, day)).moved[0]?.amount ?? 0;
      expect(moved + (isOwn ? 0 : writtenOff)).toBeCloseTo(balance, 6);
      const lines = await file(caller, {});
      const added = lines.reduce((sum, line) => sum + Math.round(Number(line['moved']) * 100), 0);
      expect(added).toBe(Math.round(moved * 100));
      expect((await file(caller, day)).map((line) => line['amount'])).toEqual(
        (await file(caller, day)).map((line) => line['moved']),
      );
    }
  });

  it('are of what a search and a list with the same filter find, whatever it narrows by', async () => {
    await settleOfEachKind(served.db, parties);
    const today = new Date(await dayOf(served.db, parties.merchantId));
    const filters: TransactionFilter[] = [
      {},
      { status: 'declined' },
      { type: 'reversal' },
      { reason: 'insufficient_funds' },
      { reason: 'other' },
      { currency: 'NGN', amountFrom: 100n },
      { currency: 'USD' },
      { scheduleId: 'of no charge' },
      { settledFrom: today },
      { closedFrom: today },
      { from: today, merchantId: parties.merchantId },
      { side: 'payee' },
    ];
    for (const role of ROLES) {
      const { db } = served;
      const party = { entityId: parties[`${role}Id`], role };
      for (const filter of filters) {
        const page = { page: 1, limit: 100, sortBy: 'createdAt', sortOrder: 'desc' } as const;
        const listed = (await listTransactions(db, party, filter, page)).items.map((one) => one.reference);
        const found = await searchTransactions(db, party, filter, { place: undefined, most: 100 });
        const { totals: sums } = await totalTransactions(db, party, filter);
        const count = sums.reduce((sum, one) => sum + one.count, 0);
        const searched = found.items.map((one) => one.reference);
        expect({ role, filter, listed: listed.sort(), count }).toEqual({
          role,
          filter,
          listed: searched.sort(),
          count: searched.length,
        });
      }
    }
  });

  it('are of the payments that were looked through, and say so where there are more', async () => {
    await charge(parties, { description: 'Tea' });
    for (let n = 0; n < 3; n++) await bill(parties);
    const party = { entityId: parties.merchantId, role: 'merchant' } as const;
    const of = (filter: object, most: number) => totalTransactions(served.db, party, filter, most);
    const tea = { search: { text: 'tea', currencies: ['NGN'] } };
    for (const filter of [tea, { currency: 'NGN', amountFrom: 10_000n, status: 'successful' }])
      expect(await of(filter, 4)).toMatchObject({ totals: [{ count: 1, amount: 10_000n }], more: false });
    expect((await of(tea, 3)).more).toBe(true);
    expect((await of({ currency: 'USD' }, 3)).more).toBe(true);
    expect(await of({ currency: 'USD' }, 4)).toEqual({ totals: [], more: false });
  });

  it('move a bank by nothing where the network had let it off before the reversal', async () => {
    const { id } = await charge(parties);
    for (const resolution of ['written_off', 'no_money_moved'] as const) {
      await answerBill(served.db, parties, id, null);
      await resolveAsOperator(served.db, id, resolution);
    }
    const reversed = { type: 'reversal' };
    expect((await totals(parties.bank, {})).moved).toEqual([{ currency: 'NGN', amount: -100 }]);
    expect(await file(parties.bank, reversed)).toMatchObject([{ amount: '100.00', moved: '0.00' }]);
    for (const biller of [parties.merchant, parties.provider])
      expect(await file(biller, reversed)).toMatchObject([{ amount: '-100.00', moved: '-100.00' }]);
  });

  it('has decimals of the currency, times of the network’s zone, and no formula', async () => {
    const { id } = await bill(parties, { amount: 1500, description: '=HYPERLINK(1)' });
    await approve(parties, id);
    await served.db.rows`
      UPDATE billing_requests SET closed_at = '2026-03-01T22:30:00Z' WHERE id = ${id}`;
    const [line] = await file(parties.merchant, {});
    expect(line).toMatchObject({
      amount: '1500.00',
      moved: '1500.00',
      settledAt: '"2026-03-01 23:30:00"',
      description: `"'=HYPERLINK(1)"`,
    });
    expect((await file(parties.bank, {}))[0]).toMatchObject({
      amount: '-1500.00',
      customerName: '"Ada Obi"',
    });
  });
});
