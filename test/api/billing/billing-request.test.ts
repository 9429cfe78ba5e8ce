import { createBillingRequestActivities } from '../../../src/activities/billing-request';
import { restartWork, type Work } from '../../../src/database/recover/open-work';
import { bookDifferences } from '../../support/books';
import {
  approve,
  bill,
  charge,
  decline,
  eventsOf,
  EXCEPTIONS,
  initiateRefund,
  itemsOf,
  shareApi,
  type Parties,
} from '../../support/shared-api';
import { lookupIdOf, moveClock } from '../../support/standing';
import { signalsTo } from '../../support/outbox';

// One of the two currencies has no decimals.
const served = shareApi({ ACCEPTED_CURRENCIES: 'NGN,JPY' });
let parties: Parties;
beforeEach(async () => {
  parties = await served.parties({ limits: { daily: 20_000n } });
});

/** A bill by the lookupIDs of the customers, each of whom must approve it. */
async function byLookupId(
  others: Parties[] = [],
  more: object = {},
): Promise<{ status: number; ids: string[] }> {
  const customers = [parties, ...others].map(({ customerId }) => lookupIdOf(served.db, customerId));
  const wish = { amount: 150, currency: 'NGN', description: 'Shoes', ...more };
  const lookupIDs = await Promise.all(customers);
  const answered = await parties.merchant.post('/v1/customer/bill', { lookupIDs, ...wish });
  const ids = answered.status === 201 ? itemsOf(answered).map((item) => item.billingRequestId) : [];
  return { status: answered.status, ids };
}
const oneTime = async () => (await byLookupId()).ids[0] ?? '';

test('operators find a charge by the bank that is asked, and by none where several are', async () => {
  const { bankId, merchantId } = parties;
  const elsewhere = await served.parties();
  for (const [others, found] of [
    [[], { status: 'pending', bankId, merchantId }],
    [[elsewhere], { status: 'pending', merchantId }],
  ] as const) {
    const [id] = (await byLookupId([...others])).ids;
    const started = await served.db.row`
      SELECT start->'attributes' AS attributes FROM outbox WHERE start->'args'->0 @> to_jsonb(${id}::text)`;
    expect(started).toEqual({ attributes: found });
  }
});

const schedule = (more: object = {}) =>
  parties.merchant.post('/v1/billing/recurring/create', {
    customerId: parties.customerId,
    paymentID: parties.paymentId,
    amount: 100,
    currency: 'NGN',
    frequency: 'monthly',
    ...more,
  });

const agreed = (body: object) =>
  parties.merchant.post('/v1/customer/bill', {
    paymentIDs: [parties.paymentId],
    description: 'Shoes',
    ...body,
  });

describe('the currency of a charge', () => {
  test('is the agreement’s: another one is refused, takes nothing from its limits, and makes no schedule', async () => {
    const message = 'This agreement bills in NGN, not in JPY. Send a new intent to change its currency.';
    expect(await agreed({ amount: 200, currency: 'JPY' })).toMatchObject({
      status: 400,
      body: { success: false, message, data: [{ statusCode: 400, success: false, message }] },
    });
    expect((await agreed({ amount: 200, currency: 'NGN' })).status).toBe(201);
    expect(await schedule({ amount: 10, currency: 'JPY' })).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'currency', message: 'must be NGN, in which this agreement bills' }] },
    });
  });

  test('is one that the network takes: another one is refused with those that it does', async () => {
    const usd = { amount: 10, currency: 'USD' };
    for (const answered of [
      await agreed(usd),
      await schedule(usd),
      await parties.merchant.post('/v1/billing/intent', {
        lookupIDs: ['a'],
        currency: 'USD',
        description: 'Gold',
      }),
    ]) {
      expect(answered).toMatchObject({
        status: 400,
        body: { errors: [{ path: 'currency', message: 'must be one of NGN, JPY' }] },
      });
    }
  });

  test('has decimals or not, and an amount comes back as it was sent', async () => {
    expect((await byLookupId([], { amount: 1500.5, currency: 'JPY' })).status).toBe(400);
    const [id] = (await byLookupId([], { amount: 1500, currency: 'JPY' })).ids;
    const path = `/v1/billing/requests/${id}`;
    expect(await parties.merchant.read(path)).toMatchObject({ amount: 1500, currency: 'JPY' });
    const kept = await served.db.row`SELECT amount FROM billing_requests WHERE id = ${id}`;
    expect(kept).toEqual({ amount: 1500n });
  });
});

