import { randomUUID } from 'node:crypto';
import { kobo } from '../../examples/demo/kobo';
import { rows } from '../../src/database/pool/connection';
import {
  agreement,
  Cast,
  refusal,
  type Bank,
  type Customer,
  type Item,
  type Merchant,
} from '../support/cast';
import { eventually, startEngine, type TestEngine } from '../support/engine';
import { letMidnightPass } from '../support/midnight';

/** Bills, the limits they must keep to, and the bank's answers, on time, twice and too late. */

let engine: TestEngine;
let cast: Cast;
let bank: Bank;
let merchant: Merchant;
let customer: Customer;

beforeAll(async () => {
  // The parallel bills come from one caller, faster than a caller may by default.
  engine = await startEngine({ RATE_LIMIT_CALLER: '500/1000' });
  cast = new Cast(engine);
});

afterAll(async () => {
  await cast.leave();
  await engine.stop();
});

beforeEach(async () => {
  [bank, merchant] = await Promise.all([cast.bank(2), cast.merchant()]);
  customer = bank.customers[0];
});

/** A charge that the bank has been asked about and has not answered. */
async function openCharge(amount = 25): Promise<Item> {
  await bank.answerCharges('silence', { times: 1 });
  const charge = await merchant.charge({ lookupIDs: [customer.lookupID] }, amount);
  await bank.hears('billing.request', charge.billingRequestId);
  return charge;
}

/** Whether an attempt to ask the bank has ended. */
async function askedInVain(): Promise<boolean> {
  const { body } = await bank.api.get('/v1/webhooks/deliveries?webhookType=billing.request');
  const { deliveries } = body.data as { deliveries: { attempts: unknown[] }[] };
  return (deliveries[0]?.attempts.length ?? 0) > 0;
}

const debit = () => ({ bankTransactionId: `tx-${randomUUID()}` });

