import { Client, Connection } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createBillingRequestActivities } from '../../../src/activities/billing-request';
import { createRecoverActivities, type Recovered } from '../../../src/activities/recover';
import { createWebhookActivities } from '../../../src/activities/webhook';
import { settleCredits } from '../../../src/database/credit/follow-credit';
import { forgetDeliveries } from '../../../src/database/webhook/delete-old-deliveries';
import { calendarDay } from '../../../src/domain/calendar';
import { WEBHOOK_TYPES } from '../../../src/domain/webhook/webhook';
import { postingsOf } from '../../support/ledger';
import { openTransaction, waitsForALock } from '../../support/open-transaction';
import {
  approve,
  decline,
  eventsOf,
  EXCEPTIONS,
  history,
  itemsOf,
  respond,
  shareApi,
  type Caller,
  type Charge,
  type Parties,
  type Shown,
} from '../../support/shared-api';
import { lookupIdOf, moveClock } from '../../support/standing';
import { wholeFeed } from '../../support/whole-feed';
import { resolveAsOperator } from '../../support/settled';
import { recordOutcome } from '../../support/record-outcome';
import { setWebhookUrl } from '../../support/recorded-change';

/**
 * A customer pays another, which the payee's bank asks for: what is taken, what is refused, who
 * sees it.
 */

const served = shareApi({ RATE_LIMIT_CALLER: '500/1000' });
let payee: Parties;
let payer: Parties;
/** The lookupIDs of the two customers. */
let payeeId: string;
let payerId: string;
beforeEach(async () => {
  [payee, payer] = [await served.parties(), await served.parties()];
  payeeId = await lookupIdOf(served.db, payee.customerId);
  payerId = await lookupIdOf(served.db, payer.customerId);
});

const LAGOS = 'Africa/Lagos';

const ask = (more: object = {}, by = payee.bank, headers = {}) => {
  const rent = { amount: 12.5, currency: 'NGN', description: 'Rent' };
  const wish = { lookupIDs: [payerId], payee: { lookupID: payeeId }, ...rent, ...more };
  return by.post('/v1/customer/bill', wish, headers);
};

async function asked(): Promise<Charge> {
  const [item] = itemsOf(await ask());
  return { id: String(item?.billingRequestId), reference: String(item?.reference) };
}

async function debited(): Promise<Charge> {
  const payment = await asked();
  expect((await approve(payer, payment.id)).status).toBe(200);
  return payment;
}

/** Webhooks about payments in a bank's feed. */
async function told(caller: Caller): Promise<{ webhookType: string; item: Shown | undefined }[]> {
  await wholeFeed(served.db);
  const events = (await caller.list('/v1/events')) as { webhookType: string; data: Shown[] }[];
  return events
    .filter(({ webhookType }) => webhookType.startsWith('billing.'))
    .map(({ webhookType, data: [item] }) => ({ webhookType, item }));
}
const typesAnnounced = async (caller: Caller) => (await told(caller)).map(({ webhookType }) => webhookType);

