import { randomUUID } from 'node:crypto';
import { accepted, Cast, type Bank, type Customer, type Item } from '../../support/cast';
import { engine } from './engine';

/** One customer pays another, from bank to bank, with no merchant in between. */
describe('payments between customers', () => {
  let cast: Cast;
  let payeeBank: Bank;
  let payerBank: Bank;

  beforeAll(async () => {
    cast = new Cast(engine);
  });

  afterAll(async () => {
    await cast.leave();
  });

  beforeEach(async () => {
    [payeeBank, payerBank] = await Promise.all([cast.bank(2), cast.bank(2)]);
  });

  const askFor = (payers: Customer[], amount: number) =>
    payeeBank.api.post<Item[]>(
      '/v1/customer/bill',
      {
        lookupIDs: payers.map(({ lookupID }) => lookupID),
        payee: { lookupID: payeeBank.customers[0].lookupID },
        amount,
        currency: 'NGN',
        description: 'Rent',
      },
      randomUUID(),
    );

  test('the payer’s bank debits, the payee’s bank hears whom to credit, and both have the same account of it', async () => {
    const { billingRequestId, reference } = accepted(await askFor([payerBank.customers[0]], 1250.35));
    const asked = await payerBank.hears('billing.request', billingRequestId);
    const credit = await payeeBank.hears('billing.credit', billingRequestId);

    const [debit] = await payerBank.server.ledger();
    expect(debit).toMatchObject({ billingRequestId, amount: '125035', state: 'debited' });
    expect(asked).toMatchObject({
      approvalRequired: true,
      payee: { bankId: payeeBank.entityId, lookupID: payeeBank.customers[0].lookupID },
    });
    expect(credit).toEqual({
      billingRequestId,
      sequence: 1,
      reference,
      amount: 1250.35,
      currency: 'NGN',
      lookupID: payeeBank.customers[0].lookupID,
      payerBankId: payerBank.entityId,
      bankTransactionId: debit?.bankTransactionId,
    });
    const [ofPayer] = await history(payerBank);
    expect(ofPayer).toMatchObject({ reference, status: 'successful', amount: 1250.35 });
    expect(await history(payeeBank)).toEqual([ofPayer]);
  });

  test('a payer who says no keeps the money, and the payee’s bank is told', async () => {
    await payerBank.answerCharges('deny', { times: 1 });
    const { billingRequestId } = accepted(await askFor([payerBank.customers[0]], 10));

    expect(await payeeBank.hears('billing.response', billingRequestId)).toMatchObject({
      customerAction: 'declined',
      declineReason: 'denied',
    });
    expect(await payerBank.server.ledger()).toEqual([]);
  });

  test('a payer who says nothing has declined once the payee’s bank’s clock says so, and both banks are told', async () => {
    await payerBank.answerCharges('silence', { times: 1 });
    const { billingRequestId } = accepted(await askFor([payerBank.customers[0]], 10));
    await payerBank.hears('billing.request', billingRequestId);
    await payeeBank.api.post('/v1/sandbox/clock/advance', { by: 'PT15M' }, randomUUID());

    expect(await payeeBank.hears('billing.response', billingRequestId)).toMatchObject({
      customerAction: 'declined',
      declineReason: 'expired',
    });
    expect(await payerBank.hears('billing.closed', billingRequestId)).toMatchObject({
      declineReason: 'expired',
    });
    const late = await payerBank.respondToCharge(billingRequestId, { bankTransactionId: 'too-late' });
    expect(late).toMatchObject({ status: 409, body: { data: { status: 'declined' } } });
  });

  test('several payers of one call, one of them a neighbour of the payee, each pay once', async () => {
    const [, neighbour] = payeeBank.customers;
    const payers = [...payerBank.customers, ...(neighbour ? [neighbour] : [])];
    const { status, body } = await askFor(payers, 5);
    expect(status).toBe(201);

    await Promise.all(
      body.map(({ billingRequestId }) => payeeBank.hears('billing.credit', billingRequestId)),
    );
    expect((await payerBank.server.ledger()).map(({ lookupID }) => lookupID)).toEqual(
      expect.arrayContaining(payerBank.customers.map(({ lookupID }) => lookupID)),
    );
    expect((await payeeBank.server.ledger()).map(({ lookupID }) => lookupID)).toEqual([neighbour?.lookupID]);
    expect(await history(payerBank)).toHaveLength(2);
    expect(await history(payeeBank)).toHaveLength(3);
  });

  test('all of that was told to each receiver with the numbers 1, 2, 3, …, so that a gap is a lost webhook', async () => {
    expect(await cast.gaps()).toEqual([]);
  });
});

async function history(bank: Bank): Promise<Record<string, unknown>[]> {
  const { body } = await bank.api.get('/v1/transaction-history');
  return body.data['transactions'] as Record<string, unknown>[];
}