describe('a bill with a paymentID', () => {
  test('is debited once under the standing approval, and both sides have the same account of it', async () => {
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

  test.each([
    ['approve_once', true, true],
    ['approve_recurring', false, true],
    ['approve_once', true, false],
  ] as const)(
    'under %s asks the customer again (%p; merchant trusted: %p)',
    async (decision, approvalRequired, trusted) => {
      const shop = await cast.merchant({ trusted });
      const paymentID = await agreement(bank, shop, customer, { decision });
      const charge = await shop.charge({ paymentIDs: [paymentID] }, 10);

      expect(await bank.hears('billing.request', charge.billingRequestId)).toMatchObject({
        approvalRequired,
      });
    },
  );

  test("that is another merchant's is unknown, like one that never was", async () => {
    const paymentID = await agreement(bank, merchant, customer);
    const thief = await cast.merchant();

    const [stolen, invented] = [
      refusal(await thief.bill({ paymentIDs: [paymentID] }, 10)),
      refusal(await thief.bill({ paymentIDs: ['no-such-payment-id'] }, 10)),
    ];

    expect(stolen.status).toBe(404);
    expect({ ...stolen.body, data: undefined }).toEqual({ ...invented.body, data: undefined });
    expect(stolen.body.data[0]?.message).toBe(invented.body.data[0]?.message);
    expect(await bank.server.ledger()).toEqual([]);
  });
});

describe('a bill is answered line by line', () => {
  test('when at least one customer can be billed, in the order of the request', async () => {
    const [, other] = bank.customers;
    const good = await agreement(bank, merchant, customer);
    const tight = await agreement(bank, merchant, other ?? customer, { spendingLimits: { daily: 5 } });

    const { status, body } = await merchant.bill({ paymentIDs: ['no-such-payment-id', tight, good] }, 10);

    expect(status).toBe(201);
    expect(body.map(({ statusCode, success, phrase }) => [statusCode, success, phrase])).toEqual([
      [404, false, 'no-such-payment-id'],
      [403, false, tight],
      [201, true, good],
    ]);
    await merchant.hears('billing.response', body[2]?.billingRequestId ?? '');
    expect(await bank.server.ledger()).toHaveLength(1);
  });

  test('inside the error envelope, with the most telling status, when none can', async () => {
    const tight = await agreement(bank, merchant, customer, { spendingLimits: { daily: 5 } });

    const mixed = refusal(await merchant.bill({ paymentIDs: ['no-such-payment-id', tight] }, 10));
    const unknown = refusal(await merchant.bill({ lookupIDs: ['no-such-customer-here-00'] }, 10));

    expect(mixed).toMatchObject({
      status: 403,
      body: { statusCode: 403, success: false, data: [{ statusCode: 404 }, { statusCode: 403 }] },
    });
    expect(unknown).toMatchObject({ status: 404, body: { statusCode: 404, data: [{ statusCode: 404 }] } });
  });

  test.each<[string, object, string[]]>([
    ['both forms at once', { paymentIDs: ['a'], lookupIDs: ['b'] }, ['paymentIDs']],
    ['neither form', {}, ['paymentIDs']],
    ['an empty list', { lookupIDs: [] }, ['lookupIDs']],
    ['a fraction of a kobo', { lookupIDs: ['a'], amount: 10.001 }, ['amount']],
    ['no money', { lookupIDs: ['a'], amount: 0 }, ['amount']],
    ['more than the network moves', { lookupIDs: ['a'], amount: 10_000_000_000.01 }, ['amount']],
    ['an amount as text', { lookupIDs: ['a'], amount: '10' }, ['amount']],
    ['a payee, which is for banks', { lookupIDs: ['a'], payee: { lookupID: 'b' } }, ['payee']],
    [
      'several faults',
      { lookupIDs: ['a'], amount: -1, currency: 'EUR', description: 'x'.repeat(501) },
      ['amount', 'currency', 'description'],
    ],
  ])('and not at all with %s: 400, each fault by name', async (_, fault, paths) => {
    const answer = await merchant.api.post('/v1/customer/bill', {
      amount: 10,
      currency: 'NGN',
      description: 'Shoes',
      ...fault,
    });

    expect(answer.status).toBe(400);
    expect(answer.body.errors?.map(({ path }) => path).sort()).toEqual(paths);
  });
});

describe('a spending limit', () => {
  beforeEach(() => letMidnightPass());

  test.each([
    ['daily', 99.99, 201],
    ['daily', 100, 201],
    ['daily', 100.01, 403],
    ['monthly', 99.99, 201],
    ['monthly', 100, 201],
    ['monthly', 100.01, 403],
  ])('of 100.00 (%s) answers a bill of %p with %p', async (period, amount, status) => {
    const paymentID = await agreement(bank, merchant, customer, { spendingLimits: { [period]: 100 } });

    expect((await merchant.bill({ paymentIDs: [paymentID] }, amount)).status).toBe(status);
  });

  test('counts what is pending, and lets in what a decline sets free', async () => {
    const paymentID = await agreement(bank, merchant, customer, { spendingLimits: { daily: 100 } });
    await bank.answerCharges('silence', { times: 1 });
    const pending = await merchant.charge({ paymentIDs: [paymentID] }, 60);

    expect((await merchant.bill({ paymentIDs: [paymentID] }, 40.01)).status).toBe(403);
    await bank.respondToCharge(pending.billingRequestId, { declineReason: 'insufficient_funds' });
    expect((await merchant.bill({ paymentIDs: [paymentID] }, 100.01)).status).toBe(403);
    expect((await merchant.bill({ paymentIDs: [paymentID] }, 100)).status).toBe(201);
    expect((await merchant.bill({ paymentIDs: [paymentID] }, 0.01)).status).toBe(403);
  });

  test('lets exactly its sum through when forty bills race for it', async () => {
    const paymentID = await agreement(bank, merchant, customer, { spendingLimits: { daily: 100 } });

    const bills = await Promise.all(
      Array.from({ length: 40 }, () => merchant.bill({ paymentIDs: [paymentID] }, 7)),
    );

    const statuses = bills.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(14);
    expect(statuses.filter((status) => status === 403)).toHaveLength(26);
    const ids = bills.flatMap(({ status, body }) =>
      status === 201 ? [body[0]?.billingRequestId ?? ''] : [],
    );
    await Promise.all(ids.map((id) => merchant.hears('billing.response', id)));
    const spent = (await bank.server.ledger()).reduce((sum, { amount }) => sum + BigInt(amount), 0n);
    expect(spent).toBe(kobo(98));
  });

  test('of a day is whole again on the next, while the month goes on counting', async () => {
    const limits = { daily: 100, monthly: 150 };
    const paymentID = await agreement(bank, merchant, customer, { spendingLimits: limits });
    const bill = async (amount: number) => (await merchant.bill({ paymentIDs: [paymentID] }, amount)).status;
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
  test('asks the customer each time, and is paid once approved', async () => {
    const charge = await merchant.charge({ lookupIDs: [customer.lookupID] }, 40);

    const asked = await bank.hears('billing.request', charge.billingRequestId);
    expect(asked).toMatchObject({ approvalRequired: true, lookupID: customer.lookupID, paymentID: null });
    expect(charge.phrase).toBe(customer.lookupID);
    expect(await merchant.retrieve(charge.billingRequestId)).toMatchObject({ phrase: customer.lookupID });
    expect(await merchant.hears('billing.response', charge.billingRequestId)).toMatchObject({
      lookupID: customer.lookupID,
      status: 'successful',
      customerAction: 'approved',
    });
  });

  test.each([
    ['deny', { customerAction: 'declined', status: 'declined' }],
    ['insufficient_funds', { customerAction: 'declined', declineReason: 'insufficient_funds' }],
  ] as const)('that meets %s moves no money', async (answer, told) => {
    await bank.answerCharges(answer);
    const charge = await merchant.charge({ lookupIDs: [customer.lookupID] }, 40);

    expect(await merchant.hears('billing.response', charge.billingRequestId)).toMatchObject(told);
    expect(await bank.server.ledger()).toEqual([]);
  });

  test('that nobody answers is declined when its window has passed, and both sides hear of it', async () => {
    const charge = await openCharge();
    await merchant.advanceClock('PT14M');
    expect(await merchant.retrieve(charge.billingRequestId)).toMatchObject({ status: 'pending' });
    await merchant.advanceClock('PT2M');

    const end = { status: 'declined', declineReason: 'expired' };
    expect(await merchant.hears('billing.response', charge.billingRequestId)).toMatchObject({
      ...end,
      customerAction: 'declined',
    });
    expect(await bank.hears('billing.closed', charge.billingRequestId)).toMatchObject(end);
  });

  test('that reached a bank which answers with errors may have been debited, and is not called undelivered', async () => {
    await bank.server.misbehave({ kind: 'status', status: 500, times: 100, type: 'billing.request' });
    const charge = await merchant.charge({ lookupIDs: [customer.lookupID] }, 40);
    await eventually(askedInVain);
    await merchant.advanceClock('PT20M');
    expect(await merchant.hears('billing.response', charge.billingRequestId)).toMatchObject({
      status: 'declined',
      declineReason: 'expired',
    });
  });

  test('that never reached the bank is declined as not delivered', async () => {
    const { webhookUrl } = bank.server;
    // The port of "discard", where nobody listens.
    await bank.api.put('/v1/webhooks/endpoint', { url: 'http://127.0.0.1:9/' });
    const charge = await merchant.charge({ lookupIDs: [customer.lookupID] }, 40);
    await eventually(askedInVain);
    await merchant.advanceClock('PT20M');

    expect(await merchant.hears('billing.response', charge.billingRequestId)).toMatchObject({
      status: 'declined',
      declineReason: 'not_delivered',
    });
    await bank.api.put('/v1/webhooks/endpoint', { url: webhookUrl });
    expect(await bank.hears('billing.closed', charge.billingRequestId)).toMatchObject({
      declineReason: 'not_delivered',
    });
  });

  test('that the customer answers with a standing approval makes the agreement of a trusted merchant', async () => {
    const charge = await openCharge();
    await bank.respondToCharge(charge.billingRequestId, { action: 'approve_recurring', ...debit() });

    const { item } = await merchant.server.waitFor(
      'the new decision',
      ({ type }) => type === 'decision.updated',
      20_000,
    );
    expect(item).toMatchObject({ customerId: customer.customerId, customerDecision: 'approve_recurring' });
    expect((await merchant.bill({ paymentIDs: [String(item['paymentID'])] }, 10)).status).toBe(201);
  });
});

describe("a bank's answer to a charge", () => {
  const forms: [string, object, string][] = [
    ['approves by the id of the debit', { bankTransactionId: 'tx-1' }, 'successful'],
    ['approves by action', { action: 'approve_once', bankTransactionId: 'tx-1' }, 'successful'],
    ['declines by a reason', { declineReason: 'account_closed' }, 'declined'],
    ['declines by action', { action: 'deny' }, 'declined'],
    ['suspends by action', { action: 'suspended' }, 'declined'],
  ];

  test.each(forms)(
    'that %s gets 200 and the final status, as often as it comes',
    async (_, answer, status) => {
      const { billingRequestId } = await openCharge();

      for (const time of ['first', 'second']) {
        const { status: http, body } = await bank.respondToCharge(billingRequestId, answer);
        expect({ time, http, data: body.data }).toEqual({
          time,
          http: 200,
          data: { billingRequestId, status },
        });
      }
      await merchant.hears('billing.response', billingRequestId);
      const told = (await merchant.server.received()).filter(({ type }) => type === 'billing.response');
      expect(told).toHaveLength(1);
    },
  );

  test('that differs from the first gets 409 and the true status', async () => {
    const { billingRequestId } = await openCharge();
    await bank.respondToCharge(billingRequestId, { bankTransactionId: 'tx-1' });

    for (const other of [
      { bankTransactionId: 'tx-2' },
      { action: 'deny' },
      { declineReason: 'account_closed' },
    ]) {
      expect(await bank.respondToCharge(billingRequestId, other)).toMatchObject({
        status: 409,
        body: { success: false, data: { billingRequestId, status: 'successful' } },
      });
    }
  });

  test('that is late gets 409 and the true status, and the money goes back', async () => {
    const { billingRequestId } = await openCharge();
    await merchant.advanceClock('PT20M');

    const late = await bank.respondToCharge(billingRequestId, debit());

    expect(late).toMatchObject({ status: 409, body: { data: { billingRequestId, status: 'declined' } } });
    expect(await merchant.retrieve(billingRequestId)).toMatchObject({
      status: 'declined',
      declineReason: 'expired',
    });
  });

  test('that is late or contradicts is kept for somebody to look into, each once', async () => {
    const [late, twice] = [await openCharge(), await openCharge()];
    await bank.respondToCharge(twice.billingRequestId, { bankTransactionId: 'tx-1' });
    await merchant.advanceClock('PT20M');
    for (const { billingRequestId } of [late, twice, late, twice]) {
      await bank.respondToCharge(billingRequestId, { bankTransactionId: `other-${billingRequestId}` });
    }

    const kept = await rows(
      engine.database.db,
      `SELECT billing_request_id AS "billingRequestId", kind, bank_transaction_id AS "bankTransactionId"
       FROM reconciliation_exceptions WHERE billing_request_id = ANY(:ids) ORDER BY billing_request_id`,
      { ids: [late.billingRequestId, twice.billingRequestId] },
    );
    expect(kept).toEqual([
      {
        billingRequestId: late.billingRequestId,
        kind: 'unanswered',
        bankTransactionId: `other-${late.billingRequestId}`,
      },
      {
        billingRequestId: twice.billingRequestId,
        kind: 'conflicting_answer',
        bankTransactionId: `other-${twice.billingRequestId}`,
      },
    ]);
  });

  test('with a bankTransactionId that it has used before gets 409, and the charge stays open', async () => {
    const [first, second] = [await openCharge(), await openCharge()];
    await bank.respondToCharge(first.billingRequestId, { bankTransactionId: 'tx-1' });

    const again = await bank.respondToCharge(second.billingRequestId, { bankTransactionId: 'tx-1' });

    expect(again.status).toBe(409);
    expect(await merchant.retrieve(second.billingRequestId)).toMatchObject({ status: 'pending' });
    const other = await cast.bank();
    const elsewhere = await merchant.charge({ lookupIDs: [other.customers[0].lookupID] }, 5);
    await merchant.hears('billing.response', elsewhere.billingRequestId);
  });

  test('that refuses in the form of the guide, with a bankTransactionId, is a refusal', async () => {
    const { billingRequestId } = await openCharge();

    const { body } = await bank.respondToCharge(billingRequestId, {
      action: 'deny',
      bankTransactionId: 'tx-1',
    });

    expect(body.data).toEqual({ billingRequestId, status: 'declined' });
    expect(await merchant.retrieve(billingRequestId)).toMatchObject({ declineReason: 'denied' });
  });

  test('in which everything is wrong hears of all of it at once', async () => {
    const { body } = await bank.respondToCharge('\u0000', { action: 'approve_once', declineReason: 'no' });

    expect(body.errors?.map((error) => error.path)).toEqual([
      'billingRequestId',
      'bankTransactionId',
      'declineReason',
    ]);
  });

  test.each<[string, object, string]>([
    ['says yes and no at once', { bankTransactionId: 'tx-1', declineReason: 'no' }, 'declineReason'],
    ['says nothing', {}, 'bankTransactionId'],
    ['approves without a debit', { action: 'approve_once' }, 'bankTransactionId'],
    ['knows another word', { action: 'perhaps', bankTransactionId: 'tx-1' }, 'action'],
    [
      'names another batch',
      { bankTransactionId: 'tx-1', batchId: 'bat_00000000000000000000000000' },
      'batchId',
    ],
  ])('that %s gets 400 and leaves the charge open', async (_, answer, path) => {
    const { billingRequestId } = await openCharge();

    const { status, body } = await bank.respondToCharge(billingRequestId, answer);

    expect(status).toBe(400);
    expect(body.errors?.map((error) => error.path)).toEqual([path]);
    expect(await merchant.retrieve(billingRequestId)).toMatchObject({ status: 'pending' });
  });

  test("to another bank's charge, or to one that never was, gets 404", async () => {
    const { billingRequestId } = await openCharge();
    const stranger = await cast.bank();

    expect((await stranger.respondToCharge(billingRequestId, debit())).status).toBe(404);
    expect((await bank.respondToCharge('brq_00000000000000000000000000', debit())).status).toBe(404);
    expect((await bank.respondToCharge('not-an-id', debit())).status).toBe(404);
  });

  test('that suspends the merchant stops its standing approval', async () => {
    const paymentID = await agreement(bank, merchant, customer);
    await bank.answerCharges('suspended', { times: 1 });
    const charge = await merchant.charge({ paymentIDs: [paymentID] }, 10);
    await merchant.hears('billing.response', charge.billingRequestId);

    expect((await merchant.bill({ paymentIDs: [paymentID] }, 10)).status).toBe(403);
  });
});

test('a merchant whose key comes again gets the first answer again, and the customer one debit', async () => {
  const paymentID = await agreement(bank, merchant, customer);
  const body = { paymentIDs: [paymentID], amount: 10, currency: 'NGN', description: 'Shoes' };
  const key = randomUUID();
  const first = await merchant.api.post<Item[]>('/v1/customer/bill', body, key);
  const again = await merchant.api.post<Item[]>('/v1/customer/bill', body, key);

  expect(again).toMatchObject({ status: 201, body: first.body });
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  expect((await merchant.api.post('/v1/customer/bill', { ...body, amount: 11 }, key)).status).toBe(422);
  await merchant.hears('billing.response', first.body[0]?.billingRequestId ?? '');
  expect(await bank.server.ledger()).toHaveLength(1);
});

test('only merchants bill, and only the two parties see a charge', async () => {
  const { billingRequestId } = await openCharge();
  const [stranger, otherBank] = await Promise.all([cast.merchant(), cast.bank()]);
  const path = `/v1/billing/requests/${billingRequestId}`;

  expect((await merchant.api.post('/v1/billing/bank-response', {})).status).toBe(403);
  expect((await stranger.api.get(path)).status).toBe(404);
  expect((await otherBank.api.get(path)).status).toBe(404);
  expect((await bank.api.get(path)).status).toBe(200);
});

test('all of that was told to each receiver with the numbers 1, 2, 3, …, so that a gap is a lost webhook', async () => {
  expect(await cast.gaps()).toEqual([]);
});
