import { rows, type Database, type Executor } from '../../../src/database/pool/connection';
import { answerIntent } from '../../../src/database/intent/end-intents';
import { listTransactions } from '../../../src/database/ledger/list-transactions';
import { recurringRules } from '../../../src/settings/config';
import {
  enter,
  send,
  serveApi,
  tokensOf,
  type Answered,
  type Party,
  type ServedApi,
} from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { runSchedule } from '../../support/schedule';
import {
  announcedTo,
  answerCharges,
  lookupIdOf,
  standingApproval,
  type Standing,
} from '../../support/standing';

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

const as = (who: Who, method: string, path: string, body?: unknown, headers = {}): Promise<Answered> =>
  send(api.url, method, path, body, { authorization: `Bearer ${tokens[who]}`, ...headers });

const ORDER = { orderId: '6735', lines: 3, gift: true };
/** As nothing that a bank is told may be. */
const SECRET = 'a-word-for-the-merchant-alone';

const bill = (metadata: unknown, more: object = { paymentIDs: [standing.paymentId] }): Promise<Answered> =>
  as('merchant', 'POST', '/v1/customer/bill', {
    ...more,
    amount: 100,
    currency: 'NGN',
    description: 'Shoes',
    metadata,
  });

interface Charged {
  billingRequestId: string;
  reference: string;
}

async function charge(metadata?: object, more?: object): Promise<Charged> {
  const { body } = await bill(metadata, more);
  const [item] = body as unknown as Charged[];
  if (!item) throw new Error('nothing was billed');
  return item;
}

async function list(who: Who, path: string, name: string): Promise<Record<string, unknown>[]> {
  const { status, body } = await as(who, 'GET', path);
  expect(status).toBe(200);
  return body.data?.[name] as Record<string, unknown>[];
}

const history = (who: Who, query = '') => list(who, `/v1/transaction-history${query}`, 'transactions');

const referencesBy = async (query: string, who: Who = 'merchant') =>
  (await history(who, `?${query}`)).map(({ reference }) => reference);

const announced = async (entityId: string, type: string) =>
  (await announcedTo(db, api.deps.ring, entityId)).flatMap((one) => (one.type === type ? [one.item] : []));

