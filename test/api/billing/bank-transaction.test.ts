import { claimBankTransaction } from '../../../src/database/ledger/claim-bank-transaction';
import { row, rows, type Database } from '../../../src/database/pool/connection';
import { remindBank } from '../../../src/database/refund/settle-refund';
import { chargeUnder, send, serveApi, tokenOf, type Answered, type ServedApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { eventually } from '../../support/engine';
import { openTransaction, type OpenTransaction } from '../../support/open-transaction';
import { lookupIdOf, moveClock, standingApproval, type Standing } from '../../support/standing';

/** A bank's transaction proves one thing: whatever it was sent for first. */

let database: TestDatabase;
let db: Database;
let api: ServedApi;
let standing: Standing;
let merchant: string;
let bank: string;

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
  merchant = await tokenOf(api, standing.credentials.merchant);
  bank = await tokenOf(api, standing.credentials.bank);
});

const post = (token: string, path: string, body: unknown): Promise<Answered> =>
  send(api.url, 'POST', path, body, { authorization: `Bearer ${token}` });

const charge = () => chargeUnder(api, standing, merchant);

const approve = (id: string, bankTransactionId: string, more = {}) =>
  post(bank, '/v1/billing/bank-response', { billingRequestId: id, bankTransactionId, ...more });
const complete = (refundId: string, bankTransactionId: string) =>
  post(bank, '/v1/bank/refund-response', { refundId, action: 'completed', bankTransactionId });

async function refund(reference: string, amount?: number): Promise<string> {
  const { body } = await post(merchant, '/v1/refunds/initiate', { reference, amount });
  return String(body.data?.['refundId']);
}

async function timeLine(reference: string): Promise<string[]> {
  const path = `/v1/transaction-details?reference=${reference}`;
  const { body } = await send(api.url, 'GET', path, undefined, { authorization: `Bearer ${bank}` });
  const events = body.data?.['events'] as { type: string; kind?: string }[];
  return events.map(({ type, kind }) => (kind === undefined ? type : `${type} ${kind}`));
}

test('a debit settles its charge by an identifier as long as a name, and by no longer one', async () => {
  const { id } = await charge();
  expect(await approve(id, 'F'.repeat(201))).toMatchObject({
    status: 400,
    body: { errors: [{ path: 'bankTransactionId', message: 'must have at most 200 characters' }] },
  });
  expect(await approve(id, 'F'.repeat(200))).toMatchObject({
    status: 200,
    body: { data: { status: 'successful' } },
  });
});

test('a debit that came too late for its charge cannot prove another one', async () => {
  const late = await charge();
  await moveClock(db, standing.merchantId, '2 days');
  expect((await approve(late.id, 'debit-1')).status).toBe(409);
  const next = await charge();

  expect(await approve(next.id, 'debit-1')).toMatchObject({
    status: 409,
    body: { data: { billingRequestId: next.id, status: 'pending' } },
  });
  // For the charge that it was made for, it may be sent again.
  expect(await approve(late.id, 'debit-1')).toMatchObject({ body: { data: { status: 'declined' } } });
  expect((await timeLine(late.reference)).filter((one) => one.includes('duplicate'))).toEqual([]);
});

test('a debit that contradicts the answer that stands cannot prove another charge', async () => {
  const [first, next] = [await charge(), await charge()];
  await approve(first.id, 'debit-1');
  expect((await approve(first.id, 'debit-2')).status).toBe(409);

  expect((await approve(next.id, 'debit-2')).status).toBe(409);
});

test('a transfer that contradicts a rejected refund cannot prove a charge', async () => {
  const first = await charge();
  await approve(first.id, 'debit-1');
  const refundId = await refund(first.reference);
  await post(bank, '/v1/bank/refund-response', { refundId, action: 'rejected' });
  expect((await complete(refundId, 'transfer-1')).status).toBe(409);

  expect((await approve((await charge()).id, 'transfer-1')).status).toBe(409);
});

test('an answer with a used id is an exception on the time line, once, and the charge takes the right one', async () => {
  const [first, next] = [await charge(), await charge()];
  await approve(first.id, 'debit-1');

  for (let again = 0; again < 2; again++) expect((await approve(next.id, 'debit-1')).status).toBe(409);

  expect(await timeLine(next.reference)).toEqual([
    'billing_request.accepted',
    'exception.opened duplicate_transaction_id',
  ]);
  expect(await approve(next.id, 'debit-2')).toMatchObject({
    status: 200,
    body: { data: { status: 'successful' } },
  });
  // Wrong was the id alone: nothing of the charge is held.
  expect((await post(merchant, '/v1/refunds/initiate', { reference: next.reference })).status).toBe(201);
});