describe('a bank that bills for a customer of its own', () => {
  test('has the payer’s bank asked, who is told whom the money is for, and of no merchant', async () => {
    const { id, reference } = await asked();

    expect(await told(payer.bank)).toEqual([
      {
        webhookType: 'billing.request',
        item: {
          billingRequestId: id,
          sequence: 1,
          reference,
          approvalRequired: true,
          amount: 12.5,
          currency: 'NGN',
          description: 'Rent',
          customerId: payer.customerId,
          customerEmail: 'ada@example.test',
          lookupID: payerId,
          paymentID: null,
          payee: { bankId: payee.bankId, lookupID: payeeId, name: 'Ada Obi' },
          dueDate: expect.any(String) as string,
        },
      },
    ]);
    expect(await told(payee.bank)).toEqual([]);
  });

  test('hears that the payer declines, and has nothing to credit', async () => {
    const { id, reference } = await asked();
    await decline(payer, id);

    expect(await told(payee.bank)).toEqual([
      {
        webhookType: 'billing.response',
        item: {
          billingRequestId: id,
          sequence: 1,
          reference,
          lookupID: payerId,
          amount: 12.5,
          currency: 'NGN',
          customerAction: 'declined',
          status: 'declined',
          declineReason: 'insufficient_funds',
          scheduleId: null,
        },
      },
    ]);
    expect(await payer.bank.read(`/v1/billing/requests/${id}`)).not.toHaveProperty('credit');
  });

  test('gets no standing approval by an approval for good: there is nobody to have it', async () => {
    const { id } = await asked();
    expect((await approve(payer, id, undefined, { action: 'approve_recurring' })).status).toBe(200);
    expect(await payer.bank.list('/v1/bank/customer-decisions')).toMatchObject([
      { merchant: { id: payer.merchantId } },
    ]);
  });

  test('is held to its own window, by its own clock: a late answer gets 409', async () => {
    const [late, other] = [await asked(), await asked()];
    await moveClock(served.db, payer.bankId, '1 hour');
    expect((await approve(payer, other.id)).status).toBe(200);
    await moveClock(served.db, payee.bankId, '1 hour');

    const { status, body } = await approve(payer, late.id);

    expect([status, body.data]).toEqual([409, { billingRequestId: late.id, status: 'declined' }]);
    expect((await typesAnnounced(payee.bank)).toSorted()).toEqual(['billing.credit', 'billing.response']);
    // A charge that ended before its bank had read of it is not asked for any more.
    expect(await typesAnnounced(payer.bank)).toEqual(['billing.request', 'billing.closed']);
  });

  test('gets an answer for each payer, in the order that it named them', async () => {
    const another = await served.parties();
    const anotherId = await lookupIdOf(served.db, another.customerId);
    const lookupIDs = ['no-such-person-here-11', payerId, payeeId, anotherId.toUpperCase()];
    const answered = await ask({ lookupIDs });

    expect(answered.status).toBe(201);
    expect(itemsOf(answered).map(({ statusCode }) => statusCode)).toEqual([404, 201, 400, 201]);
    expect(await told(another.bank)).toMatchObject([{ item: { customerId: another.customerId } }]);
  });

  test('names a payee, and lookupIDs alone; a merchant names none', async () => {
    const pathsOf = async (refused: ReturnType<typeof ask>) =>
      (await refused).body.errors?.map(({ path }) => path);
    expect(await pathsOf(ask({ payee: undefined }))).toEqual(['payee']);
    expect(await pathsOf(ask({ payee: {} }))).toEqual(['payee.lookupID']);
    expect(await pathsOf(ask({ paymentIDs: ['x'], lookupIDs: undefined }))).toEqual(
      expect.arrayContaining(['lookupIDs', 'paymentIDs']),
    );
    expect(await pathsOf(ask({}, payee.merchant))).toEqual(['payee']);
    expect(await typesAnnounced(payer.bank)).toEqual([]);
  });
});

describe('a payment between customers is seen', () => {
  test('by both banks alike, in the history, its details and by its id', async () => {
    const { id, reference } = await debited();

    for (const { bank } of [payee, payer]) {
      expect(await history(bank)).toMatchObject([
        {
          reference,
          type: 'charge',
          status: 'successful',
          amount: 12.5,
          customerId: payer.customerId,
          merchantId: null,
          bankId: payer.bankId,
          bankTransactionId: `tx-${id}`,
          payeeBankId: payee.bankId,
          payeeLookupID: payeeId,
        },
      ]);
      expect(await eventsOf(bank, reference)).toMatchObject([
        { type: 'billing_request.accepted', cause: 'bank' },
        { type: 'billing_request.successful', cause: 'bank' },
      ]);
      expect(await bank.read(`/v1/billing/requests/${id}`)).toMatchObject({
        billingRequestId: id,
        entityId: payee.bankId,
        bankId: payer.bankId,
        lookupID: payerId,
        payee: { bankId: payee.bankId, lookupID: payeeId },
        bankTransactionId: `tx-${id}`,
      });
      const [header = '', line = ''] = (await bank.file('/v1/transaction-history?format=csv')).split('\r\n');
      const cells = Object.fromEntries(header.split(',').map((name, i) => [name, line.split(',')[i]]));
      expect(cells).toMatchObject({ reference, merchantId: '', payeeLookupID: payeeId });
      for (const customerId of [payee.customerId, payer.customerId]) {
        expect(await history(bank, `?customerId=${customerId}`)).toMatchObject([{ reference }]);
      }
      expect(await history(bank, `?merchantId=${payee.merchantId}`)).toEqual([]);
    }
  });

  test('with the request id of the payee’s bank by that bank alone', async () => {
    const [item] = itemsOf(await ask({}, payee.bank, { 'x-request-id': 'rent-7' }));
    const read = `/v1/transaction-details?reference=${item?.reference}`;
    expect(JSON.stringify(await payee.bank.read(read))).toContain('rent-7');
    const toPayer = JSON.stringify(await payer.bank.read(read));
    expect(toPayer).toContain('called by the bank');
    expect(toPayer).not.toContain('rent-7');
  });

  test('with the payer’s bank’s id of the debit, and without that of what it took back', async () => {
    const { id } = await debited();
    await decline(payer, id);
    const [exception] = await payer.bank.list(EXCEPTIONS);
    const finding = { resolution: 'reversed', bankTransactionId: 'taken-back-1' };
    expect((await respond(payer, exception?.['exceptionId'], finding)).status).toBe(200);
    const [reversal] = await history(payee.bank, '?type=reversal');
    const day = calendarDay(new Date(String(reversal?.['settledAt'])), LAGOS);

    for (const { bank } of [payee, payer]) {
      const isPayers = bank === payer.bank;
      expect(await history(bank, '?bankTransactionId=taken-back-1')).toHaveLength(isPayers ? 1 : 0);
      expect(await history(bank, `?bankTransactionId=tx-${id}`)).toHaveLength(1);
      for (const read of [
        '/v1/transaction-history',
        '/v1/transaction-history?format=csv',
        `/v1/transaction-details?reference=${String(reversal?.['reference'])}`,
        `/v1/statements/${day}.csv`,
      ]) {
        const text = JSON.stringify((await bank.get(read)).body);
        expect({ read, knows: text.includes('taken-back-1') }).toEqual({ read, knows: isPayers });
        if (!read.includes('details')) expect(text).toContain(`tx-${id}`);
      }
    }
  });

  test('and answered by the payer’s bank alone, and refunded by no merchant', async () => {
    const { id, reference } = await asked();
    expect((await approve(payee, id)).status).toBe(404);
    expect((await approve(payer, id)).status).toBe(200);
    expect((await payee.merchant.post('/v1/refunds/initiate', { reference })).status).toBe(404);
  });
});

