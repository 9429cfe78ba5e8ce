import { createBillingRequestActivities } from '../../../src/activities/billing-request';
import { rows, type Database } from '../../../src/database/pool/connection';
import { enter, serveApi, signIn, type Answered, type Party, type ServedApi } from '../../support/api';
import { bookDifferences } from '../../support/books';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { person } from '../../support/person';
import { announcedTo, lookupIdOf, moveClock, standingApproval, type Standing } from '../../support/standing';

let database: TestDatabase;
let db: Database;
let api: ServedApi;
let standing: Standing;
let bank: Party;
let provider: Party;
let merchant: Party;

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
  standing = await standingApproval(db, api.deps.ring, { dailyLimit: 20_000n });
  [bank, provider, merchant] = await Promise.all([
    signIn(api, standing.credentials.bank),
    signIn(api, standing.credentials.provider),
    signIn(api, standing.credentials.merchant),
  ]);
});
afterEach(async () => {
  expect(await bookDifferences(db)).toEqual([]);
});

/** @returns the ids of the charges */
async function bill(payer: object): Promise<string[]> {
  const body = { ...payer, amount: 150, currency: 'NGN', description: 'Shoes' };
  const answered = await merchant.send('POST', '/v1/customer/bill', body);
  expect(answered.status).toBe(201);
  return (answered.body as unknown as { billingRequestId: string }[]).map((one) => one.billingRequestId);
}

/** A one-time payment, which its customer must approve. */
async function oneTime(): Promise<string> {
  const [id = ''] = await bill({ lookupIDs: [await lookupIdOf(db, standing.customerId)] });
  return id;
}

const agreed = async () => (await bill({ paymentIDs: [standing.paymentId] }))[0] ?? '';

async function anotherCustomer(): Promise<string> {
  const { body } = await bank.send('POST', '/v1/bank/customers', { customers: [person()] });
  const { customers } = body.data as { customers: { lookupID: string }[] };
  return String(customers[0]?.lookupID);
}

const mustApprove = () =>
  bank.send('PUT', `/v1/bank/customer-decisions/${standing.agreementId}`, {
    customerDecision: 'approve_once',
  });

const cancel = (id: string, by = merchant, headers = {}): Promise<Answered> =>
  by.send('POST', `/v1/billing/requests/${id}/cancel`, undefined, headers);

const approve = (billingRequestId: string) =>
  bank.send('POST', '/v1/billing/bank-response', {
    billingRequestId,
    bankTransactionId: `FT-${billingRequestId}`,
  });

const told = async (entityId: string, type: string) =>
  (await announcedTo(db, api.deps.ring, entityId)).flatMap((one) => (one.type === type ? [one.item] : []));

const CANCELLED = { status: 'declined', declineReason: 'cancelled' };

