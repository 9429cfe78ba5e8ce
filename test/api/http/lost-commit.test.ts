import { readBankFile } from '../../../src/database/bank-file/receive-bank-file';
import { openDatabase, type Database } from '../../../src/database/pool/connection';
import { send, serveApi, tokensOf, type Answered, type ServedApi } from '../../support/api';
import { workOnFile } from '../../support/bank-file';
import { startCommitCutter, type CommitCutter } from '../../support/commit-cutter';
import { asSchemaLogin, createTestDatabase, type TestDatabase } from '../../support/database';
import { eventually } from '../../support/engine';
import { openTransaction } from '../../support/open-transaction';
import { person } from '../../support/person';
import { bill, type Caller } from '../../support/shared-api';
import {
  answerCharges,
  lookupIdOf,
  makeSchedule,
  standingApproval,
  type Standing,
} from '../../support/standing';
import { engineFacts } from '../../support/keyring';

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
  throughCutter = openDatabase(cutter.url, 4, engineFacts);
  api = await serveApi(throughCutter);
  standing = await standingApproval(db);
  tokens = await tokensOf(api, standing);
});
afterAll(async () => {
  await api.close();
  await throughCutter.destroy();
  cutter.close();
  await database.drop();
});

interface Wanted {
  as: keyof typeof tokens;
  method?: string;
  path: string;
  body?: object;
}

/** Each request, with what it needs to be there. The last two end what the others need. */
const REQUESTS: Record<string, () => Promise<Wanted> | Wanted> = {
  'a bill': () => ({ as: 'merchant', path: '/v1/customer/bill', body: wish() }),
  'an intent': async () => ({
    as: 'merchant',
    path: '/v1/billing/intent',
    body: {
      lookupIDs: [await lookupIdOf(db, standing.customerId)],
      currency: 'NGN',
      description: 'Gold plan',
    },
  }),
  'a schedule': () => ({
    as: 'merchant',
    path: '/v1/billing/recurring/create',
    body: {
      customerId: standing.customerId,
      paymentID: standing.paymentId,
      amount: 100,
      currency: 'NGN',
      frequency: 'monthly',
    },
  }),
  'a change of a schedule': async () => ({
    as: 'merchant',
    path: `/v1/billing/recurring/${await makeSchedule(db, standing)}/pause`,
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
    body: {
      billingRequestId: (await billed()).id,
      bankTransactionId: 'debit-1',
    },
  }),
  'a webhook URL': () => ({
    as: 'bank',
    method: 'PUT',
    path: '/v1/webhooks/endpoint',
    body: { url: 'https://bank.example/hooks' },
  }),
  'a loss of trust': () => ({
    as: 'provider',
    method: 'PATCH',
    path: '/v1/provider/merchant/trust',
    body: { merchantId: standing.merchantId, trustLevel: 'untrusted' },
  }),
  'a decision': () => ({
    as: 'bank',
    method: 'PUT',
    path: `/v1/bank/customer-decisions/${standing.agreementId}`,
    body: { customerDecision: 'deny' },
  }),
};

const call = (
  { as, method = 'POST', path, body }: Wanted,
  headers: Record<string, string> = {},
): Promise<Answered> =>
  send(api.url, method, path, body, { authorization: `Bearer ${tokens[as]}`, ...headers });

const wish = () => ({
  paymentIDs: [standing.paymentId],
  amount: 100,
  currency: 'NGN',
  description: 'Shoes',
});

const merchant: Pick<Caller, 'send'> = {
  send: (method, path, body) => call({ as: 'merchant', method, path, body: body as object }),
};
const billed = () => bill({ merchant, paymentId: standing.paymentId });

async function settledCharge(): Promise<string> {
  const { reference } = await billed();
  await answerCharges(db, standing);
  return reference;
}

async function openRefund(): Promise<string> {
  const body = { reference: await settledCharge() };
  const answer = await call({ as: 'merchant', path: '/v1/refunds/initiate', body });
  return String(answer.body.data?.['refundId']);
}

test.each(['commit', 'answer'] as const)(
  'a refund with a key, where the %s is lost, is told to try again with it, and is made once',
  async (lost) => {
    const wanted: Wanted = {
      as: 'merchant',
      path: '/v1/refunds/initiate',
      body: { reference: await settledCharge() },
    };
    const key = { 'idempotency-key': lost };
    cutter.cutNext(lost);

    const first = await call(wanted, key);
    const again = await call(wanted, key);

    expect(first).toMatchObject({
      status: 503,
      body: { message: expect.stringContaining('retry with the same Idempotency-Key') as string },
    });
    expect(again.status).toBe(201);
    expect(again.headers.get('idempotent-replayed')).toBe(lost === 'answer' ? 'true' : null);
  },
);

test.each(Object.keys(REQUESTS))(
  '%s whose commit is lost is not told that nothing was accepted',
  async (name) => {
    const wanted = await REQUESTS[name]?.();
    if (!wanted) throw new Error(`there is no ${name}`);
    cutter.cutNext('answer');

    const { status, headers, body } = await call(wanted);

    expect({ status, message: body.message }).toEqual({
      status: 503,
      message: expect.stringMatching(
        /may have been (accepted: look whether it took effect before|taken: send the same answer)/,
      ) as string,
    });
    expect(headers.get('retry-after')).toBe('2');
  },
);

test('a bank’s file whose commit goes on without its connection has all of its lines', async () => {
  await asSchemaLogin(
    database.url,
    `CREATE FUNCTION wait_for_test() RETURNS trigger LANGUAGE plpgsql AS
       'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END';
     CREATE CONSTRAINT TRIGGER wait_for_test AFTER INSERT ON bank_files DEFERRABLE INITIALLY DEFERRED
       FOR EACH ROW EXECUTE FUNCTION wait_for_test()`,
  );
  const stall = await openTransaction(db);
  await stall.trx.rows`SELECT pg_advisory_xact_lock(1)`;
  cutter.cutNext('connection');

  const sent = await fetch(`${api.url}/v1/bank/statements`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tokens.bank}`, 'content-type': 'text/csv' },
    body: 'bankTransactionId,bookingDate,amount,currency,direction\nFT-1,2026-03-02,8.00,NGN,debit\n',
  });
  await stall.commit();

  expect(sent.status).toBe(503);
  const accepted = () => db.row<{ id: string }>`SELECT id FROM bank_files WHERE bank_id = ${standing.bankId}`;
  await eventually(async () => (await accepted()) !== undefined);
  const { id = '' } = (await accepted()) ?? {};
  await workOnFile(db, id);
  expect(await readBankFile(db, id)).toMatchObject({ status: 'completed', summary: { lines: 1 } });
});

const batch = (): Wanted => ({
  as: 'bank',
  path: '/v1/bank/customers',
  body: { customers: Array.from({ length: 501 }, () => person()) },
});

test('batches of customers whose commit is lost keep no place from the next', async () => {
  for (let lost = 0; lost < 2; lost++) {
    cutter.cutNext('answer');
    expect((await call(batch())).status).toBe(503);
  }
  expect((await call(batch())).status).toBe(202);
});
