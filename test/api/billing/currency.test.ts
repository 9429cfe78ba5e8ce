import { row } from '../../../src/database/pool/connection';
import { send, serveApi, tokenOf, type Answered, type ServedApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { standingApproval, type Standing } from '../../support/standing';

/** A network with two currencies, one of which has no decimals. */

let database: TestDatabase;
let api: ServedApi;
/** Of a customer who is billed in naira. */
let standing: Standing;
let token: string;

beforeAll(async () => {
  database = await createTestDatabase();
  api = await serveApi(database.db, { settings: { ACCEPTED_CURRENCIES: 'NGN,JPY' } });
  standing = await standingApproval(database.db, api.deps.ring);
  token = await tokenOf(api, standing.credentials.merchant);
});
afterAll(async () => {
  await api.close();
  await database.drop();
});

const post = (path: string, body: object): Promise<Answered> =>
  send(api.url, 'POST', path, body, { authorization: `Bearer ${token}` });
const bill = (body: object) =>
  post('/v1/customer/bill', { paymentIDs: [standing.paymentId], description: 'Shoes', ...body });
const schedule = (body: object) =>
  post('/v1/billing/recurring/create', {
    customerId: standing.customerId,
    paymentID: standing.paymentId,
    frequency: 'monthly',
    ...body,
  });

test('a charge in another currency than the agreement’s is refused, and takes nothing from its limits', async () => {
  const inYen = await bill({ amount: 10, currency: 'JPY' });
  const message = 'This agreement bills in NGN, not in JPY. Send a new intent to change its currency.';
  expect(inYen).toMatchObject({
    status: 400,
    body: { statusCode: 400, success: false, message, data: [{ statusCode: 400, success: false, message }] },
  });
  expect(await bill({ amount: 10, currency: 'NGN' })).toMatchObject({ status: 201 });
  expect(await row(database.db, 'SELECT count(*)::int AS charges FROM billing_requests')).toEqual({
    charges: 1,
  });
});

test('so is a schedule', async () => {
  expect(await schedule({ amount: 10, currency: 'JPY' })).toMatchObject({
    status: 400,
    body: { errors: [{ path: 'currency', message: 'must be NGN, in which this agreement bills' }] },
  });
});

test('a currency that the network does not take is refused with those that it does', async () => {
  for (const answered of [
    await bill({ amount: 10, currency: 'USD' }),
    await schedule({ amount: 10, currency: 'USD' }),
    await post('/v1/billing/intent', { lookupIDs: ['a'], currency: 'USD', description: 'Gold plan' }),
  ]) {
    expect(answered).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'currency', message: 'must be one of NGN, JPY' }] },
    });
  }
});

test('an amount has the decimals of its currency, and comes back as it was sent', async () => {
  const customer = await row<{ lookupID: string }>(
    database.db,
    'SELECT lookup_id AS "lookupID" FROM customers WHERE id = :customerId',
    { customerId: standing.customerId },
  );
  const once = (amount: number) =>
    post('/v1/customer/bill', {
      lookupIDs: [customer?.lookupID],
      amount,
      currency: 'JPY',
      description: 'Shoes',
    });
  expect(await once(1500.5)).toMatchObject({
    status: 400,
    body: { errors: [{ path: 'amount', message: 'must have no decimals in JPY' }] },
  });

  const [item] = (await once(1500)).body as unknown as { reference: string }[];
  const shown = await send(
    api.url,
    'GET',
    `/v1/transaction-details?reference=${item?.reference}`,
    undefined,
    { authorization: `Bearer ${token}` },
  );
  expect(shown.body.data).toMatchObject({ amount: 1500, currency: 'JPY' });
  expect(
    await row(database.db, 'SELECT amount FROM billing_requests WHERE reference = :reference', {
      reference: item?.reference,
    }),
  ).toEqual({ amount: 1500n });
});
