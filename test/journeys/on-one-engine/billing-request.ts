import { rows } from '../../../src/database/pool/connection';
import {
  agreement,
  Cast,
  refusal,
  type Bank,
  type Customer,
  type Item,
  type Merchant,
} from '../../support/cast';
import { eventually } from '../../support/engine';
import { letMidnightPass } from '../../support/midnight';
import { engine } from './engine';

/** Bills, the limits they must keep to, and the bank's answers, on time, twice and too late. */
describe('bills', () => {
  let cast: Cast;
  let bank: Bank;
  let merchant: Merchant;
  let customer: Customer;
  let other: Customer;

  beforeAll(() => {
    cast = new Cast(engine);
  });
  afterAll(() => cast.leave());

  beforeEach(async () => {
    [bank, merchant] = await Promise.all([cast.bank(2), cast.merchant()]);
    customer = bank.customers[0];
    other = bank.customers[1] ?? customer;
  });

  /** A charge that the bank has been asked about and has not answered. */
  async function openCharge(amount = 25): Promise<Item> {
    await bank.answerCharges('silence', { times: 1 });
    const charge = await merchant.charge({ lookupIDs: [customer.lookupID] }, amount);
    await bank.hears('billing.request', charge.billingRequestId);
    return charge;
  }

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

  test('only a standing approval of a trusted merchant spares the customer the question', async () => {
    const [once, standing] = [
      await agreement(bank, merchant, customer, { decision: 'approve_once' }),
      await agreement(bank, merchant, other),
    ];
    const untrusted = await cast.merchant({ trusted: false });
    const ofUntrusted = await agreement(bank, untrusted, customer, { decision: 'approve_once' });
    for (const [shop, paymentID, approvalRequired] of [
      [merchant, once, true],
      [merchant, standing, false],
      [untrusted, ofUntrusted, true],
    ] as const) {
      const { billingRequestId } = await shop.charge({ paymentIDs: [paymentID] }, 10);
      expect(await bank.hears('billing.request', billingRequestId)).toMatchObject({ approvalRequired });
    }
  });

  test('a bill is answered line by line, inside the error envelope where no customer can be billed', async () => {
    const good = await agreement(bank, merchant, customer);
    const tight = await agreement(bank, merchant, other, { spendingLimits: { daily: 5 } });

    const { status, body } = await merchant.bill({ paymentIDs: ['no-such-payment-id', tight, good] }, 10);
    const mixed = refusal(await merchant.bill({ paymentIDs: ['no-such-payment-id', tight] }, 10));
    const unknown = refusal(await merchant.bill({ lookupIDs: ['no-such-customer-here-00'] }, 10));

    expect(status).toBe(201);
    expect(body.map(({ statusCode, success, phrase }) => [statusCode, success, phrase])).toEqual([
      [404, false, 'no-such-payment-id'],
      [403, false, tight],
      [201, true, good],
    ]);
    // Of several refusals the most telling.
    expect(mixed).toMatchObject({
      status: 403,
      body: { statusCode: 403, success: false, data: [{ statusCode: 404 }, { statusCode: 403 }] },
    });
    expect(unknown).toMatchObject({ status: 404, body: { statusCode: 404, data: [{ statusCode: 404 }] } });
    await merchant.hears('billing.response', body[2]?.billingRequestId ?? '');
    expect(await bank.server.ledger()).toHaveLength(1);
  });

  test('a bill that breaks the contract gets 400, each fault by name', async () => {
    const faults: [object, string[]][] = [
      [{ paymentIDs: ['a'], lookupIDs: ['b'] }, ['paymentIDs']],
      [{}, ['paymentIDs']],
      [{ lookupIDs: [] }, ['lookupIDs']],
      [{ lookupIDs: ['a'], amount: 10.001 }, ['amount']],
      [{ lookupIDs: ['a'], amount: 0 }, ['amount']],
      [{ lookupIDs: ['a'], amount: 10_000_000_000.01 }, ['amount']],
      [{ lookupIDs: ['a'], amount: '10' }, ['amount']],
      [{ lookupIDs: ['a'], payee: { lookupID: 'b' } }, ['payee']],
      [
        { lookupIDs: ['a'], amount: -1, currency: 'EUR', description: 'x'.repeat(501) },
        ['amount', 'currency', 'description'],
      ],
    ];
    for (const [fault, paths] of faults) {
      const bill = { amount: 10, currency: 'NGN', description: 'Shoes', ...fault };
      const { status, body } = await merchant.api.post('/v1/customer/bill', bill);
      expect([status, body.errors?.map(({ path }) => path).sort()]).toEqual([400, paths]);
    }
  });

  describe('a spending limit', () => {
    beforeEach(() => letMidnightPass());

    test('of a day or a month takes bills up to it, to the kobo', async () => {
      for (const period of ['daily', 'monthly']) {
        const spendingLimits = { [period]: 100 };
        const payer = period === 'daily' ? customer : other;
        const paymentID = await agreement(bank, merchant, payer, { spendingLimits });
        const statuses = [];
        for (const amount of [100.01, 99.99, 0.02, 0.01, 0.01])
          statuses.push((await merchant.bill({ paymentIDs: [paymentID] }, amount)).status);
        expect([period, statuses]).toEqual([period, [403, 201, 403, 201, 403]]);
      }
    });

    test('counts what is pending, and lets in what a decline sets free', async () => {
      const paymentID = await agreement(bank, merchant, customer, { spendingLimits: { daily: 100 } });
      await bank.answerCharges('silence', { times: 1 });
      const pending = await merchant.charge({ paymentIDs: [paymentID] }, 60);

      expect((await merchant.bill({ paymentIDs: [paymentID] }, 40.01)).status).toBe(403);
      await bank.respondToCharge(pending.billingRequestId, { declineReason: 'insufficient_funds' });
      expect((await merchant.bill({ paymentIDs: [paymentID] }, 100)).status).toBe(201);
    });

    test('of a day is whole again on the next, while the month goes on counting', async () => {
      const limits = { daily: 100, monthly: 150 };
      const paymentID = await agreement(bank, merchant, customer, { spendingLimits: limits });
      const bill = async (amount: number) =>
        (await merchant.bill({ paymentIDs: [paymentID] }, amount)).status;
      // From the first of a month on, so that the next day is in the same one.
      const today = new Date((await merchant.api.get('/v1/sandbox/clock')).body.data['now'] as string);
      const nextMonth = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1, 1, 12);
      await merchant.advanceClock(`PT${Math.ceil((nextMonth - today.getTime()) / 1000)}S`);

      expect(await bill(100)).toBe(201);
      expect(await bill(0.01)).toBe(403);
      await merchant.advanceClock('P1D');
      expect(await bill(50.01)).toBe(403);
      expect(await bill(50)).toBe(201);
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

    test('that nobody answers is declined when its window has passed, both sides hear of it, and a later answer gets 409', async () => {
      const { billingRequestId } = await openCharge();
      await merchant.advanceClock('PT14M');
      expect(await merchant.retrieve(billingRequestId)).toMatchObject({ status: 'pending' });
      await merchant.advanceClock('PT2M');

      const end = { status: 'declined', declineReason: 'expired' };
      expect(await merchant.hears('billing.response', billingRequestId)).toMatchObject({
        ...end,
        customerAction: 'declined',
      });
      expect(await bank.hears('billing.closed', billingRequestId)).toMatchObject(end);
      const late = await bank.respondToCharge(billingRequestId, { bankTransactionId: 'tx-late' });
      expect(late).toMatchObject({ status: 409, body: { data: { billingRequestId, status: 'declined' } } });
      expect(await merchant.retrieve(billingRequestId)).toMatchObject(end);
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

  describe("a bank's answer to a charge", () => {
    test('gets 200 and the final status in each of its forms, as often as it comes, and the merchant hears of it once', async () => {
      const forms: [object, string][] = [
        [{ bankTransactionId: 'tx-1' }, 'successful'],
        [{ action: 'approve_once', bankTransactionId: 'tx-2' }, 'successful'],
        [{ declineReason: 'account_closed' }, 'declined'],
        [{ action: 'deny' }, 'declined'],
        // As the guide has a refusal.
        [{ action: 'deny', bankTransactionId: 'tx-3' }, 'declined'],
        [{ action: 'suspended' }, 'declined'],
      ];
      for (const [answer, status] of forms) {
        const { billingRequestId } = await openCharge();
        for (const time of ['first', 'second']) {
          const { status: http, body } = await bank.respondToCharge(billingRequestId, answer);
          const data = { billingRequestId, status };
          expect({ answer, time, http, data: body.data }).toEqual({ answer, time, http: 200, data });
        }
        await merchant.hears('billing.response', billingRequestId);
      }
      const told = (await merchant.server.received()).filter(({ type }) => type === 'billing.response');
      expect(told).toHaveLength(forms.length);
    });

    test('that is late or contradicts the first gets 409 and the true status, and is kept for somebody to look into, once', async () => {
      const [late, twice] = [await openCharge(), await openCharge()];
      await bank.respondToCharge(twice.billingRequestId, { bankTransactionId: 'tx-1' });
      await merchant.advanceClock('PT20M');
      const answers: [string, object, string][] = [
        [late.billingRequestId, { bankTransactionId: 'tx-late' }, 'declined'],
        [twice.billingRequestId, { bankTransactionId: 'tx-2' }, 'successful'],
        [twice.billingRequestId, { action: 'deny' }, 'successful'],
      ];
      for (const [billingRequestId, answer, status] of [...answers, ...answers]) {
        expect(await bank.respondToCharge(billingRequestId, answer)).toMatchObject({
          status: 409,
          body: { success: false, data: { billingRequestId, status } },
        });
      }
      const kept = await rows(
        engine.database.db,
        `SELECT billing_request_id AS id, kind, bank_transaction_id FROM reconciliation_exceptions
         WHERE bank_id = :bankId ORDER BY billing_request_id`,
        { bankId: bank.entityId },
      );
      expect(kept).toEqual([
        { id: late.billingRequestId, kind: 'unanswered', bankTransactionId: 'tx-late' },
        { id: twice.billingRequestId, kind: 'conflicting_answer', bankTransactionId: 'tx-2' },
      ]);
    });

    test('that breaks the contract gets 400, each fault by name, and leaves the charge open', async () => {
      const { billingRequestId } = await openCharge();
      const faults: [object, string[]][] = [
        [{ bankTransactionId: 'tx-1', declineReason: 'no' }, ['declineReason']],
        [{}, ['bankTransactionId']],
        [{ action: 'approve_once' }, ['bankTransactionId']],
        [{ action: 'perhaps', bankTransactionId: 'tx-1' }, ['action']],
        [{ bankTransactionId: 'tx-1', batchId: 'bat_00000000000000000000000000' }, ['batchId']],
      ];
      for (const [answer, paths] of faults) {
        const { status, body } = await bank.respondToCharge(billingRequestId, answer);
        expect([status, body.errors?.map(({ path }) => path)]).toEqual([400, paths]);
      }
      const { body } = await bank.respondToCharge('\u0000', { action: 'approve_once', declineReason: 'no' });
      const all = ['billingRequestId', 'bankTransactionId', 'declineReason'];
      expect(body.errors?.map(({ path }) => path)).toEqual(all);
      expect(await merchant.retrieve(billingRequestId)).toMatchObject({ status: 'pending' });
    });
  });

  test('all of that was told to each receiver with the numbers 1, 2, 3, …, so that a gap is a lost webhook', async () => {
    expect(await cast.gaps()).toEqual([]);
  });
});