const cancel = (id: string, by = parties.merchant, headers = {}) =>
  by.post(`/v1/billing/requests/${id}/cancel`, undefined, headers);
const announcedToMerchant = () => served.announced(parties.merchantId, 'billing.response');

const CANCELLED = { status: 'declined', declineReason: 'cancelled' };

describe('cancelling a charge that waits for its customer', () => {
  afterEach(async () => {
    expect(await bookDifferences(served.db)).toEqual([]);
  });

  test('declines it once, with a key and without, and tells the merchant and its bank', async () => {
    const billingRequestId = await oneTime();
    const key = { 'idempotency-key': 'once' };
    const first = await cancel(billingRequestId, parties.merchant, key);
    const replayed = await cancel(billingRequestId, parties.merchant, key);
    const again = await cancel(billingRequestId);

    expect([first.status, first.body.data]).toEqual([200, { billingRequestId, ...CANCELLED }]);
    expect([replayed.body, again.body]).toEqual([first.body, first.body]);
    expect(replayed.headers.get('idempotent-replayed')).toBe('true');
    expect(await parties.merchant.read(`/v1/billing/requests/${billingRequestId}`)).toMatchObject(CANCELLED);
    const item = { billingRequestId, sequence: 1, ...CANCELLED };
    expect(await announcedToMerchant()).toMatchObject([{ ...item, customerAction: 'declined' }]);
    // The question had not been sent, so it is withdrawn: the bank hears of this charge first now.
    expect(await served.announced(parties.bankId, 'billing.closed')).toMatchObject([item]);
  });

  test('takes it out of the customer’s limits', async () => {
    await parties.bank.send('PUT', `/v1/bank/customer-decisions/${parties.agreementId}`, {
      customerDecision: 'approve_once',
    });
    const { id } = await bill(parties, { amount: 150 });
    await expect(bill(parties, { amount: 200 })).rejects.toThrow('limit_reached');
    await cancel(id);
    await bill(parties, { amount: 200 });
  });

  test('wakes its workflow, which tells that the merchant has cancelled', async () => {
    const id = await oneTime();
    const workflowId = `billing-request/${id}`;
    const answerTimeout = { waitForAnswers: () => Promise.resolve([]), stop: () => undefined };
    const activities = createBillingRequestActivities(served.db, answerTimeout);
    expect(await activities.awaitAnswer([id], workflowId)).toMatchObject({ open: [id] });
    await cancel(id);

    expect(await signalsTo(served.db, workflowId)).toEqual(['cancelled']);
    expect(await activities.awaitAnswer([id], workflowId)).toMatchObject({
      open: [],
      ended: [{ declineReason: 'cancelled', cancelledBy: 'merchant' }],
    });
  });

  test('is not what its workflow tells of an agreement that the merchant gives up', async () => {
    await parties.bank.send('PUT', `/v1/bank/customer-decisions/${parties.agreementId}`, {
      customerDecision: 'approve_once',
    });
    const { id } = await bill(parties);
    await parties.merchant.post(`/v1/agreements/${parties.agreementId}/release`);
    const answerTimeout = { waitForAnswers: () => Promise.resolve([]), stop: () => undefined };
    const activities = createBillingRequestActivities(served.db, answerTimeout);
    const { ended } = await activities.awaitAnswer([id], `billing-request/${id}`);
    expect(ended).toMatchObject([{ declineReason: 'denied' }]);
    expect(ended[0]).not.toHaveProperty('cancelledBy');
  });

  test('is for its provider, too, stands so on its time line, and leaves the others of its batch open', async () => {
    const elsewhere = await served.parties();
    const [first = '', second = ''] = (await byLookupId([elsewhere])).ids;
    expect((await cancel(first, parties.provider)).status).toBe(200);
    expect((await approve(elsewhere, second)).status).toBe(200);

    const { reference } = await parties.merchant.read(`/v1/billing/requests/${first}`);
    expect((await eventsOf(parties.merchant, reference)).slice(1)).toMatchObject([
      { type: 'billing_request.declined', cause: 'provider', declineReason: 'cancelled' },
    ]);
  });

  test('has an approval that comes later kept as an exception', async () => {
    const id = await oneTime();
    await cancel(id);
    const late = await approve(parties, id);

    expect([late.status, late.body.data?.['status']]).toEqual([409, 'declined']);
    expect(await parties.merchant.list(EXCEPTIONS)).toMatchObject([
      { kind: 'late_answer', billingRequestId: id, state: 'open' },
    ]);
  });

  test('is refused where the bank has said yes by an id that it had used: money may have moved', async () => {
    const paid = await charge(parties);
    const id = await oneTime();
    expect((await approve(parties, id, `tx-${paid.id}`)).status).toBe(409);

    expect(await cancel(id)).toMatchObject({ status: 409, body: { data: { status: 'pending' } } });
    expect((await approve(parties, id)).status).toBe(200);
  });

  test('is refused under a standing approval: its bank debits without asking', async () => {
    const { id } = await bill(parties);
    expect(await cancel(id)).toMatchObject({ status: 409, body: { data: { status: 'pending' } } });
    expect((await approve(parties, id)).status).toBe(200);
  });

  test.each([
    ['it has approved', 'successful', (id: string) => approve(parties, id)],
    ['it has declined, in the same word', 'declined', (id: string) => decline(parties, id, 'cancelled')],
    ['its window has passed', 'declined', () => moveClock(served.db, parties.merchantId, '16 minutes')],
  ])('is refused where %s: it is %s', async (_, status, end) => {
    const billingRequestId = await oneTime();
    await end(billingRequestId);
    const told = await announcedToMerchant();
    const { status: refused, body } = await cancel(billingRequestId);
    expect([refused, body.data]).toEqual([409, { billingRequestId, status }]);
    expect(await announcedToMerchant()).toEqual(told);
  });

  test('and an approval at once: exactly one wins', async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, oneTime));
    for (const id of ids) {
      const [cancelled, approved] = await Promise.all([cancel(id), approve(parties, id)]);
      expect([cancelled.status, approved.status].toSorted((a, b) => a - b)).toEqual([200, 409]);
      const { status } = await parties.merchant.read(`/v1/billing/requests/${id}`);
      expect(status).toBe(cancelled.status === 200 ? 'declined' : 'successful');
    }
  });
});