describe('metadata of a charge', () => {
  it('comes back to the merchant wherever the charge is shown, and with its webhook', async () => {
    const { billingRequestId, reference } = await charge(ORDER);
    await answerCharges(db, api.deps.ring, standing);

    const shown = await as('merchant', 'GET', `/v1/billing/requests/${billingRequestId}`);
    const details = await as('merchant', 'GET', `/v1/transaction-details?reference=${reference}`);
    const [listed] = await history('merchant');
    const [toProvider] = await history('provider');
    const [told] = await announced(standing.merchantId, 'billing.response');

    const all = [shown.body.data, details.body.data, listed, toProvider, told];
    expect(all.map((one) => one?.['metadata'])).toEqual(all.map(() => ORDER));
  });

  it('is empty where none was sent', async () => {
    await charge();
    expect(await history('merchant')).toEqual([expect.objectContaining({ metadata: {} })]);
  });

  it('stands in the file of the history as JSON', async () => {
    await charge({ note: 'a "b", c' });
    const answered = await fetch(`${api.url}/v1/transaction-history?format=csv`, {
      headers: { authorization: `Bearer ${tokens.merchant}` },
    });
    const [header, line] = (await answered.text()).split('\r\n');
    expect(header).toMatch(/,metadata$/);
    expect(line).toMatch(/,"\{""note"":""a \\""b\\"", c""\}"$/);
  });

  it('is told to the merchant once more when the charge is reversed, and stays with the reversal', async () => {
    const { billingRequestId } = await charge(ORDER);
    await answerCharges(db, api.deps.ring, standing);
    await as('bank', 'POST', '/v1/billing/bank-response', { billingRequestId, declineReason: 'denied' });
    const [exception] = await list('bank', '/v1/reconciliation/exceptions', 'exceptions');
    await as('bank', 'POST', `/v1/reconciliation/exceptions/${String(exception?.['exceptionId'])}/respond`, {
      resolution: 'no_money_moved',
    });

    expect(await announced(standing.merchantId, 'billing.reversed')).toEqual([
      expect.objectContaining({ metadata: ORDER }),
    ]);
    expect(await history('merchant', '?type=reversal&metadata.orderId=6735')).toEqual([
      expect.objectContaining({ metadata: ORDER }),
    ]);
  });

  it('is that of its schedule, as it was at the charge', async () => {
    const { body } = await as('merchant', 'POST', '/v1/billing/recurring/create', {
      customerId: standing.customerId,
      paymentID: standing.paymentId,
      amount: 100,
      currency: 'NGN',
      frequency: 'monthly',
      metadata: ORDER,
    });
    const scheduleId = String(body.data?.['scheduleId']);
    await runSchedule(db, api.deps.ring, recurringRules(api.deps.config), scheduleId);
    await as('merchant', 'PATCH', `/v1/billing/recurring/${scheduleId}`, { metadata: { orderId: 'new' } });

    expect(await history('merchant')).toEqual([expect.objectContaining({ scheduleId, metadata: ORDER })]);
  });

  it('follows the rules that a schedule’s follows', async () => {
    const { body } = await bill({ ['n'.repeat(41)]: 1, list: [1], two: 'a\nb' });
    expect(body.errors?.map(({ path }) => path)).toEqual([
      `metadata.${'n'.repeat(41)}`,
      'metadata.list',
      'metadata.two',
    ]);
  });

  it('is refused where it would come to more than a body for all identifiers together', async () => {
    const long = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`n${i}`, 'x'.repeat(500)]));
    const lookupIDs = Array.from({ length: 11 }, (_, i) => `amber-river-stone-lamp-${10 + i}`);
    const { status, body } = await bill(long, { lookupIDs });

    expect([status, body.errors]).toEqual([
      400,
      [{ path: 'metadata', message: expect.stringMatching(/for all identifiers together/) as string }],
    ]);
    expect((await bill(long)).status).toBe(201);
  });

  it('is nothing that a bank can send with a payment between its customers', async () => {
    const lookupID = await lookupIdOf(db, standing.customerId);
    const { status, body } = await as('bank', 'POST', '/v1/customer/bill', {
      lookupIDs: ['amber-river-stone-lamp-42'],
      payee: { lookupID },
      amount: 100,
      currency: 'NGN',
      description: 'Rent',
      metadata: ORDER,
    });
    expect([status, body.errors]).toEqual([400, [{ path: 'metadata', message: 'is not a known field' }]]);
  });
});

describe('metadata of a refund', () => {
  it('comes back wherever the refund is shown, and with its webhook', async () => {
    const { reference } = await charge({ orderId: '1' });
    await answerCharges(db, api.deps.ring, standing);
    const made = await as('merchant', 'POST', '/v1/refunds/initiate', { reference, metadata: ORDER });
    const refundId = String(made.body.data?.['refundId']);
    await as('bank', 'POST', '/v1/bank/refund-response', {
      refundId,
      action: 'completed',
      bankTransactionId: 'FT-1',
    });

    const shown = await as('merchant', 'GET', `/v1/refunds/${refundId}`);
    const [listed] = await list('provider', '/v1/refunds', 'refunds');
    const [inHistory] = await history('merchant', '?type=refund');
    const [told] = await announced(standing.merchantId, 'refund.response');

    const all = [made.body.data, shown.body.data, listed, inHistory, told];
    expect(all.map((one) => one?.['metadata'])).toEqual(all.map(() => ORDER));
  });
});