/** Nothing is sent: what the payee's bank is told, it may read. */
const settle = (id: string) => createBillingRequestActivities(served.db, nobodyWaits).awaitCredit([id]);
const nobodyWaits = { waitForAnswers: () => Promise.resolve([]), stop: () => undefined };

/** The credit as both banks see it, and the exceptions about it. */
async function expectCredit({ id, reference }: Charge, credit: object, exceptions: string[]): Promise<void> {
  for (const { bank } of [payer, payee]) {
    expect((await bank.read(`/v1/billing/requests/${id}`))['credit']).toMatchObject(credit);
    const details = await bank.read(`/v1/transaction-details?reference=${reference}`);
    expect(details['credit']).toMatchObject(credit);
    const events = details['events'] as { type: string; kind?: string }[];
    expect(events.filter(({ kind }) => kind === 'credit_undelivered').map(({ type }) => type)).toEqual(
      exceptions,
    );
  }
}
const DELIVERED = { status: 'delivered', overdue: false };
const RESOLVED = ['exception.opened', 'exception.resolved'];

/** A payment whose credit the payee's bank has not taken a day later. */
async function overdue(): Promise<Charge> {
  const payment = await debited();
  await moveClock(served.db, payee.bankId, '25 hours');
  expect(await settle(payment.id)).toEqual({ waiting: [], overdue: null });
  return payment;
}

async function deliveryOf({ id }: Charge): Promise<{ deliveryId: string; workflowId: string }> {
  const [found] = await served.db.rows<{ deliveryId: string; workflowId: string }>`
    SELECT d.id AS delivery_id, d.workflow_id FROM webhook_deliveries d
    JOIN billing_requests b ON b.credit_delivery_id = d.id
    WHERE b.id = ${id}`;
  return found ?? { deliveryId: '', workflowId: '' };
}

/** Records an attempt that the payee's bank has taken; its worker dies right then. */
const taken = async (payment: Charge) => recordOutcome(served.db, (await deliveryOf(payment)).deliveryId, 1);

