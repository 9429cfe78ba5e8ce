import { listTransactions } from '../../../src/database/ledger/list-transactions';
import { recurringRules } from '../../../src/settings/config';
import { explaining } from '../../support/explaining';
import { runSchedule } from '../../support/schedule';
import {
  approve,
  bill,
  charge,
  decline,
  EXCEPTIONS,
  history,
  initiateRefund,
  answerRefund,
  itemsOf,
  respond,
  shareApi,
  type Parties,
} from '../../support/shared-api';
import { announcedTo, lookupIdOf } from '../../support/standing';

const served = shareApi();
let parties: Parties;
beforeEach(async () => {
  parties = await served.parties();
});

const ORDER = { orderId: '6735', lines: 3, gift: true };
/** As nothing that a bank is told may be. */
const SECRET = { note: 'a-word-for-the-merchant-alone' };

const announcedToMerchant = (type: string) => served.announced(parties.merchantId, type);

/** @returns the id of the intent */
async function ask(metadata: object): Promise<string> {
  const lookupIDs = [await lookupIdOf(served.db, parties.customerId)];
  const wish = { lookupIDs, currency: 'NGN', description: 'Gold plan', metadata };
  return String(itemsOf(await parties.merchant.post('/v1/billing/intent', wish))[0]?.intentId);
}

function expectAll(shown: (object | undefined)[], metadata: object): void {
  expect(shown).toEqual(shown.map(() => expect.objectContaining({ metadata }) as object));
}

describe('metadata comes back', () => {
  it('to the merchant wherever its charge is shown, and with its webhook', async () => {
    const { merchant, provider } = parties;
    const { id, reference } = await charge(parties, { metadata: ORDER });

    const shown = [
      await merchant.read(`/v1/billing/requests/${id}`),
      await merchant.read(`/v1/transaction-details?reference=${reference}`),
      ...(await history(merchant)),
      ...(await history(provider)),
      ...(await announcedToMerchant('billing.response')),
    ];
    expect(shown).toHaveLength(5);
    expectAll(shown, ORDER);
  });

  it('wherever its refund is shown, and with its webhook', async () => {
    const { reference } = await charge(parties);
    const made = await initiateRefund(parties, reference, undefined, { metadata: ORDER });
    const refundId = String(made.body.data?.['refundId']);
    await answerRefund(parties, refundId, 'completed');

    const shown = [
      made.body.data,
      await parties.merchant.read(`/v1/refunds/${refundId}`),
      ...(await parties.provider.list('/v1/refunds')),
      ...(await history(parties.merchant, '?type=refund')),
      ...(await announcedToMerchant('refund.response')),
    ];
    expect(shown).toHaveLength(5);
    expectAll(shown, ORDER);
  });

  it('with the customer’s decision on its intent, and where that is shown', async () => {
    const intentId = await ask(ORDER);
    const shown = await parties.merchant.read(`/v1/billing/intents/${intentId}`);
    await parties.bank.post('/v1/billing/intent-response', {
      customerId: parties.customerId,
      entityId: parties.merchantId,
      lookupID: await lookupIdOf(served.db, parties.customerId),
      customerDecision: 'approve_once',
    });

    expectAll([shown, ...(await announcedToMerchant('billing.intent.response'))], ORDER);
  });

  it('once more when its charge is reversed, and stays with the reversal', async () => {
    const { id } = await charge(parties, { metadata: ORDER });
    await decline(parties, id);
    const [exception] = await parties.bank.list(EXCEPTIONS);
    await respond(parties, exception?.['exceptionId'], { resolution: 'no_money_moved' });

    const inHistory = await history(parties.merchant, '?type=reversal&metadata.orderId=6735');
    const shown = [...(await announcedToMerchant('billing.reversed')), ...inHistory];
    expect(shown).toHaveLength(2);
    expectAll(shown, ORDER);
  });

  it('with an exception about its charge, to the merchant alone', async () => {
    const { id } = await charge(parties, { metadata: SECRET });
    await approve(parties, id, 'FT-2');

    expectAll(
      [...(await announcedToMerchant('exception.opened')), ...(await parties.provider.list(EXCEPTIONS))],
      SECRET,
    );
    const toBank = [
      await served.announced(parties.bankId, 'exception.opened'),
      await parties.bank.list(EXCEPTIONS),
    ];
    expect(JSON.stringify(toBank)).toContain(id);
    expect(JSON.stringify(toBank)).not.toContain(SECRET.note);
  });

  it('as that of the schedule at the time of the charge', async () => {
    const { merchant } = parties;
    const { body } = await merchant.post('/v1/billing/recurring/create', {
      customerId: parties.customerId,
      paymentID: parties.paymentId,
      amount: 100,
      currency: 'NGN',
      frequency: 'monthly',
      metadata: ORDER,
    });
    const scheduleId = String(body.data?.['scheduleId']);
    await runSchedule(served.db, recurringRules(served.api.deps.config), scheduleId);
    await merchant.send('PATCH', `/v1/billing/recurring/${scheduleId}`, { metadata: { orderId: 'new' } });

    expect(await history(merchant)).toMatchObject([{ scheduleId, metadata: ORDER }]);
  });
});

