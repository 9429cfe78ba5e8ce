import type { ApiClient } from '../../../examples/demo/api-client';
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

  afterAll(() => cast.leave());

  const idOf = (description: string) => charges[description]?.billingRequestId ?? '';

  test('each party sees its own charges, the newest first; what is open or declined has not settled', async () => {
    expect(await descriptions(otherMerchant.api)).toEqual(['of another']);
    expect(await descriptions(bank.api)).toEqual(['of another', 'pending', 'declined', 'agreed']);
    expect(await descriptions(otherBank.api)).toEqual(['elsewhere']);
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

  test('a record says all there is to say about the money, and nothing about the person', async () => {
    const { reference = '' } = charges['agreed'] ?? {};
    const [seenByMerchant] = (await history(merchant.api, { reference })).transactions;
    const [seenByBank] = (await history(bank.api, { reference })).transactions;

    expect(seenByMerchant).toEqual({
      transactionId: expect.stringMatching(/^txn_[0-9a-z]{26}$/),
      reference,
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
    const debits = await bank.server.ledger();
    const { metadata: _, ...seenByBoth } = seenByMerchant ?? {};
    expect(seenByBank).toEqual({
      ...seenByBoth,
      bankTransactionId: debits.find((one) => one.billingRequestId === idOf('agreed'))?.bankTransactionId,
      payeeBankId: null,
      payeeLookupID: null,
    });
  });

  test('the history is narrowed down, by several filters at once too', async () => {
    const { customerId } = bank.customers[0];
    const { transactions } = await history(merchant.api);
    const at = (description: string) =>
      String(transactions.find((one) => one['description'] === description)?.['createdAt']);
    const filters: [Record<string, string>, string[]][] = [
      [{ status: 'declined' }, ['declined']],
      [{ type: 'refund' }, []],
      [{ customerId }, ['declined', 'agreed']],
      // One that cannot be.
      [{ customerId: 'ada' }, []],
      [{ merchantId: 'shop' }, []],
      [{ merchantId: otherMerchant.entityId }, []],
      [{ reference: charges['pending']?.reference ?? '' }, ['pending']],
      [{ customerId, status: 'successful' }, ['agreed']],
      [{ from: '2999-01-01T00:00:00Z' }, []],
      [{ to: '2000-01-01T00:00:00Z' }, []],
      // The first moment is in, and the last is out.
      [{ from: at('declined'), to: at('elsewhere') }, ['pending', 'declined']],
    ];
    for (const [query, expected] of filters) {
      const found = await history(merchant.api, query);
      const seen = found.transactions.map(({ description }) => description);
      expect({ query, seen, total: found.total }).toEqual({
        query,
        seen: expected,
        total: expected.length,
      });
    }
  });

  test('pages cut the same order into pieces that leave nothing out', async () => {
    const pages = [];
    for (const page of [1, 2, 3])
      pages.push(await history(merchant.api, { sortBy: 'amount', sortOrder: 'asc', limit: 3, page }));
    expect(pages.map(({ transactions }) => transactions.map(({ amount }) => amount))).toEqual([
      [10, 20, 30.5],
      [50],
      [],
    ]);
    expect(pages[1]).toMatchObject({ total: 4, page: 2, limit: 3 });
  });

  test('a query that breaks the contract gets 400 by name', async () => {
    const faults: Record<string, string>[] = [
      { colour: 'blue' },
      { status: 'lost' },
      { from: '2026-01-01T00:00:00' },
      { limit: '0' },
      { limit: '101' },
      { sortBy: 'customerEmail' },
    ];
    for (const query of faults) {
      const { status, body } = await merchant.api.get('/v1/transaction-history', query);
      const paths = body.errors?.map(({ path }) => path);
      expect([status, paths]).toEqual([400, Object.keys(query).map((name) => `query.${name}`)]);
    }
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

async function descriptions(client: ApiClient) {
  return (await history(client)).transactions.map(({ description }) => description);
}
