import { applyDecision } from '../../../src/database/decision/apply-decision';
import { rows, type Database } from '../../../src/database/pool/connection';
import { enter, serveApi, signIn, type Answered, type Party, type ServedApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { person } from '../../support/person';
import { standingApproval, toNoon, type Standing } from '../../support/standing';

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
  standing = await standingApproval(db, api.deps.ring, { dailyLimit: 500_000n });
  [bank, provider, merchant] = await Promise.all([
    signIn(api, standing.credentials.bank),
    signIn(api, standing.credentials.provider),
    signIn(api, standing.credentials.merchant),
  ]);
});

const decide = (decision: 'approve_once' | 'deny' | 'suspended', agreementId = standing.agreementId) =>
  db.transaction((trx) =>
    applyDecision(trx, api.deps.ring, agreementId, { decision, blocked: false }, 'bank'),
  );

/** An agreement that the merchant has asked for, with another customer of the bank. */
async function asked(): Promise<string> {
  const onboarded = await bank.send('POST', '/v1/bank/customers', { customers: [person()] });
  const { customers } = onboarded.body.data as { customers: { customerId: string; lookupID: string }[] };
  const [customer] = customers;
  await merchant.send('POST', '/v1/billing/intent', {
    lookupIDs: [customer?.lookupID],
    currency: 'NGN',
    description: 'Gold plan',
  });
  const [agreementId] = await ids(`?customerId=${customer?.customerId}`);
  return String(agreementId);
}

const shown = (agreementId = standing.agreementId, by = merchant) =>
  by.send('GET', `/v1/agreements/${agreementId}`);

async function ids(query = '', by = merchant): Promise<unknown[]> {
  const { status, body } = await by.send('GET', `/v1/agreements${query}`);
  expect(status).toBe(200);
  const { agreements } = body.data as { agreements: { agreementId: string }[] };
  return agreements.map(({ agreementId }) => agreementId);
}

describe('an agreement', () => {
  it('shows its merchant the paymentID to bill with, the limits, and what is spent of them', async () => {
    await toNoon(db, standing.merchantId);
    const bill = { paymentIDs: [standing.paymentId], amount: 1200.5, currency: 'NGN', description: 'Shoes' };
    expect((await merchant.send('POST', '/v1/customer/bill', bill)).status).toBe(201);

    const { status, body } = await shown();
    expect(status).toBe(200);
    expect(body.data).toEqual({
      agreementId: standing.agreementId,
      paymentID: standing.paymentId,
      customerId: standing.customerId,
      bankId: standing.bankId,
      merchantId: standing.merchantId,
      decision: 'approve_recurring',
      currency: 'NGN',
      spendingLimits: { daily: 5000, monthly: null },
      spent: { daily: 1200.5, monthly: 1200.5 },
      createdAt: expect.stringMatching(/Z$/) as string,
      updatedAt: expect.stringMatching(/Z$/) as string,
    });
    expect((await merchant.send('GET', '/v1/agreements')).body.data).toMatchObject({
      agreements: [body.data],
      total: 1,
    });
  });

  it('tells a sum that is too long for a number in full', async () => {
    await rows(
      db,
      `UPDATE agreements SET spent_month = 'infinity', spent_month_total = 123456789012345678 WHERE id = :id`,
      { id: standing.agreementId },
    );
    const { body } = await shown();
    expect(body.data?.['spent']).toMatchObject({ exact: { monthly: '1234567890123456.78' } });
  });

  it('has no paymentID until the customer approves it, and keeps it for good from then on', async () => {
    const agreementId = await asked();
    const paymentID = async () => (await shown(agreementId)).body.data?.['paymentID'];
    expect(await paymentID()).toBeNull();
    await decide('suspended', agreementId);
    expect(await paymentID()).toBeNull();
    await decide('approve_once', agreementId);
    const first = await paymentID();
    expect(first).toEqual(expect.any(String));
    await decide('deny', agreementId);
    expect(await paymentID()).toBe(first);
  });

  it('is shown to its provider, and to nobody else', async () => {
    const others: [Party, number][] = [
      [provider, 200],
      [await enter(api, 'merchant'), 404],
      [await enter(api, 'provider'), 404],
      [bank, 403],
    ];
    for (const [by, status] of others) expect((await shown(standing.agreementId, by)).status).toBe(status);
    expect((await merchant.send('GET', '/v1/agreements/agr_none')).status).toBe(404);
  });
});

describe('the list of agreements', () => {
  it('is filtered by decision and by customer, newest first unless asked otherwise', async () => {
    const pending = await asked();
    expect(await ids()).toEqual([pending, standing.agreementId]);
    expect(await ids('?sortOrder=asc')).toEqual([standing.agreementId, pending]);
    expect(await ids('?limit=1&page=2')).toEqual([standing.agreementId]);
    expect(await ids('?decision=pending')).toEqual([pending]);
    expect(await ids(`?customerId=${standing.customerId}`)).toEqual([standing.agreementId]);
    await decide('deny');
    expect(await ids('?sortBy=updatedAt')).toEqual([standing.agreementId, pending]);
  });

  it('has, for a provider, those of its merchants, or of one of them', async () => {
    const other = await enter(api, 'merchant', { providerId: standing.providerId });
    expect(await ids('', provider)).toEqual([standing.agreementId]);
    expect(await ids(`?merchantId=${standing.merchantId}`, provider)).toEqual([standing.agreementId]);
    expect(await ids(`?merchantId=${other.entityId}`, provider)).toEqual([]);
    expect(await ids('', other)).toEqual([]);
  });

  it('takes no order and no decision that there is not', async () => {
    const answered: Answered = await merchant.send('GET', '/v1/agreements?sortBy=spent&decision=maybe');
    expect([answered.status, answered.body.errors?.map(({ path }) => path)]).toEqual([
      400,
      ['query.sortBy', 'query.decision'],
    ]);
  });
});