describe('metadata of an exception', () => {
  it('is that of its charge, for the merchant alone', async () => {
    const { billingRequestId } = await charge({ note: SECRET });
    await answerCharges(db, api.deps.ring, standing);
    await as('bank', 'POST', '/v1/billing/bank-response', { billingRequestId, bankTransactionId: 'FT-2' });

    const [told] = await announced(standing.merchantId, 'exception.opened');
    const [shown] = await list('provider', '/v1/reconciliation/exceptions', 'exceptions');
    expect([told?.['metadata'], shown?.['metadata']]).toEqual([{ note: SECRET }, { note: SECRET }]);
    const toBank = [
      await announced(standing.bankId, 'exception.opened'),
      await list('bank', '/v1/reconciliation/exceptions', 'exceptions'),
    ];
    expect(JSON.stringify(toBank)).toContain(billingRequestId);
    expect(JSON.stringify(toBank)).not.toContain(SECRET);
  });
});

describe('metadata of an intent', () => {
  it('comes back to the merchant with the decision, and where the intent is shown', async () => {
    const lookupID = await lookupIdOf(db, standing.customerId);
    const { body } = await as('merchant', 'POST', '/v1/billing/intent', {
      lookupIDs: [lookupID],
      currency: 'NGN',
      description: 'Gold plan',
      metadata: ORDER,
    });
    const [item] = body as unknown as { intentId: string }[];
    const shown = await as('merchant', 'GET', `/v1/billing/intents/${item?.intentId}`);
    await db.transaction((trx) =>
      answerIntent(trx, api.deps.ring, standing.bankId, {
        customerId: standing.customerId,
        merchantId: standing.merchantId,
        lookupId: lookupID,
        customerDecision: 'approve_once',
        spendingLimits: undefined,
        blockMerchant: false,
      }),
    );

    expect(shown.body.data?.['metadata']).toEqual(ORDER);
    expect(await announced(standing.merchantId, 'billing.intent.response')).toEqual([
      expect.objectContaining({ metadata: ORDER }),
    ]);
  });
});

test('a bank is told of no metadata, neither when it asks nor by webhook', async () => {
  const metadata = { note: SECRET };
  const lookupID = await lookupIdOf(db, standing.customerId);
  const intent = await as('merchant', 'POST', '/v1/billing/intent', {
    lookupIDs: [lookupID],
    currency: 'NGN',
    description: 'Gold plan',
    metadata,
  });
  const [{ intentId } = { intentId: '' }] = intent.body as unknown as { intentId: string }[];
  const { billingRequestId, reference } = await charge(metadata);
  await answerCharges(db, api.deps.ring, standing);
  const refund = await as('merchant', 'POST', '/v1/refunds/initiate', { reference, metadata });
  const refundId = String(refund.body.data?.['refundId']);

  const answers = await Promise.all(
    [
      `/v1/billing/intents/${intentId}`,
      `/v1/billing/requests/${billingRequestId}`,
      `/v1/refunds/${refundId}`,
      '/v1/refunds',
      '/v1/transaction-history',
      `/v1/transaction-details?reference=${reference}`,
      '/v1/events',
    ].map((path) => as('bank', 'GET', path)),
  );
  const file = await fetch(`${api.url}/v1/transaction-history?format=csv`, {
    headers: { authorization: `Bearer ${tokens.bank}` },
  });
  const sent = await announcedTo(db, api.deps.ring, standing.bankId);

  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  const told = JSON.stringify([answers.map(({ body }) => body), await file.text(), sent]);
  expect(told).toContain(reference);
  expect(told).not.toContain(SECRET);
  expect(told).not.toContain('metadata');
});

test('metadata is in no log, no audit event and nothing that waits for a workflow', async () => {
  await charge({ note: SECRET });
  const kept = await rows(db, `SELECT details FROM events UNION ALL SELECT to_jsonb(o) FROM outbox o`);
  expect(JSON.stringify([kept, api.log])).not.toContain(SECRET);
});