const forget = () => served.db.rows`DELETE FROM outbox`;

const starts = () =>
  served.db.rows<{ workflowId: string; summary: string }>`
  SELECT workflow_id, start->>'summary' AS summary FROM outbox WHERE kind = 'start' ORDER BY id`;

const restart = (workflowId: string) => {
  const { merchantId } = parties;
  const now = new Date();
  const work: Work = {
    kind: 'webhooks',
    key: '',
    workflowId,
    status: 'pending',
    merchantId,
    bankId: null,
    since: now,
    now,
  };
  return restartWork(served.db, [work]);
};

const ask = async () =>
  parties.merchant.post('/v1/billing/intent', {
    lookupIDs: [await lookupIdOf(served.db, parties.customerId)],
    currency: 'NGN',
    description: 'Shoes',
  });

const refund = async () => {
  const { reference } = await charge(parties);
  await forget();
  return initiateRefund(parties, reference);
};

describe('the title of a workflow that is started again', () => {
  const AGAIN = '(started again: it was overdue, or open without its workflow)';

  test.each<[string, () => Promise<unknown>, RegExp]>([
    ['a charge', () => bill(parties), /^Merchant charges NGN 100\.00, reference \S+$/],
    [
      'a call of two charges',
      async () => byLookupId([await served.parties()]),
      /^Merchant makes 2 charges of NGN 150\.00 each in one call$/,
    ],
    ['an intent', ask, /^Merchant asks whether it may bill a customer, reference \S+$/],
    ['a schedule', () => schedule(), /^Merchant bills NGN 100\.00 monthly$/],
    ['a refund', refund, /^Merchant refunds NGN 100\.00, reference \S+, of charge \S+$/],
  ])('still says what %s is about', async (_, begin, title) => {
    await forget();
    await begin();
    const [first] = await starts();
    expect(first?.summary).toMatch(title);
    await forget();
    await restart(String(first?.workflowId));
    expect(await starts()).toEqual([{ ...first, summary: `${first?.summary} ${AGAIN}` }]);
  });

  test('says what a schedule is about that its merchant resumes', async () => {
    const path = `/v1/billing/recurring/${String((await schedule()).body.data?.['scheduleId'])}`;
    await forget();
    for (const act of ['pause', 'resume'])
      expect((await parties.merchant.post(`${path}/${act}`)).status).toBe(200);
    expect(await starts()).toMatchObject([{ summary: 'Merchant bills NGN 100.00 monthly (resumed)' }]);
  });

  test('is the workflow’s id where its rows say nothing of it any more', async () => {
    await forget();
    await restart('billing-batch/brq_1');
    expect(await starts()).toMatchObject([{ summary: `billing-batch/brq_1 ${AGAIN}` }]);
  });
});