describe('metadata is refused', () => {
  const wish = { amount: 100, currency: 'NGN', description: 'Shoes' };

  it('where it would come to more than a body for all identifiers together', async () => {
    const metadata = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`n${i}`, 'x'.repeat(500)]));
    const lookupIDs = Array.from({ length: 11 }, (_, i) => `amber-river-stone-lamp-${10 + i}`);
    const refused = await parties.merchant.post('/v1/customer/bill', { ...wish, lookupIDs, metadata });

    expect([refused.status, refused.body.errors]).toEqual([
      400,
      [{ path: 'metadata', message: expect.stringMatching(/for all identifiers together/) as string }],
    ]);
    await bill(parties, { metadata });
  });

  it('from a bank with a payment between its customers', async () => {
    const payee = { lookupID: await lookupIdOf(served.db, parties.customerId) };
    const lookupIDs = ['amber-river-stone-lamp-42'];
    const refused = await parties.bank.post('/v1/customer/bill', {
      ...wish,
      lookupIDs,
      payee,
      metadata: ORDER,
    });
    expect([refused.status, refused.body.errors]).toEqual([
      400,
      [{ path: 'metadata', message: 'is for merchants' }],
    ]);
  });
});

test('a bank is told of no metadata, neither when it asks nor by webhook', async () => {
  const intentId = await ask(SECRET);
  const { id, reference } = await charge(parties, { metadata: SECRET });
  const made = await initiateRefund(parties, reference, undefined, { metadata: SECRET });

  const shown = await Promise.all(
    [
      `/v1/billing/intents/${intentId}`,
      `/v1/billing/requests/${id}`,
      `/v1/refunds/${String(made.body.data?.['refundId'])}`,
      '/v1/refunds',
      '/v1/transaction-history',
      `/v1/transaction-details?reference=${reference}`,
      '/v1/events',
    ].map((path) => parties.bank.read(path)),
  );
  const file = await parties.bank.file('/v1/transaction-history?format=csv');
  const sent = await announcedTo(served.db, parties.bankId);

  const told = JSON.stringify([shown, file, sent]);
  expect(told).toContain(reference);
  expect(told).not.toContain(SECRET.note);
  expect(told).not.toContain('metadata');
});

test('metadata is in no log, no audit event and nothing that waits for a workflow', async () => {
  await bill(parties, { metadata: SECRET });
  const kept = await served.db.rows`SELECT details FROM events UNION ALL SELECT to_jsonb(o) FROM outbox o`;
  expect(JSON.stringify([kept, served.api.log])).not.toContain(SECRET.note);
});

const found = async (query: string, caller = parties.merchant) =>
  (await history(caller, `?${query}`)).map(({ reference }) => reference);

