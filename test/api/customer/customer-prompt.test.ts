import { forgetPrompts } from '../../../src/database/customer/limit-prompts';
import type { Answered } from '../../support/api';
import { person } from '../../support/person';
import { shareApi, type Caller } from '../../support/shared-api';
import { installedWith } from '../../support/keyring';

/** A zone whose day does not end while the tests run. */
const hoursPastNoon = new Date().getUTCHours() - 12;
const ABOUT_NOON = `Etc/GMT${hoursPastNoon < 0 ? '' : '+'}${hoursPastNoon}`;

const served = shareApi({
  INTENTS_PER_CUSTOMER_DAY: '3',
  APPROVALS_PER_CUSTOMER_DAY: '2',
  RATE_LIMIT_CALLER: '5000/5000',
  RATE_LIMIT_TOKEN_ADDRESS: '5000/5000',
  NETWORK_TIMEZONE: ABOUT_NOON,
});
let bank: Caller;
beforeAll(async () => {
  bank = await served.enter('bank');
});
const newMerchant = () => served.enter('merchant');

interface Customer {
  customerId: string;
  lookupID: string;
}
async function onboard(by = bank): Promise<Customer> {
  const { body } = await by.post('/v1/bank/customers', { customers: [person()] });
  const [{ customerId, lookupID }] = (body.data ?? {})['customers'] as [Customer];
  return { customerId, lookupID };
}

const intend = (by: Caller, customers: Customer[], headers?: Record<string, string>) => {
  const lookupIDs = customers.map(({ lookupID }) => lookupID);
  return by.post('/v1/billing/intent', { lookupIDs, currency: 'NGN', description: 'Gold plan' }, headers);
};
/** Three intents are all of a day. */
async function exhaust(customer: Customer, by: Caller): Promise<void> {
  for (let n = 0; n < 3; n++) expect((await intend(by, [customer])).status).toBe(200);
}
const answerIntent = (customer: Customer, merchant: Caller, more: object) =>
  bank.post('/v1/billing/intent-response', { ...customer, entityId: merchant.entityId, ...more });
const bill = (by: Caller, payers: object) =>
  by.post('/v1/customer/bill', { ...payers, amount: 10, currency: 'NGN', description: 'Shoes' });
const statuses = ({ body }: Answered) =>
  (body as unknown as { statusCode: number }[]).map(({ statusCode }) => statusCode);
const unknown = { customerId: '', lookupID: 'nobody-has-this-one-10' };

async function promptsOf({ customerId }: Customer): Promise<number> {
  const found = await served.db.row<{ prompts: number }>`
    SELECT coalesce(sum(prompts), 0)::int AS prompts FROM customer_prompts WHERE customer_id = ${customerId}`;
  return found?.prompts ?? 0;
}

const hasWait = ({ headers }: Answered) => {
  const retryAfter = Number(headers.get('retry-after'));
  return retryAfter >= 1 && retryAfter <= 86_400;
};

