import { ApiClient } from '../../../examples/demo/api-client';
import { agreement, Cast, type Bank, type Item, type Merchant } from '../../support/cast';
import { engine } from './engine';

/** The history of money, as each party sees its own. */
describe('the history of money', () => {
  let cast: Cast;
  let bank: Bank;
  let otherBank: Bank;
  let merchant: Merchant;
  let otherMerchant: Merchant;
  /** By description: three customers' charges, of two merchants at two banks. */
  let charges: Record<string, Item>;

  beforeAll(async () => {
    cast = new Cast(engine);
    [bank, otherBank, merchant, otherMerchant] = await Promise.all([
      cast.bank(2),
      cast.bank(),
      cast.merchant(),
      cast.merchant(),
    ]);
    const [first, second] = bank.customers;
    const [third] = otherBank.customers;
    const paymentID = await agreement(bank, merchant, first);
    await bank.answerCharges('insufficient_funds', { description: 'declined' });
    await bank.answerCharges('silence', { description: 'pending' });
    charges = {
      agreed: await merchant.charge({ paymentIDs: [paymentID] }, 30.5, 'agreed'),
      declined: await merchant.charge({ lookupIDs: [first.lookupID] }, 20, 'declined'),
      pending: await merchant.charge({ lookupIDs: [second?.lookupID ?? ''] }, 50, 'pending'),
      elsewhere: await merchant.charge({ lookupIDs: [third.lookupID] }, 10, 'elsewhere'),
      'of another': await otherMerchant.charge({ lookupIDs: [first.lookupID] }, 40, 'of another'),
    };
    await Promise.all(
      ['agreed', 'declined', 'elsewhere'].map((one) => merchant.hears('billing.response', idOf(one))),
    );
    await otherMerchant.hears('billing.response', idOf('of another'));
  });

  afterAll(async () => {
    await cast.leave();
  });

  const idOf = (description: string) => charges[description]?.billingRequestId ?? '';

  test('each party sees its own charges, the newest first', async () => {
    expect(await descriptions(merchant.api)).toEqual(['elsewhere', 'pending', 'declined', 'agreed']);
    expect(await descriptions(otherMerchant.api)).toEqual(['of another']);
    expect(await descriptions(bank.api)).toEqual(['of another', 'pending', 'declined', 'agreed']);
    expect(await descriptions(otherBank.api)).toEqual(['elsewhere']);
  });

  test('a provider sees the charges of the merchants that it made, and no others', async () => {
    const { entityId: _, ...provider } = await engine.createEntity('provider', 'Northwind Payments');
    const providerApi = new ApiClient(engine.apiUrl, provider);
    const made = await providerApi.post('/v1/provider/merchants', {
      merchants: [{ name: 'Kiosk', email: 'kiosk@shops.example', clientRef: 'kiosk-1' }],
    });
    const [kiosk] = made.body.data['merchants'] as { clientId: string; clientSecret: string }[];
    const kioskApi = new ApiClient(engine.apiUrl, kiosk ?? provider);
    await kioskApi.post('/v1/customer/bill', {
      lookupIDs: [bank.customers[0].lookupID],
      amount: 5,
      currency: 'NGN',
      description: 'at the kiosk',
    });

    expect(await descriptions(providerApi)).toEqual(['at the kiosk']);
  });

  test('a record says all there is to say about the money, and nothing about the person', async () => {
    const [seenByMerchant] = (await history(merchant.api, { reference: charges['agreed']?.reference ?? '' }))
      .transactions;
    const [seenByBank] = (await history(bank.api, { reference: charges['agreed']?.reference ?? '' }))
      .transactions;

    expect(seenByMerchant).toEqual({
      transactionId: expect.stringMatching(/^txn_[0-9a-z]{26}$/),
      reference: charges['agreed']?.reference,
      type: 'charge',
      status: 'successful',
      amount: 30.5,
      currency: 'NGN',
      description: 'agreed',
      customerId: bank.customers[0].customerId,
      merchantId: merchant.entityId,
      bankId: bank.entityId,
      billingRequestId: idOf('agreed'),
      scheduleId: null,
      declineReason: null,
      refundedAmount: 0,
      reversedAmount: 0,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      settledAt: expect.stringMatching(/Z$/),
      metadata: {},
    });
    const [debit] = (await bank.server.ledger()).filter(
      ({ billingRequestId }) => billingRequestId === idOf('agreed'),
    );
    const { metadata: _, ...seenByBoth } = seenByMerchant ?? {};
    expect(seenByBank).toEqual({
      ...seenByBoth,
      bankTransactionId: debit?.bankTransactionId,
      payeeBankId: null,
      payeeLookupID: null,
    });
  });

  test('what is open or declined has not settled', async () => {
    const { transactions } = await history(merchant.api);

    expect(
      transactions.map(({ description, status, declineReason, settledAt }) => [
        description,
        status,
        declineReason,
        settledAt === null,
      ]),
    ).toEqual([
      ['elsewhere', 'successful', null, false],
      ['pending', 'pending', null, true],
      ['declined', 'declined', 'insufficient_funds', true],
      ['agreed', 'successful', null, false],
    ]);
  });

  const customerOf = () => bank.customers[0].customerId;

  describe('the history is narrowed down', () => {
    test.each<[string, () => Record<string, string>, string[]]>([
      ['by status', () => ({ status: 'declined' }), ['declined']],
      ['by type', () => ({ type: 'refund' }), []],
      ['by customer', () => ({ customerId: customerOf() }), ['declined', 'agreed']],
      ['by a customer that cannot be', () => ({ customerId: 'ada' }), []],
      ['by a merchant that cannot be', () => ({ merchantId: 'shop' }), []],
      ['by merchant', () => ({ merchantId: otherMerchant.entityId }), []],
      ['by reference', () => ({ reference: charges['pending']?.reference ?? '' }), ['pending']],
      ['by several at once', () => ({ customerId: customerOf(), status: 'successful' }), ['agreed']],
      ['by a future from', () => ({ from: '2999-01-01T00:00:00Z' }), []],
      ['by a past to', () => ({ to: '2000-01-01T00:00:00Z' }), []],
    ])('%s', async (_, query, expected) => {
      const found = await history(merchant.api, query());

      expect(found.transactions.map(({ description }) => description)).toEqual(expected);
      expect(found.total).toBe(expected.length);
    });

    test('by time, with the first moment in and the last one out', async () => {
      const { transactions } = await history(merchant.api);
      const at = (description: string) =>
        String(transactions.find((one) => one['description'] === description)?.['createdAt']);

      expect(await descriptions(merchant.api, { from: at('declined'), to: at('elsewhere') })).toEqual([
        'pending',
        'declined',
      ]);
    });
  });

  test('pages cut the same order into pieces that leave nothing out', async () => {
    const byAmount = { sortBy: 'amount', sortOrder: 'asc', limit: 3 };

    const pages = [
      await history(merchant.api, { ...byAmount, page: 1 }),
      await history(merchant.api, { ...byAmount, page: 2 }),
      await history(merchant.api, { ...byAmount, page: 3 }),
    ];

    expect(pages.map(({ transactions }) => transactions.map(({ amount }) => amount))).toEqual([
      [10, 20, 30.5],
      [50],
      [],
    ]);
    expect(pages[1]).toMatchObject({ total: 4, page: 2, limit: 3 });
  });

  test.each<[string, Record<string, string>, string]>([
    ['an unknown parameter', { colour: 'blue' }, 'colour'],
    ['an unknown status', { status: 'lost' }, 'status'],
    ['a time without an offset', { from: '2026-01-01T00:00:00' }, 'from'],
    ['a page of nothing', { limit: '0' }, 'limit'],
    ['too long a page', { limit: '101' }, 'limit'],
    ['a column that nobody sorts by', { sortBy: 'customerEmail' }, 'sortBy'],
  ])('%s gets 400 by name', async (_, query, name) => {
    const { status, body } = await merchant.api.get('/v1/transaction-history', query);

    expect(status).toBe(400);
    expect(body.errors?.map(({ path }) => path)).toEqual([`query.${name}`]);
  });
});

async function history(client: ApiClient, query: Record<string, string | number> = {}) {
  const { status, body } = await client.get('/v1/transaction-history', query);
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body.data as {
    transactions: Record<string, unknown>[];
    total: number;
    page: number;
    limit: number;
  };
}

async function descriptions(client: ApiClient, query: Record<string, string | number> = {}) {
  return (await history(client, query)).transactions.map(({ description }) => description);
}