test('a used id that comes too late is a duplicate, and the charge stays unanswered', async () => {
  const [first, next] = [await charge(), await charge()];
  await approve(first.id, 'debit-1');
  await moveClock(db, standing.merchantId, '2 days');

  expect(await approve(next.id, 'debit-1')).toMatchObject({
    status: 409,
    body: { data: { status: 'declined' } },
  });

  expect((await timeLine(next.reference)).slice(1)).toEqual([
    'billing_request.declined',
    // Whoever names a debit for it knows of the charge.
    'exception.opened unanswered',
    'exception.updated duplicate_transaction_id',
  ]);
});

test('of two charges that are answered with one id at the same time, one takes it and the other has an exception', async () => {
  const both = [await charge(), await charge()];

  const answers = await Promise.all(both.map(({ id }) => approve(id, 'debit-1')));

  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
  const kept = await rows<{ kind: string }>(
    db,
    `SELECT kind FROM reconciliation_exceptions WHERE billing_request_id = ANY(:ids)`,
    { ids: both.map(({ id }) => id) },
  );
  expect(kept).toEqual([{ kind: 'duplicate_transaction_id' }]);
});

test('a refund that is called completed by a used id waits, and is held once it is rejected', async () => {
  const first = await charge();
  await approve(first.id, 'debit-1');
  const refundId = await refund(first.reference, 40);
  expect(await complete(refundId, 'debit-1')).toMatchObject({
    status: 409,
    body: { data: { refundId, status: 'pending' } },
  });
  expect(await timeLine(first.reference)).toContain('exception.opened duplicate_transaction_id');

  await post(bank, '/v1/bank/refund-response', { refundId, action: 'rejected' });

  const rest = await post(merchant, '/v1/refunds/initiate', { reference: first.reference });
  expect(rest.body.data).toMatchObject({ amount: 60 });
});

test('a refund that is completed while the bank is being reminded is completed', async () => {
  const first = await charge();
  await approve(first.id, 'debit-1');
  const refundId = await refund(first.reference);
  await moveClock(db, standing.merchantId, '10 days');
  const reminding = await openTransaction(db);
  await remindBank(reminding.trx, api.deps.ring, 'Africa/Lagos', refundId);
  const completing = complete(refundId, 'transfer-1');
  await waitedFor(reminding);
  await reminding.commit();

  expect((await completing).status).toBe(200);
});

/** Waits until somebody waits for what the transaction has locked. */
async function waitedFor({ trx }: OpenTransaction): Promise<void> {
  const holder = await row<{ pid: number }>(trx, `SELECT pg_backend_pid() AS pid`);
  await eventually(async () => {
    const waiting = await row(
      db,
      `SELECT true FROM pg_locks w JOIN pg_locks h ON h.transactionid = w.transactionid AND h.granted
       WHERE NOT w.granted AND h.pid = :pid`,
      { pid: holder?.pid },
    );
    return waiting !== undefined;
  });
}

describe('a standing approval for a merchant without an agreement is not granted, and leaves none,', () => {
  let stranger: Standing;
  let billingRequestId: string;

  beforeEach(async () => {
    stranger = await standingApproval(db, api.deps.ring);
    const { body } = await post(await tokenOf(api, stranger.credentials.merchant), '/v1/customer/bill', {
      lookupIDs: [await lookupIdOf(db, standing.customerId)],
      amount: 1,
      currency: 'NGN',
      description: 'Once',
    });
    const [item] = body as unknown as { billingRequestId: string }[];
    billingRequestId = String(item?.billingRequestId);
  });

  const grant = () => approve(billingRequestId, 'debit-1', { action: 'approve_recurring' });

  async function decisions(): Promise<unknown> {
    const path = `/v1/bank/customer-decisions?merchantId=${stranger.merchantId}`;
    const { body } = await send(api.url, 'GET', path, undefined, { authorization: `Bearer ${bank}` });
    return body.data?.['decisions'];
  }

  test('where it comes with a used id', async () => {
    await approve((await charge()).id, 'debit-1');
    expect((await grant()).status).toBe(409);
    expect(await decisions()).toEqual([]);
  });

  test('where it comes with an id that is being used', async () => {
    const { bankId } = standing;
    const claim = { bankId, bankTransactionId: 'debit-1', resourceId: (await charge()).id };
    const claiming = await openTransaction(db);
    expect(await claimBankTransaction(claiming.trx, claim)).toBe(true);
    const granting = grant();
    await waitedFor(claiming);
    await claiming.commit();

    expect((await granting).status).toBe(409);
    expect(await decisions()).toEqual([]);
  });

  test('where it comes too late', async () => {
    await moveClock(db, stranger.merchantId, '16 minutes');
    expect(await grant()).toMatchObject({ status: 409, body: { data: { status: 'declined' } } });
    expect(await decisions()).toEqual([]);
  });
});
