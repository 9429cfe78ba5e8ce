import {
  accepted,
  agreement,
  Cast,
  refusal,
  type Bank,
  type Customer,
  type Merchant,
} from '../../support/cast';
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
  const deny = { customerDecision: 'deny' };

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

  test('an intent that is denied gives no paymentID, and bills are refused', async () => {
    const [first, second] = bank.customers;
    for (const [payer, customerDecision] of [
      [first, 'deny'],
      [second ?? first, 'suspended'],
    ] as const) {
      const intentId = await merchant.ask(payer);
      const { paymentID } = await bank.hears('billing.intent', intentId);
      const answer = await bank.respondToIntent(merchant, payer, { customerDecision });

      expect(answer.body.data).toMatchObject({ status: 'declined', customerDecision });
      const told = await merchant.hears('billing.intent.response', intentId);
      expect(told).toMatchObject({ customerDecision, customerAction: 'declined' });
      expect(told).not.toHaveProperty('paymentID');
      const bill = refusal(await merchant.bill({ paymentIDs: [String(paymentID)] }, 10));
      expect(bill).toMatchObject({ status: 403, body: { data: [{ statusCode: 403, success: false }] } });
    }
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

  test("a bank's answer that comes again gets 200 again, another gets 409 and the true status, and the merchant hears of the first", async () => {
    const intentId = await merchant.ask(customer);
    const answers: [object, number][] = [
      [{ ...approve, spendingLimits: { daily: 5 } }, 200],
      // As the list of decisions shows it, a limit that there is not is null.
      [{ ...approve, spendingLimits: { daily: 5, monthly: null } }, 200],
      [{ ...approve, spendingLimits: { daily: 5 } }, 200],
      [deny, 409],
      [{ ...approve, spendingLimits: { daily: 6 } }, 409],
      [{ ...approve, spendingLimits: { daily: 5 }, blockMerchant: true }, 409],
    ];
    for (const [answer, code] of answers) {
      const { status, body } = await bank.respondToIntent(merchant, customer, answer);
      expect({ answer, status, data: body.data }).toMatchObject({
        answer,
        status: code,
        data: { status: 'approved' },
      });
    }
    await merchant.hears('billing.intent.response', intentId);
    const told = (await merchant.server.received()).filter(({ type }) => type === 'billing.intent.response');
    expect(told).toHaveLength(1);
  });

  test('the terms of a second intent are in force once they are approved, and the old ones until then', async () => {
    const paymentID = await agreement(bank, merchant, customer, { spendingLimits: { daily: 100 } });
    const bill = async (amount: number) => (await merchant.bill({ paymentIDs: [paymentID] }, amount)).status;
    for (const end of ['denied', 'timed out', 'approved']) {
      const intentId = await merchant.ask(customer, 'Platinum plan');
      await bank.hears('billing.intent', intentId);
      expect([end, await bill(101)]).toEqual([end, 403]);
      if (end === 'timed out') await merchant.advanceClock('PT25H');
      const newTerms = { ...approve, spendingLimits: { daily: 200 } };
      if (end !== 'timed out')
        await bank.respondToIntent(merchant, customer, end === 'denied' ? deny : newTerms);
      const told = await merchant.hears('billing.intent.response', intentId);
      if (end === 'approved') expect(told).toMatchObject({ paymentID });
      expect([end, await bill(101)]).toEqual([end, end === 'approved' ? 201 : 403]);
    }
    expect(await bill(99)).toBe(201);
  });

  test('a customer who blocks the merchant is asked and billed by it no more, in any way', async () => {
    const paymentID = await agreement(bank, merchant, customer);
    const intentId = await merchant.ask(customer, 'Platinum plan');
    const answer = await bank.respondToIntent(merchant, customer, { ...deny, blockMerchant: true });

    expect(answer.body.data).toMatchObject({ intentId, status: 'declined', customerDecision: 'deny' });
    expect((await merchant.bill({ paymentIDs: [paymentID] }, 10)).status).toBe(403);
    expect((await merchant.bill({ lookupIDs: [customer.lookupID] }, 10)).status).toBe(403);
    expect(refusal(await merchant.sendIntent([customer.lookupID]))).toMatchObject({
      status: 403,
      body: { success: false, data: [{ statusCode: 403, lookupID: customer.lookupID }] },
    });
    const another = await cast.merchant();
    expect((await another.sendIntent([customer.lookupID])).status).toBe(200);
  });

  test('what breaks the contract gets 400 and every problem by name', async () => {
    const faulty = refusal(
      await merchant.sendIntent([customer.lookupID, customer.lookupID.toUpperCase()], {
        currency: 'USD',
        description: '',
        intentSettings: { dueDate: 'tomorrow' },
      }),
    );
    expect(faulty.status).toBe(400);
    const errors = faulty.body.errors ?? [];
    // A customer named twice, in two spellings, is still named twice.
    expect(errors.map(({ path }) => path).sort()).toEqual([
      'currency',
      'description',
      'intentSettings.dueDate',
      'lookupIDs[1]',
    ]);
    expect(errors.find(({ path }) => path === 'currency')?.message).toContain('NGN');
    expect(await bank.server.received()).toEqual([]);

    await merchant.ask(customer);
    const answers: [object, string[]][] = [
      [
        { customerDecision: 'maybe', spendingLimits: { daily: -1, weekly: 5 }, colour: 'blue' },
        ['colour', 'customerDecision', 'spendingLimits.daily', 'spendingLimits.weekly'],
      ],
      [
        { ...approve, spendingLimits: { daily: 0.001, monthly: 1e13 } },
        ['spendingLimits.daily', 'spendingLimits.monthly'],
      ],
    ];
    for (const [answer, paths] of answers) {
      const { status, body } = await bank.respondToIntent(merchant, customer, answer);
      expect([status, body.errors?.map(({ path }) => path).sort()]).toEqual([400, paths]);
    }
  });

  test('a standing approval for an untrusted merchant gets 403, and the intent stays open', async () => {
    const untrusted = await cast.merchant({ trusted: false });
    const intentId = await untrusted.ask(customer);
    expect((await bank.respondToIntent(untrusted, customer, approve)).status).toBe(403);
    expect(await untrusted.retrieve(intentId)).toMatchObject({ status: 'pending' });
  });

  test('all of that was told to each receiver with the numbers 1, 2, 3, …, so that a gap is a lost webhook', async () => {
    expect(await cast.gaps()).toEqual([]);
  });
});
