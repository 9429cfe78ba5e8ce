import { openDatabase, type Database } from '../../../src/database/pool/connection';
import { send, serveApi, tokenOf, type Answered, type ServedApi } from '../../support/api';
import { startCommitCutter, type CommitCutter } from '../../support/commit-cutter';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import {
  answerCharges,
  lookupIdOf,
  makeSchedule,
  standingApproval,
  type Standing,
} from '../../support/standing';

/**
 * The connection to Postgres is lost at the commit of a request. Whether Postgres had committed or
 * not, the caller hears the same, which is the truth: nobody knows.
 */

let database: TestDatabase;
let db: Database;
let cutter: CommitCutter;
let throughCutter: Database;
let api: ServedApi;
let standing: Standing;
let tokens: Record<'bank' | 'provider' | 'merchant', string>;

beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
  cutter = await startCommitCutter(database.url);
  throughCutter = openDatabase(cutter.url, 4);
  api = await serveApi(throughCutter);
});
afterAll(async () => {
  await api.close();
  await throughCutter.destroy();
  cutter.close();
  await database.drop();
});
beforeEach(async () => {
  standing = await standingApproval(db, api.deps.ring);
  const { bank, provider, merchant } = standing.credentials;
  tokens = {
    bank: await tokenOf(api, bank),
    provider: await tokenOf(api, provider),
    merchant: await tokenOf(api, merchant),
  };
});

interface Wanted {
  as: keyof typeof tokens;
  method?: string;
  path: string;
  body?: object;
}

/** What each request needs to be there, and the request. */
const REQUESTS: Record<string, () => Promise<Wanted> | Wanted> = {
  'a bill': () => ({ as: 'merchant', path: '/v1/customer/bill', body: bill() }),
  'an intent': async () => ({
    as: 'merchant',
    path: '/v1/billing/intent',
    body: { lookupIDs: [await lookupId()], currency: 'NGN', description: 'Gold plan' },
  }),
  'a schedule': () => ({
    as: 'merchant',
    path: '/v1/billing/recurring/create',
    body: { ...withoutPhrases(), frequency: 'monthly' },
  }),
  'a change of a schedule': async () => ({
    as: 'merchant',
    path: `/v1/billing/recurring/${await makeSchedule(db, api.deps.ring, standing)}/pause`,
  }),
  'a refund': async () => ({
    as: 'merchant',
    path: '/v1/refunds/initiate',
    body: { reference: await settledCharge() },
  }),
  'the answer to a refund': async () => ({
    as: 'bank',
    path: '/v1/bank/refund-response',
    body: { refundId: await openRefund(), action: 'rejected' },
  }),
  'the answer to a charge': async () => ({
    as: 'bank',
    path: '/v1/billing/bank-response',
    body: { billingRequestId: (await charge()).billingRequestId, bankTransactionId: 'debit-1' },
  }),
  'a decision': () => ({
    as: 'bank',
    method: 'PUT',
    path: `/v1/bank/customer-decisions/${standing.agreementId}`,
    body: { customerDecision: 'deny' },
  }),
  'a loss of trust': () => ({
    as: 'provider',
    method: 'PATCH',
    path: '/v1/provider/merchant/trust',
    body: { merchantId: standing.merchantId, trustLevel: 'untrusted' },
  }),
  'a webhook URL': () => ({
    as: 'bank',
    method: 'PUT',
    path: '/v1/webhooks/endpoint',
    body: { url: 'https://bank.example/hooks' },
  }),
};

const call = (
  { as, method = 'POST', path, body }: Wanted,
  headers: Record<string, string> = {},
): Promise<Answered> =>
  send(api.url, method, path, body, { authorization: `Bearer ${tokens[as]}`, ...headers });

const withoutPhrases = () => ({
  paymentID: standing.paymentId,
  customerId: standing.customerId,
  amount: 100,
  currency: 'NGN',
  description: 'Shoes',
});
const bill = () => ({
  paymentIDs: [standing.paymentId],
  amount: 100,
  currency: 'NGN',
  description: 'Shoes',
});

const lookupId = () => lookupIdOf(db, standing.customerId);

async function charge(): Promise<{ reference: string; billingRequestId: string }> {
  const { body } = await call({ as: 'merchant', path: '/v1/customer/bill', body: bill() });
  const [item] = body as unknown as { reference: string; billingRequestId: string }[];
  if (!item) throw new Error('the bill was refused');
  return item;
}

async function settledCharge(): Promise<string> {
  const { reference } = await charge();
  await answerCharges(db, api.deps.ring, standing);
  return reference;
}

async function openRefund(): Promise<string> {
  const body = { reference: await settledCharge() };
  const answer = await call({ as: 'merchant', path: '/v1/refunds/initiate', body });
  return String(answer.body.data?.['refundId']);
}

describe.each(['commit', 'answer'] as const)('where the %s is lost', (lost) => {
  test.each(Object.keys(REQUESTS))('%s is not told that nothing was accepted', async (name) => {
    const wanted = await REQUESTS[name]?.();
    if (!wanted) throw new Error(`there is no ${name}`);
    cutter.cutNext(lost);

    const { status, headers, body } = await call(wanted);

    expect({ status, message: body.message }).toEqual({
      status: 503,
      message: expect.stringMatching(
        /may have been (accepted: look whether it took effect before|taken: send the same answer)/,
      ) as string,
    });
    expect(headers.get('retry-after')).toBe('2');
  });

  test('a refund with a key is told to try again with it, and is made once', async () => {
    const wanted = {
      as: 'merchant',
      path: '/v1/refunds/initiate',
      body: { reference: await settledCharge() },
    } as const;
    const key = { 'idempotency-key': wanted.body.reference };
    cutter.cutNext(lost);

    const first = await call(wanted, key);
    const again = await call(wanted, key);

    expect(first).toMatchObject({
      status: 503,
      body: { message: expect.stringContaining('retry with the same Idempotency-Key') as string },
    });
    expect(again.status).toBe(201);
    expect(again.headers.get('idempotent-replayed')).toBe(lost === 'answer' ? 'true' : null);
  });
});
