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

  beforeAll(async () => {
    cast = new Cast(engine);
  });

  afterAll(async () => {
    await cast.leave();
  });

  /** Every test has a pair of its own, and a customer who says nothing unless told to. */
  beforeEach(async () => {
    [bank, merchant] = await Promise.all([cast.bank(3), cast.merchant()]);
    customer = bank.customers[0];
    await bank.answerIntents('silence');
  });

  const approve = { customerDecision: 'approve_recurring' };
  const deny = { customerDecision: 'deny' };

  describe('an intent that the customer approves', () => {
    test('reaches the bank with all that the customer must know, and the merchant as a paymentID', async () => {
      const item = accepted(
        await merchant.sendIntent([customer.lookupID], {
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
        lookupID: customer.lookupID,
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
      const seenByBank = await bank.api.get(`/v1/billing/intents/${item.intentId}`);
      expect(seenByBank.body.data).toMatchObject({
        status: 'approved',
        customerDecision: 'approve_recurring',
      });
    });

    test('is found however the customer has typed the lookupID', async () => {
      const typed = `  ${customer.lookupID.toUpperCase().replaceAll('-', ' ')} `;

      const item = accepted(await merchant.sendIntent([typed]));

      expect(await bank.hears('billing.intent', item.intentId)).toMatchObject({
        lookupID: customer.lookupID,
      });
    });

    test('goes to each bank in one webhook with all of its customers', async () => {
      const [first, second] = bank.customers;
      const other = await cast.bank();
      await other.answerIntents('silence');
      const lookupIDs = [first, other.customers[0], second].map((one) => one?.lookupID ?? '');

      const { body } = await merchant.sendIntent(lookupIDs);

      expect(body.map(({ lookupID }) => lookupID)).toEqual(lookupIDs);
      await other.hears('billing.intent', body[1]?.intentId ?? '');
      await bank.hears('billing.intent', body[2]?.intentId ?? '');
      const received = await bank.server.received();
      expect(received.map(({ item }) => item['intentId'])).toEqual([body[0]?.intentId, body[2]?.intentId]);
      expect(new Set(received.map(({ deliveryId }) => deliveryId)).size).toBe(1);
      expect(await other.server.received()).toHaveLength(1);
    });
  });

  describe('an intent that comes to nothing', () => {
    test.each([
      ['deny', 'deny'],
      ['suspended', 'suspended'],
    ])('because of %s gives no paymentID, and bills are refused', async (customerDecision, decision) => {
      const intentId = await merchant.ask(customer);
      const { paymentID } = await bank.hears('billing.intent', intentId);
      const answer = await bank.respondToIntent(merchant, customer, { customerDecision });

      expect(answer.body.data).toMatchObject({ status: 'declined', customerDecision: decision });
      const told = await merchant.hears('billing.intent.response', intentId);
      expect(told).toMatchObject({ customerDecision: decision, customerAction: 'declined' });
      expect(told).not.toHaveProperty('paymentID');
      const bill = refusal(await merchant.bill({ paymentIDs: [String(paymentID)] }, 10));
      expect(bill).toMatchObject({ status: 403, body: { data: [{ statusCode: 403, success: false }] } });
    });

    test('because nobody answers ends when the window has passed, and both sides hear of it', async () => {
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
      expect(await merchant.retrieve(intentId)).toMatchObject({ status: 'declined', reason: 'expired' });
      expect((await merchant.bill({ paymentIDs: [String(paymentID)] }, 10)).status).toBe(403);
    });

    test('because a newer one takes its place is superseded, and both sides hear of it', async () => {
      const first = await merchant.ask(customer);
      const second = await merchant.ask(customer, 'Platinum plan');

      expect(await bank.hears('billing.intent.closed', first)).toMatchObject({ status: 'superseded' });
      expect(await merchant.hears('billing.intent.response', first)).not.toHaveProperty('paymentID');
      expect(await merchant.retrieve(first)).toMatchObject({ status: 'superseded' });
      const answer = await bank.respondToIntent(merchant, customer, approve);
      expect(answer.body.data).toMatchObject({ intentId: second, status: 'approved' });
    });
  });

  describe("a bank's answer", () => {
    test('that comes again gets 200 again, and the merchant hears of it once', async () => {
      const intentId = await merchant.ask(customer);
      // As the list of decisions shows it, a limit that there is not is null.
      const answers = await Promise.all(
        [{ daily: 5 }, { daily: 5, monthly: null }, { daily: 5 }].map((spendingLimits) =>
          bank.respondToIntent(merchant, customer, { ...approve, spendingLimits }),
        ),
      );

      expect(answers.map(({ status, body }) => `${status} ${String(body.data['status'])}`)).toEqual([
        '200 approved',
        '200 approved',
        '200 approved',
      ]);
      await merchant.hears('billing.intent.response', intentId);
      expect(
        (await merchant.server.received()).filter(({ type }) => type === 'billing.intent.response'),
      ).toHaveLength(1);
    });

    test.each([
      ['another decision', deny],
      ['other limits', { ...approve, spendingLimits: { daily: 6 } }],
      ['a block', { ...approve, blockMerchant: true }],
    ])('with %s after the first gets 409 and the true status', async (_, second) => {
      await merchant.ask(customer);
      await bank.respondToIntent(merchant, customer, { ...approve, spendingLimits: { daily: 5 } });

      const answer = await bank.respondToIntent(merchant, customer, second);

      expect(answer).toMatchObject({ status: 409, body: { success: false, data: { status: 'approved' } } });
    });

    test('after the window has passed gets 409 and the true status', async () => {
      const intentId = await merchant.ask(customer);
      await bank.hears('billing.intent', intentId);
      await merchant.advanceClock('PT25H');

      const answer = await bank.respondToIntent(merchant, customer, approve);

      expect(answer).toMatchObject({ status: 409, body: { data: { intentId, status: 'declined' } } });
      expect(await merchant.retrieve(intentId)).toMatchObject({ status: 'declined' });
    });

    test('about a pair that never had an intent, or from another bank, gets 404', async () => {
      await merchant.ask(customer);
      const stranger = await cast.bank();
      const [, never] = bank.customers;

      expect((await bank.respondToIntent(merchant, never ?? customer, approve)).status).toBe(404);
      expect((await stranger.respondToIntent(merchant, customer, approve)).status).toBe(404);
      expect(
        (await bank.respondToIntent(merchant, { ...customer, lookupID: never?.lookupID ?? '' }, approve))
          .status,
      ).toBe(404);
    });

    test('with a standing approval for an untrusted merchant gets 403, and the intent stays open', async () => {
      const untrusted = await cast.merchant({ trusted: false });
      const intentId = await untrusted.ask(customer);

      expect((await bank.respondToIntent(untrusted, customer, approve)).status).toBe(403);
      expect(await untrusted.retrieve(intentId)).toMatchObject({ status: 'pending' });
      const once = await bank.respondToIntent(untrusted, customer, { customerDecision: 'approve_once' });
      expect(once).toMatchObject({ status: 200, body: { data: { intentId, status: 'approved' } } });
    });

    test('that breaks the contract gets 400 and every problem by name', async () => {
      await merchant.ask(customer);

      const answer = await bank.respondToIntent(merchant, customer, {
        customerDecision: 'maybe',
        spendingLimits: { daily: -1, weekly: 5 },
        colour: 'blue',
      });

      expect(answer.status).toBe(400);
      const paths = answer.body.errors?.map(({ path }) => path).sort();
      expect(paths).toEqual(['colour', 'customerDecision', 'spendingLimits.daily', 'spendingLimits.weekly']);

      const limits = await bank.respondToIntent(merchant, customer, {
        ...approve,
        spendingLimits: { daily: 0.001, monthly: 1e13 },
      });
      expect(limits.body.errors?.map(({ path }) => path)).toEqual([
        'spendingLimits.daily',
        'spendingLimits.monthly',
      ]);
    });
  });

  describe('a second intent brings new terms', () => {
    test('to the same paymentID, in force once they are approved and not before', async () => {
      const paymentID = await agreement(bank, merchant, customer, { spendingLimits: { daily: 100 } });
      const bill = async () => (await merchant.bill({ paymentIDs: [paymentID] }, 150)).status;
      const intentId = await merchant.ask(customer, 'Platinum plan');

      expect(await bill()).toBe(403);
      await bank.respondToIntent(merchant, customer, { ...approve, spendingLimits: { daily: 200 } });
      expect(await merchant.hears('billing.intent.response', intentId)).toMatchObject({ paymentID });
      expect(await bill()).toBe(201);
    });

    test.each(['denied', 'timed out'])('that are %s leave the old ones in force', async (end) => {
      const paymentID = await agreement(bank, merchant, customer, { spendingLimits: { daily: 100 } });
      const intentId = await merchant.ask(customer, 'Platinum plan');
      await bank.hears('billing.intent', intentId);
      if (end === 'denied') await bank.respondToIntent(merchant, customer, deny);
      else await merchant.advanceClock('PT25H');
      await merchant.hears('billing.intent.response', intentId);

      expect((await merchant.bill({ paymentIDs: [paymentID] }, 100.01)).status).toBe(403);
      expect((await merchant.bill({ paymentIDs: [paymentID] }, 100)).status).toBe(201);
    });
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

  describe('an intent is answered line by line', () => {
    test('in the order of the request, when at least one customer is known', async () => {
      const unknown = 'no-such-customer-here-00';

      const { status, body } = await merchant.sendIntent([unknown, customer.lookupID]);

      expect(status).toBe(200);
      expect(body).toMatchObject([
        { statusCode: 404, success: false, lookupID: unknown, entityId: merchant.entityId },
        { statusCode: 200, success: true, lookupID: customer.lookupID },
      ]);
    });

    test('inside the error envelope, when none is', async () => {
      const answer = refusal(await merchant.sendIntent(['no-such-customer-here-00']));

      expect(answer).toMatchObject({
        status: 404,
        body: { statusCode: 404, success: false, data: [{ statusCode: 404 }] },
      });
    });

    test('and not at all, when the request breaks the contract', async () => {
      const answer = refusal(
        await merchant.sendIntent([customer.lookupID, customer.lookupID], {
          currency: 'USD',
          description: '',
          intentSettings: { dueDate: 'tomorrow' },
        }),
      );

      expect(answer.status).toBe(400);
      const errors = answer.body.errors ?? [];
      expect(errors.map(({ path }) => path.replace(/\[\d\]$/, '')).sort()).toEqual([
        'currency',
        'description',
        'intentSettings.dueDate',
        'lookupIDs',
      ]);
      expect(errors.find(({ path }) => path === 'currency')?.message).toContain('NGN');
      expect(await bank.server.received()).toEqual([]);
    });
  });

  test('a customer named twice, in two spellings, is still named twice', async () => {
    const answer = refusal(await merchant.sendIntent([customer.lookupID, customer.lookupID.toUpperCase()]));

    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'lookupIDs[1]' }] } });
  });

  test('only merchants ask, only banks answer, and only the two parties look', async () => {
    const intentId = await merchant.ask(customer);
    const [stranger, otherBank] = await Promise.all([cast.merchant(), cast.bank()]);
    const ask = { lookupIDs: [customer.lookupID], currency: 'NGN', description: 'Gold plan' };

    expect((await bank.api.post('/v1/billing/intent', ask)).status).toBe(403);
    expect((await merchant.api.post('/v1/billing/intent-response', {})).status).toBe(403);
    expect((await stranger.api.get(`/v1/billing/intents/${intentId}`)).status).toBe(404);
    expect((await otherBank.api.get(`/v1/billing/intents/${intentId}`)).status).toBe(404);
  });

  test('all of that was told to each receiver with the numbers 1, 2, 3, …, so that a gap is a lost webhook', async () => {
    expect(await cast.gaps()).toEqual([]);
  });
});