describe('the credit of a payment', () => {
  test('that the payee’s bank was never told of is overdue after a day, and delivered once it reads of it', async () => {
    const payment = await debited();
    expect((await settle(payment.id)).overdue?.inMs).toBeGreaterThan(86_000_000);
    await moveClock(served.db, payee.bankId, '23 hours');
    expect(await settle(payment.id)).toMatchObject({ waiting: [payment.id] });
    await expectCredit(payment, { overdue: false }, []);

    await moveClock(served.db, payee.bankId, '2 hours');
    for (let again = 0; again < 2; again++) {
      expect(await settle(payment.id)).toEqual({ waiting: [], overdue: null });
    }
    await expectCredit(payment, { status: 'undelivered', overdue: true }, ['exception.opened']);

    expect(await typesAnnounced(payee.bank)).toEqual(['billing.credit']);
    await expectCredit(payment, DELIVERED, RESOLVED);
  });

  test('that its bank has credited all the same, as an operator has found out, is in transit no more', async () => {
    const payment = await overdue();
    await resolveAsOperator(served.db, payment.id, 'no_difference');
    expect((await postingsOf(served.db, payment.id)).slice(2)).toEqual([
      `credit: -1250 NGN in_transit of ${payee.bankId}`,
      `credit: +1250 NGN payee_bank of ${payee.bankId}`,
    ]);
    await expectCredit(payment, { status: 'delivered' }, RESOLVED);
  });

  test('that a first attempt delivers after a day without workers is delivered, and its exception resolved', async () => {
    await setWebhookUrl(served.db, payee.bankId, 'http://bank.test/');
    const payment = await overdue();
    await expectCredit(payment, { status: 'pending', overdue: true }, ['exception.opened']);

    const accepted = {
      durationMs: 1,
      reached: 'yes',
      httpStatus: 200,
      error: null,
      responseHead: null,
    } as const;
    const webhooks = createWebhookActivities({
      db: served.db,
      config: { WEBHOOK_RETRY_S: [5], WEBHOOK_TIMEOUT_S: 10 },
      connector: { send: () => Promise.resolve(accepted), close: () => Promise.resolve() },
      log: { info: () => undefined, warn: () => undefined },
      measure: () => undefined,
    });
    const { workflowId } = await deliveryOf(payment);
    expect(await webhooks.deliverFirstAttempts(workflowId, WEBHOOK_TYPES)).toMatchObject({ delivered: 1 });
    await expectCredit(payment, DELIVERED, RESOLVED);
  });

  test('that was delivered by a worker which died right then is settled by its workflow, which reconcile starts', async () => {
    const waiting = await debited();
    await taken(waiting);
    const late = await overdue();
    await taken(late);

    await served.db.rows`DELETE FROM outbox`;
    const temporal = new Client({ connection: Connection.lazy({ address: '127.0.0.1:1' }) });
    const log = { info: () => undefined, warn: () => undefined };
    const activities = createRecoverActivities({
      db: served.db,
      client: temporal,
      afterS: 300,
      log,
      count: () => undefined,
    });
    const recovered = await new MockActivityEnvironment().run(() => activities.restartOverdue());
    expect((recovered as Recovered).found['credits']).toBeGreaterThanOrEqual(2);
    expect((await postingsOf(served.db, late.id)).slice(2)).toEqual([]);
    const restarted = await served.db.rows`SELECT workflow_id FROM outbox WHERE kind = 'start'`;
    for (const { id } of [late, waiting]) {
      expect(restarted).toContainEqual({ workflowId: `billing-request/${id}` });
      expect(await settle(id)).toEqual({ waiting: [], overdue: null });
    }
    await expectCredit(late, DELIVERED, RESOLVED);
    await expectCredit(waiting, DELIVERED, []);
  });

  test('that is delivered while somebody judges whether it is overdue is no exception', async () => {
    const payment = await debited();
    const { deliveryId } = await deliveryOf(payment);
    await moveClock(served.db, payee.bankId, '25 hours');
    const other = await openTransaction(served.db);
    await other.trx.rows`SELECT FROM billing_requests WHERE id = ${payment.id} FOR NO KEY UPDATE`;
    const judged = settle(payment.id);
    await waitsForALock(served.db);
    await taken(payment);
    await other.commit();
    await judged;
    await served.db.transaction((trx) => settleCredits(trx, [deliveryId]));
    await expectCredit(payment, DELIVERED, []);
  });

  test('stays as it was when its webhook is forgotten: delivered where it was read, overdue where not', async () => {
    const read = await debited();
    await typesAnnounced(payee.bank);
    const unread = await debited();
    await forgetDeliveries(served.db, 0);
    for (const payment of [read, unread]) expect((await deliveryOf(payment)).deliveryId).toBe('');

    await moveClock(served.db, payee.bankId, '25 hours');
    for (const { id } of [read, unread]) await settle(id);
    await expectCredit(read, DELIVERED, []);
    await expectCredit(unread, { status: 'undelivered', overdue: true }, ['exception.opened']);
  });
});