describe('cancelling a charge that waits for its customer', () => {
  it('declines it, and tells the merchant and its bank', async () => {
    const billingRequestId = await oneTime();
    const { status, body } = await cancel(billingRequestId);

    expect([status, body.data]).toEqual([200, { billingRequestId, ...CANCELLED }]);
    expect((await merchant.send('GET', `/v1/billing/requests/${billingRequestId}`)).body.data).toMatchObject(
      CANCELLED,
    );
    expect(await told(standing.merchantId, 'billing.response')).toEqual([
      expect.objectContaining({ billingRequestId, sequence: 1, customerAction: 'declined', ...CANCELLED }),
    ]);
    // The question had not been sent, so it is withdrawn: the bank hears of this charge first now.
    expect(await told(standing.bankId, 'billing.closed')).toEqual([
      expect.objectContaining({ billingRequestId, sequence: 1, ...CANCELLED }),
    ]);
  });

  it('is refused where the bank has said yes by an id that it had used: money may have moved', async () => {
    const paid = await agreed();
    await approve(paid);
    const billingRequestId = await oneTime();
    const used = { billingRequestId, bankTransactionId: `FT-${paid}` };
    expect((await bank.send('POST', '/v1/billing/bank-response', used)).status).toBe(409);

    expect(await cancel(billingRequestId)).toMatchObject({
      status: 409,
      body: { data: { status: 'pending' } },
    });
    expect((await approve(billingRequestId)).status).toBe(200);
  });

  it('is the same again, with a key and without', async () => {
    const id = await oneTime();
    const first = await cancel(id, merchant, { 'idempotency-key': 'once' });
    const replayed = await cancel(id, merchant, { 'idempotency-key': 'once' });
    const again = await cancel(id);

    expect([first.status, replayed.body, again.body]).toEqual([200, first.body, first.body]);
    expect(replayed.headers.get('idempotent-replayed')).toBe('true');
    expect(await told(standing.merchantId, 'billing.response')).toHaveLength(1);
  });

  it('takes it out of the customer’s limits', async () => {
    await mustApprove();
    const id = await agreed();
    const another = { paymentIDs: [standing.paymentId], amount: 200, currency: 'NGN', description: 'Shoes' };
    expect((await merchant.send('POST', '/v1/customer/bill', another)).status).toBe(403);
    await cancel(id);
    expect((await merchant.send('POST', '/v1/customer/bill', another)).status).toBe(201);
  });

  it('wakes its workflow, which tells that the merchant has cancelled', async () => {
    const id = await oneTime();
    const patience = { waitForAnswers: () => Promise.resolve(), stop: () => undefined };
    const activities = createBillingRequestActivities(db, api.deps.ring, 'Africa/Lagos', patience);
    expect(await activities.awaitAnswer([id], `billing-request/${id}`)).toMatchObject({ open: [id] });
    await cancel(id);

    const signals = await rows(db, `SELECT signal FROM outbox WHERE kind = 'signal' AND workflow_id = :of`, {
      of: `billing-request/${id}`,
    });
    expect(signals).toEqual([{ signal: 'cancelled' }]);
    expect(await activities.awaitAnswer([id], `billing-request/${id}`)).toMatchObject({
      open: [],
      ended: [{ declineReason: 'cancelled', cancelledBy: 'merchant' }],
    });
  });

  it('leaves the others of its batch open', async () => {
    const [first = '', second = ''] = await bill({
      lookupIDs: [await lookupIdOf(db, standing.customerId), await anotherCustomer()],
    });
    expect((await cancel(first)).status).toBe(200);
    expect((await approve(second)).status).toBe(200);
  });

  it('is for its provider, too, and stands so in its story', async () => {
    const id = await oneTime();
    expect((await cancel(id, provider)).status).toBe(200);
    const { body } = await merchant.send('GET', `/v1/billing/requests/${id}`);
    const details = await merchant.send(
      'GET',
      `/v1/transaction-details?reference=${String(body.data?.['reference'])}`,
    );
    expect(details.body.data?.['events']).toEqual([
      expect.objectContaining({ type: 'billing_request.accepted' }),
      expect.objectContaining({
        type: 'billing_request.declined',
        cause: 'provider',
        declineReason: 'cancelled',
      }),
    ]);
  });

  it('is for nobody else', async () => {
    const id = await oneTime();
    expect((await cancel(id, await enter(api, 'merchant'))).status).toBe(404);
    expect((await cancel(id, await enter(api, 'provider'))).status).toBe(404);
    expect((await cancel(id, bank)).status).toBe(403);
    expect((await cancel('brq_none')).status).toBe(404);
    expect((await approve(id)).status).toBe(200);
  });

  it('has an approval that comes later kept as an exception', async () => {
    const id = await oneTime();
    await cancel(id);
    const late = await approve(id);

    expect([late.status, late.body.data?.['status']]).toEqual([409, 'declined']);
    expect((await merchant.send('GET', '/v1/reconciliation/exceptions')).body.data?.['exceptions']).toEqual([
      expect.objectContaining({ kind: 'late_answer', billingRequestId: id, state: 'open' }),
    ]);
  });

  it('is counted among the declines of its day by that reason', async () => {
    await cancel(await oneTime());
    const { body } = await merchant.send('GET', '/v1/summary');
    expect(JSON.stringify(body.data)).toContain('"reason":"cancelled"');
  });
});

const refusal = async (id: string) => {
  const { status, body } = await cancel(id);
  return [status, body.data];
};

describe('a charge that cannot be cancelled', () => {
  it('is one under a standing approval: its bank debits without asking', async () => {
    const billingRequestId = await agreed();
    expect(await refusal(billingRequestId)).toEqual([409, { billingRequestId, status: 'pending' }]);
    expect((await approve(billingRequestId)).status).toBe(200);
  });

  it('is one that the bank has answered', async () => {
    const billingRequestId = await oneTime();
    await approve(billingRequestId);
    expect(await refusal(billingRequestId)).toEqual([409, { billingRequestId, status: 'successful' }]);
  });

  it('is one that the bank has declined in the same word', async () => {
    const billingRequestId = await oneTime();
    await bank.send('POST', '/v1/billing/bank-response', { billingRequestId, declineReason: 'cancelled' });
    expect(await refusal(billingRequestId)).toEqual([409, { billingRequestId, status: 'declined' }]);
  });

  it('is one whose window has passed, be it closed already or not', async () => {
    const billingRequestId = await oneTime();
    await moveClock(db, standing.merchantId, '16 minutes');
    expect(await refusal(billingRequestId)).toEqual([409, { billingRequestId, status: 'declined' }]);
    expect(await told(standing.merchantId, 'billing.response')).toEqual([]);
  });
});

test('of a cancellation and an approval at once exactly one wins', async () => {
  const ids = await Promise.all(Array.from({ length: 8 }, oneTime));
  for (const id of ids) {
    const [cancelled, approved] = await Promise.all([cancel(id), approve(id)]);
    expect([cancelled.status, approved.status].toSorted((a, b) => a - b)).toEqual([200, 409]);
    const { body } = await merchant.send('GET', `/v1/billing/requests/${id}`);
    expect(body.data?.['status']).toBe(cancelled.status === 200 ? 'declined' : 'successful');
  }
});