describe('intents for one customer', () => {
  it('are refused beyond those of a day, whichever merchants send them, until the next day', async () => {
    const [customer, other] = [await onboard(), await onboard()];
    for (let i = 0; i < 3; i++) expect((await intend(await newMerchant(), [customer])).status).toBe(200);
    const merchant = await newMerchant();
    const refused = await intend(merchant, [customer]);
    expect(refused).toMatchObject({
      status: 429,
      body: { data: [{ statusCode: 429, success: false, lookupID: customer.lookupID }] },
    });
    expect(hasWait(refused)).toBe(true);
    // For one of them may be sent again.
    expect(await intend(merchant, [unknown, customer])).toMatchObject({
      status: 429,
      body: { data: [{ statusCode: 404 }, { statusCode: 429 }] },
    });
    const mixed = await intend(merchant, [customer, other]);
    expect([mixed.status, statuses(mixed)]).toEqual([200, [429, 200]]);
    // A customer who was not asked has no agreement with the merchant either.
    const agreed = await served.db.rows`
      SELECT customer_id FROM agreements WHERE merchant_id = ${merchant.entityId}`;
    expect(agreed).toEqual([{ customerId: other.customerId }]);

    // As the owner of the table, for the role that serves may not say of which day a prompt is.
    await served.db.query(`SET ROLE NONE; UPDATE customer_prompts SET day = day - 1; RESET ROLE`);
    expect((await intend(merchant, [customer])).status).toBe(200);
    expect(await forgetPrompts(installedWith(served.db, { timeZone: ABOUT_NOON }))).toBe(false);
    expect([await promptsOf(customer), await promptsOf(other)]).toEqual([1, 0]);
  });

  it('from many merchants at once are accepted no more often than that', async () => {
    const customer = await onboard();
    const merchants = await Promise.all(Array.from({ length: 6 }, newMerchant));
    const answers = await Promise.all(merchants.map((merchant) => intend(merchant, [customer])));
    const sorted = answers.map(({ status }) => status).sort((a, b) => a - b);
    expect(sorted).toEqual([200, 200, 200, 429, 429, 429]);
  });

  it('that name the same customers in another order do not wait for each other', async () => {
    const customers = await Promise.all(Array.from({ length: 10 }, () => onboard()));
    const merchants = await Promise.all(Array.from({ length: 3 }, newMerchant));
    const answers = await Promise.all(
      merchants.map((merchant, i) => intend(merchant, i % 2 === 0 ? customers : customers.toReversed())),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  it('count nothing where the call is undone, and may then be sent again with their key', async () => {
    const customer = await onboard();
    const merchant = await newMerchant();
    await exhaust(customer, merchant);
    const key = { 'idempotency-key': 'tomorrow' };
    expect((await intend(merchant, [customer, unknown], key)).status).toBe(429);
    await served.db.query(`SET ROLE NONE; DELETE FROM customer_prompts; RESET ROLE`);
    const again = await intend(merchant, [customer, unknown], key);
    expect([again.status, statuses(again)]).toEqual([200, [200, 404]]);
    expect(await promptsOf(customer)).toBe(1);
    // Undone by a later statement of the same transaction: what is unknown is more than there is
    // left to tell.
    const fresh = await onboard();
    const probe = await newMerchant();
    const strangers = Array.from({ length: 99 }, (_, i) => ({ customerId: '', lookupID: `stranger-${i}` }));
    const answers = await Promise.all(Array.from({ length: 6 }, () => intend(probe, [fresh, ...strangers])));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await promptsOf(fresh)).toBe(1);
  });

  it('of a merchant that the customer has blocked use up nothing', async () => {
    const customer = await onboard();
    const blocked = await newMerchant();
    await intend(blocked, [customer]);
    const denial = { customerDecision: 'deny', blockMerchant: true };
    expect((await answerIntent(customer, blocked, denial)).status).toBe(200);
    for (let i = 0; i < 3; i++) expect((await intend(blocked, [customer])).status).toBe(403);
    expect(await promptsOf(customer)).toBe(1);
  });
});

describe('charges by lookupID', () => {
  it('are refused beyond those of a day, whoever makes them, merchants and banks', async () => {
    const customer = await onboard();
    const own = await served.enter('bank');
    const payee = { lookupID: (await onboard(own)).lookupID };
    const lookupIDs = [customer.lookupID];
    expect((await bill(await newMerchant(), { lookupIDs })).status).toBe(201);
    expect((await bill(own, { lookupIDs, payee })).status).toBe(201);
    expect((await bill(own, { lookupIDs, payee })).status).toBe(429);
    const refused = await bill(await newMerchant(), { lookupIDs });
    expect(refused).toMatchObject({ status: 429, body: { data: [{ statusCode: 429 }] } });
    expect(hasWait(refused)).toBe(true);
    // Intents are counted apart.
    expect((await intend(await newMerchant(), [customer])).status).toBe(200);
  });

  it('are counted where the customer has agreed to nothing, and charges under an agreement are not', async () => {
    const customer = await onboard();
    const merchant = await newMerchant();
    await intend(merchant, [customer]);
    await answerIntent(customer, merchant, { customerDecision: 'approve_once' });
    const [told] = await served.announced(merchant.entityId, 'billing.intent.response');
    const paymentIDs = [told?.['paymentID']];
    for (let i = 0; i < 3; i++) expect((await bill(merchant, { paymentIDs })).status).toBe(201);
  });
});