describe('the history by a pair of metadata', () => {
  it('has what has that pair, compared as text, by a name that means something to programs, too', async () => {
    const { reference: one } = await bill(parties, { metadata: { ...ORDER, constructor: 'a b' } });
    const { reference: other } = await bill(parties, { metadata: { orderId: '6736', branch: 'Ikeja' } });
    await bill(parties, { metadata: { branch: '6735' } });

    for (const pair of ['orderId=6735', 'constructor=a+b', 'lines=3', 'gift=true']) {
      expect([pair, await found(`metadata.${pair}`)]).toEqual([pair, [one]]);
    }
    for (const pair of ['gift=false', 'toString=x', '__proto__=x']) {
      expect([pair, await found(`metadata.${pair}`)]).toEqual([pair, []]);
    }
    expect(await found('metadata.branch=Ikeja&status=pending', parties.provider)).toEqual([other]);
    expect(await found('metadata.orderId=6735', (await served.parties()).merchant)).toEqual([]);
  });

  it('can be had as a file, in which metadata is JSON', async () => {
    const { reference } = await bill(parties, { metadata: { note: 'a "b", c' } });
    await bill(parties, { metadata: { note: 'another' } });
    const query = new URLSearchParams({ 'metadata.note': 'a "b", c' }).toString();
    const file = await parties.merchant.file(`/v1/transaction-history?format=csv&${query}`);
    const [header, line, ...rest] = file.split('\r\n');
    expect(header).toMatch(/,metadata$/);
    expect(line).toContain(reference);
    expect(line).toMatch(/,"\{""note"":""a \\""b\\"", c""\}"$/);
    expect(rest).toEqual(['']);
  });

  it.each([
    ['metadata.a=1&metadata.b=2', 'query.metadata.', 'may name one pair only'],
    ['metadata=1', 'query.metadata', 'is not a known parameter: name the pair, as in metadata.orderId=6735'],
    ['metadata.=1', 'query.metadata.name', 'must not be empty'],
    [`metadata.${'n'.repeat(41)}=1`, 'query.metadata.name', 'must have at most 40 characters'],
    [`metadata.a=${'x'.repeat(501)}`, 'query.metadata.value', 'must have at most 500 characters'],
  ])('is refused for %s', async (query, path, message) => {
    const { status, body } = await parties.merchant.get(`/v1/transaction-history?${query}`);
    expect([status, body.errors]).toEqual([400, [{ path, message }]]);
  });

  it('is refused to a bank', async () => {
    expect(await parties.bank.get('/v1/transaction-history?metadata.a=1')).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'query.metadata' }] },
    });
  });

  it('is found by an index, however many other charges there are', async () => {
    const { db } = served;
    const { reference } = await bill(parties, { metadata: ORDER });
    await db.rows`
      INSERT INTO billing_requests (id, reference, batch_id, merchant_id, customer_id, bank_id, lookup_id,
        agreement_id, amount, currency, description, approval_required, expires_at, workflow_id, created_at,
        metadata)
      SELECT 'brq_' || lpad(n::text, 26, '0'), lpad(n::text, 24, '0'), 'bat_1', a.merchant_id,
        a.customer_id, a.bank_id, 'a-b-c-d-10', a.id, 100, 'NGN', 'Shoes', false,
        clock_timestamp() + interval '1 day',
        'billing-request/' || n, clock_timestamp(), jsonb_build_object('orderId', 'order ' || n)
      FROM agreements a, generate_series(1, 5000) AS n WHERE a.id = ${parties.agreementId}`;
    await db.rows`ANALYZE billing_requests`;
    const plans: string[] = [];
    const { items } = await listTransactions(
      explaining(db, plans),
      { entityId: parties.merchantId, role: 'merchant' },
      { metadata: { name: 'orderId', value: '6735' } },
      { page: 1, limit: 20, sortBy: 'createdAt', sortOrder: 'desc' },
    );

    expect(items.map((one) => one.reference)).toEqual([reference]);
    expect(plans).toEqual([
      expect.stringContaining('billing_requests_by_metadata'),
      expect.stringContaining('billing_requests_by_metadata'),
    ]);
  });
});
