import { randomUUID } from 'node:crypto';
import { ApiClient } from '../../../examples/demo/api-client';
import { agreement, Cast, type Bank } from '../../support/cast';
import { eventually } from '../../support/engine';
import type { PartyIdentity } from '../../support/parties';
import { engine } from './engine';

/** A provider makes merchants, acts for them, and answers for how far they are trusted. */
describe('merchants of a provider', () => {
  let cast: Cast;
  /** Whose merchants are made by the provider, over the API. */
  let shops: Cast;
  let bank: Bank;
  let provider: ApiClient;

  beforeAll(async () => {
    cast = new Cast(engine);
    bank = await cast.bank();
    provider = new ApiClient(engine.apiUrl, await engine.createEntity('provider', 'Northwind Payments'));
    shops = new Cast({
      apiUrl: engine.apiUrl,
      createEntity: (_, name) => makeMerchant(name),
      trust: (merchantId) => setTrust(merchantId, 'trusted'),
    });
  });

  afterAll(async () => {
    await Promise.all([cast.leave(), shops.leave()]);
  });

  async function makeMerchant(name: string): Promise<PartyIdentity & { entityId: string }> {
    const { status, body } = await provider.post('/v1/provider/merchants', {
      merchants: [{ name, email: 'till@shops.example', clientRef: randomUUID() }],
    });
    expect(status).toBe(201);
    const [made] = body.data['merchants'] as (PartyIdentity & { merchantId: string })[];
    if (!made) throw new Error('no merchant was made');
    return { ...made, entityId: made.merchantId };
  }

  async function setTrust(merchantId: string, trustLevel: 'trusted' | 'untrusted'): Promise<void> {
    const { status, body } = await provider.patch('/v1/provider/merchant/trust', { merchantId, trustLevel });
    expect({ status, data: body.data }).toEqual({ status: 200, data: { merchantId, trustLevel } });
  }

  test('a merchant is made, trusted, billed for by its provider, and stopped when trust is lost', async () => {
    const [customer] = bank.customers;
    const merchant = await shops.merchant({ trusted: false });
    await bank.answerIntents('silence', { times: 1 });
    const intentId = await merchant.ask(customer);
    const standing = { customerDecision: 'approve_recurring' };
    expect(await bank.respondToIntent(merchant, customer, standing)).toMatchObject({ status: 403 });
    await setTrust(merchant.entityId, 'trusted');
    expect(await bank.respondToIntent(merchant, customer, standing)).toMatchObject({ status: 200 });
    const { paymentID } = await merchant.hears('billing.intent.response', intentId);

    const made = await provider.post('/v1/billing/recurring/create', {
      customerId: customer.customerId,
      paymentID,
      amount: 150,
      currency: 'NGN',
      frequency: 'weekly',
    });
    expect(made.status).toBe(201);
    const schedule = `/v1/billing/recurring/${String(made.body.data['scheduleId'])}`;
    const retrieve = async () => (await provider.get(schedule)).body.data;
    await eventually(async () => (await retrieve())['billingsCompleted'] === 1);

    await setTrust(merchant.entityId, 'untrusted');
    expect(await retrieve()).toMatchObject({ status: 'suspended' });
    const charge = await merchant.charge({ paymentIDs: [String(paymentID)] }, 10);
    expect(await bank.hears('billing.request', charge.billingRequestId)).toMatchObject({
      approvalRequired: true,
    });

    await setTrust(merchant.entityId, 'trusted');
    expect(await retrieve()).toMatchObject({ status: 'active' });
    const told = async () =>
      (await merchant.server.received())
        .filter(({ type, item }) => type === 'recurring.updated' && item['status'] !== item['previousStatus'])
        .map(({ item }) => String(item['status']))
        .toSorted();
    await eventually(async () => (await told()).length >= 2);
    expect(await told()).toEqual(['active', 'suspended']);
  });

  test('another provider can neither see nor trust nor bill for it', async () => {
    const merchant = await shops.merchant();
    const paymentID = await agreement(bank, merchant, bank.customers[0]);
    const other = new ApiClient(engine.apiUrl, await engine.createEntity('provider', 'Southwind'));
    const answers = [
      await other.patch('/v1/provider/merchant/trust', {
        merchantId: merchant.entityId,
        trustLevel: 'untrusted',
      }),
      await other.post('/v1/billing/recurring/create', {
        customerId: bank.customers[0].customerId,
        paymentID,
        amount: 150,
        currency: 'NGN',
        frequency: 'weekly',
      }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([404, 404]);
    const { body } = await other.get('/v1/transaction-history');
    expect(body.data).toMatchObject({ transactions: [], total: 0 });
  });
});
