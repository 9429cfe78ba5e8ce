import { agreement, Cast, type Bank, type Customer, type Merchant } from '../../support/cast';
import { eventually } from '../../support/engine';
import { engine } from './engine';

/** Bills, the limits they must keep to, and the bank's answers, on time, twice and too late. */
describe('bills', () => {
  let cast: Cast;
  let bank: Bank;
  let merchant: Merchant;
  let customer: Customer;

  beforeAll(() => {
    cast = new Cast(engine);
  });
  afterAll(() => cast.leave());

  beforeEach(async () => {
    [bank, merchant] = await Promise.all([cast.bank(), cast.merchant()]);
    customer = bank.customers[0];
  });

  test('a bill with a paymentID is debited once under the standing approval, and both sides have the same account of it', async () => {
    const paymentID = await agreement(bank, merchant, customer);
    const charge = await merchant.charge({ paymentIDs: [paymentID] }, 1250.35, 'Shoes');
    const asked = await bank.hears('billing.request', charge.billingRequestId);
    const told = await merchant.hears('billing.response', charge.billingRequestId);

    expect(charge).toMatchObject({
      statusCode: 201,
      success: true,
      billingRequestId: expect.stringMatching(/^brq_[0-9a-z]{26}$/),
      reference: expect.stringMatching(/^[0-9A-Z]{1,24}$/),
      phrase: paymentID,
      entityId: merchant.entityId,
      status: 'pending',
    });
    expect(asked).toEqual({
      billingRequestId: charge.billingRequestId,
      sequence: 1,
      reference: charge.reference,
      approvalRequired: false,
      amount: 1250.35,
      currency: 'NGN',
      description: 'Shoes',
      customerId: customer.customerId,
      customerEmail: customer.email,
      lookupID: customer.lookupID,
      paymentID,
      merchant: expect.objectContaining({ id: merchant.entityId, name: 'Palm Grocers' }),
      dueDate: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(told).toMatchObject({
      sequence: 1,
      reference: charge.reference,
      paymentID,
      amount: 1250.35,
      currency: 'NGN',
      customerAction: 'approved',
      status: 'successful',
      declineReason: null,
      scheduleId: null,
    });
    expect(told).not.toHaveProperty('customerEmail');
    expect(told).not.toHaveProperty('bankTransactionId');
    expect(await bank.server.ledger()).toMatchObject([
      { billingRequestId: charge.billingRequestId, amount: '125035', state: 'debited' },
    ]);
    const { reference, phrase, entityId } = charge;
    expect(await merchant.retrieve(charge.billingRequestId)).toMatchObject({
      reference,
      phrase,
      entityId,
      status: 'successful',
    });
  });

  describe('a one-time bill by lookupID', () => {
    test('asks the customer each time, and moves money only where that is approved', async () => {
      const charge = await merchant.charge({ lookupIDs: [customer.lookupID] }, 40);
      const { billingRequestId: id } = charge;
      const asked = await bank.hears('billing.request', id);
      expect(asked).toMatchObject({ approvalRequired: true, lookupID: customer.lookupID, paymentID: null });
      expect(charge.phrase).toBe(customer.lookupID);
      expect(await merchant.retrieve(id)).toMatchObject({ phrase: customer.lookupID });
      expect(await merchant.hears('billing.response', id)).toMatchObject({
        lookupID: customer.lookupID,
        status: 'successful',
        customerAction: 'approved',
      });

      for (const [answer, declineReason] of [
        ['deny', 'denied'],
        ['insufficient_funds', 'insufficient_funds'],
      ] as const) {
        await bank.answerCharges(answer);
        const refused = await merchant.charge({ lookupIDs: [customer.lookupID] }, 40);
        const end = { customerAction: 'declined', status: 'declined', declineReason };
        expect(await merchant.hears('billing.response', refused.billingRequestId)).toMatchObject(end);
      }
      expect(await bank.server.ledger()).toMatchObject([{ billingRequestId: id }]);
    });

    test('that nobody answers is declined when its window has passed, both sides hear of it, and a later answer gets 409 and is kept, once', async () => {
      await bank.answerCharges('silence', { times: 1 });
      const { billingRequestId } = await merchant.charge({ lookupIDs: [customer.lookupID] }, 25);
      await bank.hears('billing.request', billingRequestId);
      await merchant.advanceClock('PT14M');
      expect(await merchant.retrieve(billingRequestId)).toMatchObject({ status: 'pending' });
      await merchant.advanceClock('PT2M');

      const end = { status: 'declined', declineReason: 'expired' };
      expect(await merchant.hears('billing.response', billingRequestId)).toMatchObject({
        ...end,
        customerAction: 'declined',
      });
      expect(await bank.hears('billing.closed', billingRequestId)).toMatchObject(end);
      for (let times = 0; times < 2; times++) {
        const late = await bank.respondToCharge(billingRequestId, { bankTransactionId: 'tx-late' });
        const data = { billingRequestId, status: 'declined' };
        expect(late).toMatchObject({ status: 409, body: { success: false, data } });
      }
      expect(await merchant.retrieve(billingRequestId)).toMatchObject(end);
      const kept = await engine.database.db.rows`
        SELECT billing_request_id AS id, kind, bank_transaction_id FROM reconciliation_exceptions
        WHERE bank_id = ${bank.entityId}`;
      expect(kept).toEqual([{ id: billingRequestId, kind: 'unanswered', bankTransactionId: 'tx-late' }]);
    });

    test('is declined as not delivered only where nothing of it can have reached the bank', async () => {
      const broken = await cast.bank();
      await broken.server.misbehave({ kind: 'status', status: 500, times: 100, type: 'billing.request' });
      // The port of "discard", where nobody listens.
      await bank.api.put('/v1/webhooks/endpoint', { url: 'http://127.0.0.1:9/' });
      const ends: [Bank, string][] = [
        [broken, 'expired'],
        [bank, 'not_delivered'],
      ];
      const ids: string[] = [];
      for (const [at] of ends) {
        ids.push((await merchant.charge({ lookupIDs: [at.customers[0].lookupID] }, 40)).billingRequestId);
        await eventually(async () => {
          const { body } = await at.api.get('/v1/webhooks/deliveries?webhookType=billing.request');
          const { deliveries } = body.data as { deliveries: { attempts: unknown[] }[] };
          return (deliveries[0]?.attempts.length ?? 0) > 0;
        });
      }
      await merchant.advanceClock('PT20M');
      for (const [i, [, declineReason]] of ends.entries()) {
        const end = { status: 'declined', declineReason };
        expect(await merchant.hears('billing.response', ids[i] ?? '')).toMatchObject(end);
      }
      await bank.api.put('/v1/webhooks/endpoint', { url: bank.server.webhookUrl });
      expect(await bank.hears('billing.closed', ids[1] ?? '')).toMatchObject({
        declineReason: 'not_delivered',
      });
    });
  });

  test('all of that was told to each receiver with the numbers 1, 2, 3, …, so that a gap is a lost webhook', async () => {
    expect(await cast.gaps()).toEqual([]);
  });
});
