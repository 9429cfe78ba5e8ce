import { accepted, Cast, refusal, type Bank, type Customer, type Merchant } from '../../support/cast';
import { engine } from './engine';

/** What merchants ask, what customers answer, and how each side learns of the end. */
describe('intents', () => {
  let cast: Cast;
  let bank: Bank;
  let merchant: Merchant;
  let customer: Customer;

  beforeAll(() => {
    cast = new Cast(engine);
  });
  afterAll(() => cast.leave());

  /** Every test has a pair of its own, and a customer who says nothing unless told to. */
  beforeEach(async () => {
    [bank, merchant] = await Promise.all([cast.bank(3), cast.merchant()]);
    customer = bank.customers[0];
    await bank.answerIntents('silence');
  });

  const approve = { customerDecision: 'approve_recurring' };

  test('an intent that the customer approves reaches the bank with all that the customer must know, and the merchant as a paymentID', async () => {
    // However the customer has typed it.
    const typed = `  ${customer.lookupID.toUpperCase().replaceAll('-', ' ')} `;
    const item = accepted(
      await merchant.sendIntent([typed], {
        description: 'Gold plan',
        intentSettings: { dueDate: '2031-05-01T09:00:00+01:00' },
      }),
    );
    const asked = await bank.hears('billing.intent', item.intentId);
    const answer = await bank.respondToIntent(merchant, customer, approve);
    const told = await merchant.hears('billing.intent.response', item.intentId);

    expect(item).toMatchObject({
      statusCode: 200,
      success: true,
      entityId: merchant.entityId,
      intentId: expect.stringMatching(/^int_[0-9a-z]{26}$/),
      reference: expect.stringMatching(/^[0-9A-Z]{1,24}$/),
    });
    expect(asked).toEqual({
      intentId: item.intentId,
      sequence: 1,
      customerId: customer.customerId,
      customerEmail: customer.email,
      lookupID: customer.lookupID,
      paymentID: told['paymentID'],
      currency: 'NGN',
      merchant: expect.objectContaining({ id: merchant.entityId, name: 'Palm Grocers' }),
      description: 'Gold plan',
      reference: item.reference,
      dueDate: '2031-05-01T08:00:00.000Z',
      spendingLimits: expect.objectContaining({ perCharge: null, monthly: null, validUntil: null }),
      termsInWords: 'Any amount.',
    });
    expect(answer).toMatchObject({
      status: 200,
      body: {
        success: true,
        data: { intentId: item.intentId, status: 'approved', customerDecision: 'approve_recurring' },
      },
    });
    expect(told).toMatchObject({
      intentId: item.intentId,
      sequence: 1,
      reference: item.reference,
      lookupID: customer.lookupID,
      customerId: customer.customerId,
      customerDecision: 'approve_recurring',
      customerAction: 'approved',
      currency: 'NGN',
      paymentID: expect.stringMatching(/^[\w.~-]+$/),
    });
    expect(await merchant.retrieve(item.intentId)).toMatchObject({ status: 'approved' });
    const { body: seenByBank } = await bank.api.get(`/v1/billing/intents/${item.intentId}`);
    expect(seenByBank.data).toMatchObject({ status: 'approved', customerDecision: 'approve_recurring' });
  });

  test('an intent goes to each bank in one webhook with all of its customers, and is answered line by line', async () => {
    const [first, second] = bank.customers;
    const other = await cast.bank();
    await other.answerIntents('silence');
    const unknown = 'no-such-customer-here-00';
    const lookupIDs = [first.lookupID, unknown, other.customers[0].lookupID, second?.lookupID ?? ''];

    const { status, body } = await merchant.sendIntent(lookupIDs);
    expect(status).toBe(200);
    expect(body.map(({ lookupID, statusCode }) => [lookupID, statusCode])).toEqual(
      lookupIDs.map((one) => [one, one === unknown ? 404 : 200]),
    );
    const [ofFirst, , ofOther, ofSecond] = body.map(({ intentId }) => intentId);
    await other.hears('billing.intent', ofOther ?? '');
    await bank.hears('billing.intent', ofSecond ?? '');
    const received = await bank.server.received();
    expect(received.map(({ item }) => item['intentId'])).toEqual([ofFirst, ofSecond]);
    expect(new Set(received.map(({ deliveryId }) => deliveryId)).size).toBe(1);
    expect(await other.server.received()).toHaveLength(1);

    // Inside the error envelope where no customer is known.
    expect(refusal(await merchant.sendIntent([unknown]))).toMatchObject({
      status: 404,
      body: { statusCode: 404, success: false, data: [{ statusCode: 404 }] },
    });
  });

  test('an intent that nobody answers ends when the window has passed, both sides hear of it, and a later answer gets 409', async () => {
    const intentId = await merchant.ask(customer);
    const { paymentID } = await bank.hears('billing.intent', intentId);
    await merchant.advanceClock('PT23H59M');
    expect(await merchant.retrieve(intentId)).toMatchObject({ status: 'pending' });
    await merchant.advanceClock('PT2M');

    expect(await merchant.hears('billing.intent.response', intentId)).toMatchObject({
      customerAction: 'declined',
    });
    expect(await bank.hears('billing.intent.closed', intentId)).toMatchObject({
      lookupID: customer.lookupID,
      status: 'declined',
      reason: 'expired',
    });
    const late = await bank.respondToIntent(merchant, customer, approve);
    expect(late).toMatchObject({ status: 409, body: { data: { intentId, status: 'declined' } } });
    expect(await merchant.retrieve(intentId)).toMatchObject({ status: 'declined', reason: 'expired' });
    expect((await merchant.bill({ paymentIDs: [String(paymentID)] }, 10)).status).toBe(403);
  });

  test('an intent whose place a newer one takes is superseded, and both sides hear of it', async () => {
    const first = await merchant.ask(customer);
    const second = await merchant.ask(customer, 'Platinum plan');

    expect(await bank.hears('billing.intent.closed', first)).toMatchObject({ status: 'superseded' });
    expect(await merchant.hears('billing.intent.response', first)).not.toHaveProperty('paymentID');
    expect(await merchant.retrieve(first)).toMatchObject({ status: 'superseded' });
    const answer = await bank.respondToIntent(merchant, customer, approve);
    expect(answer.body.data).toMatchObject({ intentId: second, status: 'approved' });
  });

  test('all of that was told to each receiver with the numbers 1, 2, 3, …, so that a gap is a lost webhook', async () => {
    expect(await cast.gaps()).toEqual([]);
  });
});