describe('the history by a pair of metadata', () => {
  it('has the charges and refunds with that pair, by a name that means something to programs, too', async () => {
    const one = await charge({ orderId: '6735', constructor: 'a b' });
    const other = await charge({ orderId: '6736', branch: 'Ikeja' });
    await charge({ branch: '6735' });

    expect(await referencesBy('metadata.orderId=6735')).toEqual([one.reference]);
    expect(await referencesBy('metadata.constructor=a+b')).toEqual([one.reference]);
    expect(await referencesBy('metadata.branch=Ikeja&status=pending', 'provider')).toEqual([other.reference]);
    expect(await referencesBy('metadata.toString=x')).toEqual([]);
    expect(await referencesBy('metadata.__proto__=x')).toEqual([]);
  });

  it('compares numbers and booleans as text', async () => {
    const { reference } = await charge(ORDER);
    expect(await referencesBy('metadata.lines=3')).toEqual([reference]);
    expect(await referencesBy('metadata.gift=true')).toEqual([reference]);
    expect(await referencesBy('metadata.gift=false')).toEqual([]);
  });

  it('is the caller’s own, whatever pairs others have', async () => {
    await charge(ORDER);
    const stranger: Party = await enter(api, 'merchant');
    const { body } = await stranger.send('GET', '/v1/transaction-history?metadata.orderId=6735');
    expect(body.data?.['transactions']).toEqual([]);
  });

  it('can be had as a file', async () => {
    const { reference } = await charge(ORDER);
    await charge({ orderId: 'another' });
    const answered = await fetch(`${api.url}/v1/transaction-history?format=csv&metadata.orderId=6735`, {
      headers: { authorization: `Bearer ${tokens.merchant}` },
    });
    const [, ...lines] = (await answered.text()).trimEnd().split('\r\n');
    expect(lines).toEqual([expect.stringContaining(reference)]);
  });

  it.each([
    ['metadata.a=1&metadata.b=2', 'query.metadata.', 'may name one pair only'],
    ['metadata=1', 'query.metadata', 'is not a known parameter: name the pair, as in metadata.orderId=6735'],
    ['metadata.=1', 'query.metadata.name', 'must not be empty'],
    [`metadata.${'n'.repeat(41)}=1`, 'query.metadata.name', 'must have at most 40 characters'],
    [`metadata.a=${'x'.repeat(501)}`, 'query.metadata.value', 'must have at most 500 characters'],
  ])('is refused for %s', async (query, path, message) => {
    const { status, body } = await as('merchant', 'GET', `/v1/transaction-history?${query}`);
    expect([status, body.errors]).toEqual([400, [{ path, message }]]);
  });

  it('is refused to a bank', async () => {
    const { status, body } = await as('bank', 'GET', '/v1/transaction-history?metadata.a=1');
    expect([status, body.errors?.[0]?.path]).toEqual([400, 'query.metadata']);
  });

  it('is found by an index, however many other charges there are', async () => {
    const { reference } = await charge(ORDER);
    await manyMore();
    const plans: string[] = [];
    const explaining: Executor = {
      async query(text, values, plan) {
        const explained = await db.query(`EXPLAIN ${text}`, values);
        plans.push(JSON.stringify(explained.rows));
        return db.query(text, values, plan);
      },
    };
    const party = { entityId: standing.merchantId, role: 'merchant' } as const;
    const { items } = await listTransactions(
      explaining,
      party,
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

/** Charges of the same agreement, each with metadata of its own. */
async function manyMore(): Promise<void> {
  await rows(
    db,
    `INSERT INTO billing_requests (id, transaction_id, reference, batch_id, merchant_id, customer_id, bank_id, lookup_id,
       agreement_id, amount, currency, description, approval_required, expires_at, workflow_id, created_at, metadata)
     SELECT 'brq_' || lpad(n::text, 26, '0'), 'txn_' || lpad(n::text, 26, '0'), lpad(n::text, 24, '0'), 'bat_1', a.merchant_id,
       a.customer_id, a.bank_id, 'a-b-c-d-10', a.id, 100, 'NGN', 'Shoes', false, clock_timestamp() + interval '1 day',
       'billing-request/' || n, clock_timestamp(), jsonb_build_object('orderId', 'order ' || n)
     FROM agreements a, generate_series(1, 5000) AS n WHERE a.id = :agreementId`,
    { agreementId: standing.agreementId },
  );
  await rows(db, 'ANALYZE billing_requests');
}
