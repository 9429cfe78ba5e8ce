import { forgetPrompts } from '../../../src/database/customer/limit-prompts';
import { row, rows } from '../../../src/database/pool/connection';
import { enter, serveApi, type Answered, type Party, type ServedApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { person } from '../../support/person';
import { wholeFeed } from '../../support/whole-feed';

/** A zone whose day does not end while the tests run. */
const hoursPastNoon = new Date().getUTCHours() - 12;
const ABOUT_NOON = `Etc/GMT${hoursPastNoon < 0 ? '' : '+'}${hoursPastNoon}`;

let test: TestDatabase;
let api: ServedApi;
let bank: Party;
beforeAll(async () => {
  test = await createTestDatabase();
  api = await serveApi(test.db, {
    settings: {
      INTENTS_PER_CUSTOMER_DAY: '3',
      APPROVALS_PER_CUSTOMER_DAY: '2',
      RATE_LIMIT_CALLER: '5000/5000',
      RATE_LIMIT_TOKEN_ADDRESS: '5000/5000',
      NETWORK_TIMEZONE: ABOUT_NOON,
    },
  });
  bank = await enter(api, 'bank');
});
afterAll(async () => {
  await api.close();
  await test.drop();
});

interface Customer {
  customerId: string;
  lookupID: string;
}
async function onboard(by = bank): Promise<Customer> {
  const { body } = await by.send('POST', '/v1/bank/customers', { customers: [person()] });
  const [customer] = (body.data ?? {})['customers'] as [Customer];
  return { customerId: customer.customerId, lookupID: customer.lookupID };
}

const intend = (by: Party, customers: Customer[], headers?: Record<string, string>) =>
  by.send(
    'POST',
    '/v1/billing/intent',
    { lookupIDs: customers.map(({ lookupID }) => lookupID), currency: 'NGN', description: 'Gold plan' },
    headers,
  );
const bill = (by: Party, payers: object) =>
  by.send('POST', '/v1/customer/bill', { ...payers, amount: 10, currency: 'NGN', description: 'Shoes' });
const statuses = ({ body }: Answered) =>
  (body as unknown as { statusCode: number }[]).map(({ statusCode }) => statusCode);
const unknown = { customerId: '', lookupID: 'nobody-has-this-one-10' };

async function promptsOf({ customerId }: Customer): Promise<number> {
  const found = await row<{ prompts: number }>(
    test.db,
    `SELECT coalesce(sum(prompts), 0)::int AS prompts FROM customer_prompts WHERE customer_id = :customerId`,
    { customerId },
  );
  return found?.prompts ?? 0;
}

describe('intents for one customer', () => {
  it('are refused beyond those of a day, whichever merchants send them, until the next day', async () => {
    const [customer, other] = [await onboard(), await onboard()];
    for (let i = 0; i < 3; i++) {
      expect(await intend(await enter(api, 'merchant'), [customer])).toMatchObject({ status: 200 });
    }
    const merchant = await enter(api, 'merchant');
    const refused = await intend(merchant, [customer]);
    expect(refused).toMatchObject({
      status: 429,
      body: { data: [{ statusCode: 429, success: false, lookupID: customer.lookupID }] },
    });
    const retryAfter = Number(refused.headers.get('retry-after'));
    expect(retryAfter).toBeGreaterThanOrEqual(1);
    expect(retryAfter).toBeLessThanOrEqual(86_400);
    const mixed = await intend(merchant, [customer, other]);
    expect([mixed.status, statuses(mixed)]).toEqual([200, [429, 200]]);
    // A customer who was not asked has no agreement with the merchant either.
    expect(
      await rows(test.db, `SELECT customer_id AS "customerId" FROM agreements WHERE merchant_id = :id`, {
        id: merchant.entityId,
      }),
    ).toEqual([{ customerId: other.customerId }]);

    // As the owner of the table, for the role that serves may not say of which day a prompt is.
    await test.db.query(`SET ROLE NONE; UPDATE customer_prompts SET day = day - 1; RESET ROLE`);
    expect(await intend(merchant, [customer])).toMatchObject({ status: 200 });
    const zone = api.deps.config.NETWORK_TIMEZONE;
    expect(await forgetPrompts(test.db, zone)).toBe(false);
    expect(await promptsOf(customer)).toBe(1);
    expect(await promptsOf(other)).toBe(0);
  });

  it('from many merchants at once are accepted no more often than that', async () => {
    const customer = await onboard();
    const merchants = await Promise.all(Array.from({ length: 10 }, () => enter(api, 'merchant')));
    const answers = await Promise.all(merchants.map((merchant) => intend(merchant, [customer])));
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([
      ...Array.from({ length: 3 }, () => 200),
      ...Array.from({ length: 7 }, () => 429),
    ]);
  });

  it('that name the same customers in another order do not wait for each other', async () => {
    const customers = await Promise.all(Array.from({ length: 20 }, () => onboard()));
    const merchants = await Promise.all(Array.from({ length: 3 }, () => enter(api, 'merchant')));
    const answers = await Promise.all(
      merchants.map((merchant, i) => intend(merchant, i % 2 === 0 ? customers : customers.toReversed())),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  it('count nothing where the call is undone, and may then be sent again with their key', async () => {
    const customer = await onboard();
    const merchant = await enter(api, 'merchant');
    for (let i = 0; i < 3; i++) await intend(merchant, [customer]);
    const fresh = await onboard();
    const key = { 'idempotency-key': 'tomorrow' };
    expect(await intend(merchant, [customer, unknown], key)).toMatchObject({ status: 429 });
    await test.db.query(`SET ROLE NONE; DELETE FROM customer_prompts; RESET ROLE`);
    const again = await intend(merchant, [customer, unknown], key);
    expect([again.status, statuses(again)]).toEqual([200, [200, 404]]);
    expect(await promptsOf(customer)).toBe(1);
    // Undone by a later statement of the same transaction: what is unknown is more than there is
    // left to tell.
    const probe = await enter(api, 'merchant');
    const strangers = Array.from({ length: 99 }, (_, i) => ({ customerId: '', lookupID: `stranger-${i}` }));
    const answers = await Promise.all(Array.from({ length: 6 }, () => intend(probe, [fresh, ...strangers])));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await promptsOf(fresh)).toBe(1);
  });

  it('of a merchant that the customer has blocked use up nothing', async () => {
    const customer = await onboard();
    const blocked = await enter(api, 'merchant');
    await intend(blocked, [customer]);
    const answer = await bank.send('POST', '/v1/billing/intent-response', {
      ...customer,
      entityId: blocked.entityId,
      customerDecision: 'deny',
      blockMerchant: true,
    });
    expect(answer).toMatchObject({ status: 200 });
    for (let i = 0; i < 5; i++) expect(await intend(blocked, [customer])).toMatchObject({ status: 403 });
    expect(await promptsOf(customer)).toBe(1);
  });

  it('refused for that and for being unknown are a 429, for one of them may be sent again', async () => {
    const customer = await onboard();
    const merchant = await enter(api, 'merchant');
    for (let i = 0; i < 3; i++) await intend(merchant, [customer]);
    const refused = await intend(merchant, [unknown, customer]);
    expect(refused).toMatchObject({
      status: 429,
      body: { data: [{ statusCode: 404 }, { statusCode: 429 }] },
    });
  });
});

describe('charges by lookupID', () => {
  it('are refused beyond those of a day, whoever makes them, merchants and banks', async () => {
    const customer = await onboard();
    const own = await enter(api, 'bank');
    const payee = { lookupID: (await onboard(own)).lookupID };
    const lookupIDs = [customer.lookupID];
    expect(await bill(await enter(api, 'merchant'), { lookupIDs })).toMatchObject({ status: 201 });
    expect(await bill(own, { lookupIDs, payee })).toMatchObject({ status: 201 });
    expect(await bill(own, { lookupIDs, payee })).toMatchObject({ status: 429 });
    const refused = await bill(await enter(api, 'merchant'), { lookupIDs });
    expect(refused).toMatchObject({ status: 429, body: { data: [{ statusCode: 429 }] } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    // Intents are counted apart.
    expect(await intend(await enter(api, 'merchant'), [customer])).toMatchObject({ status: 200 });
  });

  it('are counted where the customer has agreed to nothing, and charges under an agreement are not', async () => {
    const customer = await onboard();
    const merchant = await enter(api, 'merchant');
    await intend(merchant, [customer]);
    await bank.send('POST', '/v1/billing/intent-response', {
      ...customer,
      entityId: merchant.entityId,
      customerDecision: 'approve_once',
    });
    await wholeFeed(test.db);
    const events = await merchant.send('GET', '/v1/events');
    const [told] = (events.body.data ?? {})['events'] as [{ data: { paymentID: string }[] }];
    const paymentIDs = [told.data[0]?.paymentID];
    for (let i = 0; i < 5; i++) expect(await bill(merchant, { paymentIDs })).toMatchObject({ status: 201 });
  });
});
