import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createBillingRequestActivities } from '../../../src/activities/billing-request';
import { createReconcileActivities, type Reconciled } from '../../../src/activities/reconcile';
import { createWebhookActivities } from '../../../src/activities/webhook';
import { makeKeyring, readKeyring } from '../../../src/database/keys/keyring';
import { rows } from '../../../src/database/pool/connection';
import { settleCredits } from '../../../src/database/credit/follow-credit';
import { openWork } from '../../../src/database/reconcile/open-work';
import { resolveException } from '../../../src/database/resolution/resolve-exception';
import { recordAttempt } from '../../../src/database/webhook/attempt-delivery';
import { setWebhookUrl } from '../../../src/database/webhook/change-endpoint';
import { forgetDeliveries } from '../../../src/database/webhook/delete-old-deliveries';
import { calendarDay } from '../../../src/domain/calendar';
import { enter, serveApi, type Answered, type Party, type ServedApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { eventually } from '../../support/engine';
import { postingsOf } from '../../support/ledger';
import { openTransaction } from '../../support/open-transaction';
import { moveClock } from '../../support/standing';
import { wholeFeed } from '../../support/whole-feed';

/**
 * A customer pays another, which the payee's bank asks for: what is taken, what is refused, who
 * sees it.
 */

interface Customer {
  customerId: string;
  lookupID: string;
}

let database: TestDatabase;
let api: ServedApi;
let payeeBank: Party;
let payerBank: Party;
let payee: Customer;
let payer: Customer;

beforeAll(async () => {
  database = await createTestDatabase();
  api = await serveApi(database.db, { settings: { RATE_LIMIT_CALLER: '500/1000' } });
});
afterAll(async () => {
  await api.close();
  await database.drop();
});

beforeEach(async () => {
  [payeeBank, payerBank] = await Promise.all([enter(api, 'bank'), enter(api, 'bank')]);
  [payee, payer] = await Promise.all([onboard(payeeBank, 'Ngozi Umeh'), onboard(payerBank, 'Ada Obi')]);
});

async function onboard(bank: Party, accountName: string): Promise<Customer> {
  const { body } = await bank.send('POST', '/v1/bank/customers', {
    customers: [
      {
        clientRef: randomUUID(),
        firstname: 'Given',
        lastname: 'Family',
        accountName,
        email: `${randomUUID()}@example.com`,
        country: 'NG',
        accountNumber: String(Math.floor(Math.random() * 1e10)).padStart(10, '1'),
      },
    ],
  });
  const [customer] = (body.data?.['customers'] ?? []) as Customer[];
  if (!customer) throw new Error(JSON.stringify(body));
  return customer;
}

interface Item {
  statusCode: number;
  billingRequestId: string;
  reference: string;
}

const bodyOf = (more: object = {}) => ({
  lookupIDs: [payer.lookupID],
  payee: { lookupID: payee.lookupID },
  amount: 12.5,
  currency: 'NGN',
  description: 'Rent',
  ...more,
});

const ask = (more: object = {}, by = payeeBank): Promise<Answered> =>
  by.send('POST', '/v1/customer/bill', bodyOf(more));

async function asked(more: object = {}): Promise<Item> {
  const { status, body } = await ask(more);
  const [item] = body as unknown as Item[];
  if (status !== 201 || !item) throw new Error(`${status} ${JSON.stringify(body)}`);
  return item;
}

const answer = (billingRequestId: string, more: object, by = payerBank) =>
  by.send('POST', '/v1/billing/bank-response', { billingRequestId, ...more });

/** Sessions of this database that wait for a row of another. */
const BLOCKED = `SELECT FROM pg_stat_activity
  WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`;

/** What a party has been told of payments, by its feed. */
async function told(party: Party): Promise<{ webhookType: string; item: Record<string, unknown> }[]> {
  await wholeFeed(database.db);
  const { body } = await party.send('GET', '/v1/events');
  const events = body.data?.['events'] as { webhookType: string; data: Record<string, unknown>[] }[];
  return events
    .filter(({ webhookType }) => webhookType.startsWith('billing.'))
    .flatMap(({ webhookType, data }) => data.map((item) => ({ webhookType, item })));
}

const typesTold = async (party: Party) => (await told(party)).map(({ webhookType }) => webhookType);

async function transactions(party: Party, query = '') {
  const { body } = await party.send('GET', `/v1/transaction-history${query}`);
  return body.data as { transactions: Record<string, unknown>[]; total: number };
}

async function pathsRefused(refused: Promise<Answered>): Promise<string[] | undefined> {
  const { status, body } = await refused;
  expect(status).toBe(400);
  return body.errors?.map(({ path }) => path);
}

test('the request id of the payee’s bank is not told to the payer’s', async () => {
  const asking = await payeeBank.send('POST', '/v1/customer/bill', bodyOf({}), { 'x-request-id': 'rent-7' });
  const [item] = asking.body as unknown as Item[];
  const read = `/v1/transaction-details?reference=${item?.reference}`;
  const [toPayee, toPayer] = await Promise.all(
    [payeeBank, payerBank].map(async (bank) => JSON.stringify((await bank.send('GET', read)).body.data)),
  );
  expect(toPayee).toContain('rent-7');
  expect(toPayer).toContain('called by the bank');
  expect(toPayer).not.toContain('rent-7');
});

describe('a bank that bills for a customer of its own', () => {
  test('has the payer’s bank asked, who is told whom the money is for, and of no merchant', async () => {
    const item = await asked();

    expect(item).toMatchObject({ statusCode: 201, entityId: payeeBank.entityId, phrase: payer.lookupID });
    expect(await told(payerBank)).toEqual([
      {
        webhookType: 'billing.request',
        item: {
          billingRequestId: item.billingRequestId,
          sequence: 1,
          reference: item.reference,
          approvalRequired: true,
          amount: 12.5,
          currency: 'NGN',
          description: 'Rent',
          customerId: payer.customerId,
          customerEmail: expect.stringContaining('@example.com') as string,
          lookupID: payer.lookupID,
          paymentID: null,
          payee: { bankId: payeeBank.entityId, lookupID: payee.lookupID, name: 'Ngozi Umeh' },
          dueDate: expect.any(String) as string,
        },
      },
    ]);
    expect(await told(payeeBank)).toEqual([]);
  });

  test('hears whom to credit once the payer’s bank has debited, and of the payer no more than their bank', async () => {
    const { billingRequestId, reference } = await asked();
    const { status, body } = await answer(billingRequestId, { bankTransactionId: 'debit-1' });

    expect([status, body.data]).toEqual([200, { billingRequestId, status: 'successful' }]);
    expect(await told(payeeBank)).toEqual([
      {
        webhookType: 'billing.credit',
        item: {
          billingRequestId,
          sequence: 1,
          reference,
          amount: 12.5,
          currency: 'NGN',
          lookupID: payee.lookupID,
          payerBankId: payerBank.entityId,
          bankTransactionId: 'debit-1',
        },
      },
    ]);
    expect(await typesTold(payerBank)).toEqual(['billing.request']);
  });

  test.each([
    [{ action: 'deny' }, 'denied'],
    [{ action: 'suspended' }, 'suspended'],
    [{ declineReason: 'insufficient_funds' }, 'insufficient_funds'],
  ])('hears that the payer declines: %j', async (refusal, declineReason) => {
    const { billingRequestId, reference } = await asked();
    await answer(billingRequestId, refusal);

    expect(await told(payeeBank)).toEqual([
      {
        webhookType: 'billing.response',
        item: {
          billingRequestId,
          sequence: 1,
          reference,
          lookupID: payer.lookupID,
          amount: 12.5,
          currency: 'NGN',
          customerAction: 'declined',
          status: 'declined',
          declineReason,
          scheduleId: null,
        },
      },
    ]);
  });

  test('is asked for nothing more by an approval for good: there is nobody to have it', async () => {
    const { billingRequestId } = await asked();
    const { status } = await answer(billingRequestId, {
      action: 'approve_recurring',
      bankTransactionId: 'debit-1',
    });

    expect(status).toBe(200);
    const { body } = await payerBank.send('GET', '/v1/bank/customer-decisions');
    expect(body.data).toMatchObject({ decisions: [], total: 0 });
  });

  test('is held to its own window, by its own clock: a late answer gets 409', async () => {
    const { billingRequestId } = await asked();
    await moveClock(api.deps.db, payerBank.entityId, '1 hour');
    const other = await asked();
    expect((await answer(other.billingRequestId, { bankTransactionId: 'debit-1' })).status).toBe(200);
    await moveClock(api.deps.db, payeeBank.entityId, '1 hour');

    const { status, body } = await answer(billingRequestId, { bankTransactionId: 'debit-2' });

    expect([status, body.data]).toEqual([409, { billingRequestId, status: 'declined' }]);
    expect((await typesTold(payeeBank)).toSorted()).toEqual(['billing.credit', 'billing.response']);
    // What ended before its bank had read of it is not asked for any more.
    expect(await typesTold(payerBank)).toEqual(['billing.request', 'billing.closed']);
  });

  test('gets an answer for each payer, in the order that it named them', async () => {
    const second = await onboard(payerBank, 'Bola Ade');
    const { status, body } = await ask({
      lookupIDs: ['no-such-person-here-11', payer.lookupID, payee.lookupID, second.lookupID.toUpperCase()],
    });

    expect(status).toBe(201);
    expect((body as unknown as Item[]).map(({ statusCode }) => statusCode)).toEqual([404, 201, 400, 201]);
    expect((await told(payerBank)).map(({ item }) => item['customerId'])).toEqual([
      payer.customerId,
      second.customerId,
    ]);
  });

  test('whose key comes again gets the first answer, and the payer is asked once', async () => {
    const key = { 'idempotency-key': randomUUID() };
    const first = await payeeBank.send('POST', '/v1/customer/bill', bodyOf(), key);
    const again = await payeeBank.send('POST', '/v1/customer/bill', bodyOf(), key);

    expect(again.body).toEqual(first.body);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await typesTold(payerBank)).toEqual(['billing.request']);
  });

  test('may ask one of its own customers to pay another', async () => {
    const neighbour = await onboard(payeeBank, 'Bola Ade');
    const { billingRequestId } = await asked({ lookupIDs: [neighbour.lookupID] });
    await answer(billingRequestId, { bankTransactionId: 'debit-1' }, payeeBank);

    expect(await typesTold(payeeBank)).toEqual(['billing.request', 'billing.credit']);
    expect(await transactions(payeeBank)).toMatchObject({
      total: 1,
      transactions: [{ billingRequestId, bankId: payeeBank.entityId, payeeBankId: payeeBank.entityId }],
    });
  });
});

describe('a payment between customers is refused', () => {
  test('to oneself', async () => {
    const { status, body } = await ask({ lookupIDs: [payee.lookupID] });

    expect([status, body.success]).toEqual([400, false]);
  });

  test('to another bank’s customer just as to nobody', async () => {
    const toOthers = await ask({ payee: { lookupID: payer.lookupID } });
    const toNobody = await ask({ payee: { lookupID: 'no-such-person-here-11' } });

    expect(toOthers.status).toBe(404);
    expect(toOthers.body).toEqual(toNobody.body);
    expect(await typesTold(payerBank)).toEqual([]);
  });

  test('from nobody', async () => {
    expect((await ask({ lookupIDs: ['no-such-person-here-11'] })).status).toBe(404);
  });

  test('where a bank names no payee, and where it sends paymentIDs', async () => {
    expect(await pathsRefused(ask({ payee: undefined }))).toEqual(['payee']);
    expect(await pathsRefused(ask({ payee: {} }))).toEqual(['payee.lookupID']);
    expect(await pathsRefused(ask({ paymentIDs: ['x'], lookupIDs: undefined, amount: 0 }))).toEqual(
      expect.arrayContaining(['lookupIDs', 'amount', 'paymentIDs']),
    );
    expect(await pathsRefused(ask({ payee: { lookupID: payee.lookupID, name: 'Ngozi' } }))).toEqual([
      'payee.name',
    ]);
  });

  test('where a merchant asks for it, and a provider may not even try', async () => {
    const [merchant, provider] = await Promise.all([enter(api, 'merchant'), enter(api, 'provider')]);

    expect(await pathsRefused(ask({}, merchant))).toEqual(['payee']);
    expect((await ask({}, provider)).status).toBe(403);
    expect(await typesTold(payerBank)).toEqual([]);
  });
});

describe('a payment between customers is seen', () => {
  test('by both banks alike, in the history, its details and by its id', async () => {
    const { billingRequestId, reference } = await asked();
    await answer(billingRequestId, { bankTransactionId: 'debit-1' });

    const [ofPayee, ofPayer] = [await transactions(payeeBank), await transactions(payerBank)];
    expect(ofPayee.transactions).toEqual([
      expect.objectContaining({
        reference,
        type: 'charge',
        status: 'successful',
        amount: 12.5,
        customerId: payer.customerId,
        merchantId: null,
        bankId: payerBank.entityId,
        bankTransactionId: 'debit-1',
        payeeBankId: payeeBank.entityId,
        payeeLookupID: payee.lookupID,
      }),
    ]);
    expect(ofPayer).toEqual(ofPayee);

    for (const bank of [payeeBank, payerBank]) {
      const details = await bank.send('GET', `/v1/transaction-details?reference=${reference}`);
      expect(details.body.data).toMatchObject({
        reference,
        events: [
          { type: 'billing_request.accepted', cause: 'bank' },
          { type: 'billing_request.successful', cause: 'bank' },
        ],
      });
      const shown = await bank.send('GET', `/v1/billing/requests/${billingRequestId}`);
      expect(shown.body.data).toMatchObject({
        billingRequestId,
        entityId: payeeBank.entityId,
        bankId: payerBank.entityId,
        lookupID: payer.lookupID,
        payee: { bankId: payeeBank.entityId, lookupID: payee.lookupID },
        bankTransactionId: 'debit-1',
      });
      const csv = await fetch(`${api.url}/v1/transaction-history?format=csv`, {
        headers: { authorization: `Bearer ${bank.token}` },
      });
      const [header = '', line = '', ...rest] = (await csv.text()).split('\r\n');
      const cells = Object.fromEntries(header.split(',').map((name, i) => [name, line.split(',')[i]]));
      expect(cells).toMatchObject({ reference, merchantId: '', payeeLookupID: payee.lookupID });
      expect(rest).toEqual(['']);
    }
  });

  test('by the filters for either customer, and by none for a merchant', async () => {
    const { reference } = await asked();

    for (const bank of [payeeBank, payerBank]) {
      for (const found of [
        `customerId=${payee.customerId}`,
        `customerId=${payer.customerId}`,
        'type=charge',
      ]) {
        expect((await transactions(bank, `?${found}`)).transactions).toEqual([
          expect.objectContaining({ reference }),
        ]);
      }
      expect(await transactions(bank, `?merchantId=${bank.entityId}`)).toMatchObject({ total: 0 });
    }
  });

  test('with the payer’s bank’s id of the debit, and without that of what it took back', async () => {
    const { billingRequestId } = await asked();
    await answer(billingRequestId, { bankTransactionId: 'debit-1' });
    await answer(billingRequestId, { declineReason: 'insufficient_funds' });
    const doubted = await payerBank.send('GET', '/v1/reconciliation/exceptions');
    const [exception] = (doubted.body.data?.['exceptions'] ?? []) as { exceptionId: string }[];
    const path = `/v1/reconciliation/exceptions/${exception?.exceptionId}/respond`;
    const resolution = { resolution: 'reversed', bankTransactionId: 'taken-back-1' };
    expect((await payerBank.send('POST', path, resolution)).status).toBe(200);
    const { transactions: found } = await transactions(payeeBank, '?type=reversal');
    const day = calendarDay(new Date(String(found[0]?.['settledAt'])), 'Africa/Lagos');

    for (const [bank, knows] of [
      [payerBank, true],
      [payeeBank, false],
    ] as const) {
      const named = await transactions(bank, '?bankTransactionId=taken-back-1');
      expect(named.total).toBe(knows ? 1 : 0);
      expect(await transactions(bank, '?bankTransactionId=debit-1')).toMatchObject({ total: 1 });
      for (const read of [
        '/v1/transaction-history',
        '/v1/transaction-history?format=csv',
        `/v1/transaction-details?reference=${String(found[0]?.['reference'])}`,
        `/v1/statements/${day}.csv`,
      ]) {
        const shown = await fetch(api.url + read, { headers: { authorization: `Bearer ${bank.token}` } });
        const text = await shown.text();
        expect({ read, text, knows: text.includes('taken-back-1') }).toEqual({ read, text, knows });
        if (!read.includes('details')) expect(text).toContain('debit-1');
      }
    }
  });

  test('by nobody else, and answered by the payer’s bank alone', async () => {
    const { billingRequestId, reference } = await asked();
    const [stranger, merchant] = await Promise.all([enter(api, 'bank'), enter(api, 'merchant')]);

    for (const party of [stranger, merchant]) {
      expect((await party.send('GET', `/v1/billing/requests/${billingRequestId}`)).status).toBe(404);
      expect((await party.send('GET', `/v1/transaction-details?reference=${reference}`)).status).toBe(404);
      expect(await transactions(party)).toMatchObject({ total: 0 });
      expect(await told(party)).toEqual([]);
    }
    for (const bank of [stranger, payeeBank]) {
      expect((await answer(billingRequestId, { bankTransactionId: 'mine' }, bank)).status).toBe(404);
    }
    expect((await answer(billingRequestId, { bankTransactionId: 'debit-1' })).status).toBe(200);
    const refund = await merchant.send('POST', '/v1/refunds/initiate', { reference });
    expect(refund.status).toBe(404);
  });
});

test('the database keeps a charge from being a merchant’s and a payee’s at once', async () => {
  const { billingRequestId } = await asked();
  const { entityId } = await enter(api, 'merchant');

  await expect(
    rows(
      api.deps.db,
      `INSERT INTO billing_requests (id, transaction_id, reference, batch_id, merchant_id, customer_id, bank_id, lookup_id,
         amount, currency, description, approval_required, expires_at, workflow_id, created_at, payee_customer_id,
         payee_bank_id, payee_lookup_id)
       SELECT 'brq_2', 'txn_2', 'R2', batch_id, :entityId, customer_id, bank_id, lookup_id, amount, currency, description,
         approval_required, expires_at, workflow_id, created_at, payee_customer_id, payee_bank_id, payee_lookup_id
       FROM billing_requests WHERE id = :billingRequestId`,
      { billingRequestId, entityId },
    ),
  ).rejects.toMatchObject({ constraint: 'billing_requests_merchant_or_payee' });
});

/** Nothing is sent: what the payee's bank is told, it may read. */
const settle = (billingRequestId: string) =>
  createBillingRequestActivities(database.db, api.deps.ring, 'Africa/Lagos', nobodyWaits).awaitCredit([
    billingRequestId,
  ]);
const nobodyWaits = { waitForAnswers: () => Promise.resolve(), stop: () => undefined };

async function debited() {
  const { billingRequestId, reference } = await asked();
  await answer(billingRequestId, { bankTransactionId: randomUUID() });
  return { billingRequestId, reference };
}

async function seenBy(
  party: Party,
  { billingRequestId, reference }: { billingRequestId: string; reference: string },
) {
  const request = await party.send('GET', `/v1/billing/requests/${billingRequestId}`);
  const transaction = await party.send('GET', `/v1/transaction-details?reference=${reference}`);
  const { credit, events } = transaction.body.data as {
    credit: object;
    events: { type: string; kind?: string }[];
  };
  expect(request.body.data?.['credit']).toEqual(credit);
  return {
    credit,
    exceptions: events.filter(({ kind }) => kind === 'credit_undelivered').map(({ type }) => type),
  };
}

async function deliveryOf({ billingRequestId }: { billingRequestId: string }): Promise<string> {
  const [delivery] = await rows<{ id: string }>(
    database.db,
    `SELECT credit_delivery_id AS id FROM billing_requests WHERE id = :billingRequestId`,
    { billingRequestId },
  );
  return delivery?.id ?? '';
}

/**
 * An attempt that the payee's bank has taken is written down, and whoever made it has done no more.
 */
const taken = (deliveryId: string) =>
  recordAttempt(
    database.db,
    api.deps.ring,
    {
      deliveryId,
      n: 1,
      begun: false,
      nextAttemptAt: null,
      reached: 'yes',
      durationMs: 1,
      httpStatus: 200,
      error: null,
      responseHead: null,
    },
    { maxAttempts: 12, retryInMs: 5_000 },
  );

/** A run of `reconcile`, on a Temporal that it has nothing to ask of. */
const reconcile = (): Promise<Reconciled> => {
  const activities = createReconcileActivities(
    database.db,
    new Client({ connection: Connection.lazy({ address: '127.0.0.1:1' }) }),
    300,
    { info: () => undefined, warn: () => undefined },
    () => undefined,
  );
  return new MockActivityEnvironment().run(() => activities.restartOverdue());
};

describe('the credit of a payment', () => {
  test('that the payee’s bank was never told of is overdue after a day, as both banks see', async () => {
    const payment = await debited();
    const before = await settle(payment.billingRequestId);
    expect(before.overdue?.inMs).toBeGreaterThan(86_000_000);
    await moveClock(database.db, payeeBank.entityId, '23 hours');
    await settle(payment.billingRequestId);
    expect(await seenBy(payerBank, payment)).toMatchObject({ credit: { overdue: false }, exceptions: [] });

    await moveClock(database.db, payeeBank.entityId, '25 hours');
    expect(await settle(payment.billingRequestId)).toEqual({ waiting: [], overdue: null });
    await settle(payment.billingRequestId);
    for (const bank of [payeeBank, payerBank]) {
      expect(await seenBy(bank, payment)).toMatchObject({
        credit: { status: 'undelivered', overdue: true },
        exceptions: ['exception.opened'],
      });
    }
  });

  test('that its bank reads of late is delivered, and its exception resolved', async () => {
    const payment = await debited();
    await moveClock(database.db, payeeBank.entityId, '25 hours');
    await settle(payment.billingRequestId);
    expect(await typesTold(payeeBank)).toEqual(['billing.credit']);
    for (const bank of [payeeBank, payerBank]) {
      expect(await seenBy(bank, payment)).toMatchObject({
        credit: { status: 'delivered', overdue: false },
        exceptions: ['exception.opened', 'exception.resolved'],
      });
    }
  });

  test('that its bank has credited all the same, as an operator has found out, is in transit no more', async () => {
    const { db } = database;
    const payment = await debited();
    const { billingRequestId } = payment;
    await moveClock(db, payeeBank.entityId, '25 hours');
    await settle(billingRequestId);
    const [doubted] = await rows<{ id: string }>(
      db,
      `SELECT id FROM reconciliation_exceptions WHERE billing_request_id = :billingRequestId`,
      { billingRequestId },
    );
    const by = { cause: 'operator', note: null } as const;
    const finding = { resolution: 'no_difference', bankTransactionId: null } as const;
    await db.transaction((trx) =>
      resolveException(trx, api.deps.ring, 'Africa/Lagos', by, doubted?.id ?? '', finding),
    );
    expect((await postingsOf(db, billingRequestId)).slice(2)).toEqual([
      `credit: -1250 NGN in_transit of ${payeeBank.entityId}`,
      `credit: +1250 NGN payee_bank of ${payeeBank.entityId}`,
    ]);
    expect(await seenBy(payerBank, payment)).toMatchObject({ credit: { status: 'delivered' } });
  });

  test('that its bank is sent again by hand, and takes, is delivered', async () => {
    const payment = await debited();
    await moveClock(database.db, payeeBank.entityId, '25 hours');
    await settle(payment.billingRequestId);
    const deliveryId = await deliveryOf(payment);
    await payeeBank.send('PUT', '/v1/webhooks/endpoint', { url: 'http://127.0.0.1:9/hook' });
    await payeeBank.send('POST', `/v1/webhooks/deliveries/${deliveryId}/redeliver`);
    expect(await seenBy(payerBank, payment)).toMatchObject({ credit: { status: 'pending', overdue: true } });
    await taken(deliveryId);
    await database.db.transaction((trx) =>
      settleCredits(trx, api.deps.ring, 'Africa/Lagos', { deliveryIds: [deliveryId] }),
    );
    expect(await seenBy(payerBank, payment)).toMatchObject({
      credit: { status: 'delivered', overdue: false },
      exceptions: ['exception.opened', 'exception.resolved'],
    });
  });

  test('that a first attempt delivers after a day without workers is delivered, and its exception resolved', async () => {
    await setWebhookUrl(database.db, payeeBank.entityId, 'http://bank.test/');
    const payment = await debited();
    await moveClock(database.db, payeeBank.entityId, '25 hours');
    await settle(payment.billingRequestId);
    expect(await seenBy(payerBank, payment)).toMatchObject({
      credit: { status: 'pending', overdue: true },
      exceptions: ['exception.opened'],
    });

    const accepted = {
      durationMs: 1,
      reached: 'yes',
      httpStatus: 200,
      error: null,
      responseHead: null,
    } as const;
    const webhooks = createWebhookActivities({
      db: database.db,
      keyring: api.deps.ring,
      config: { NETWORK_TIMEZONE: 'Africa/Lagos', WEBHOOK_RETRY_S: [5], WEBHOOK_TIMEOUT_S: 10 },
      connector: { send: () => Promise.resolve(accepted), close: () => Promise.resolve() },
      relay: { kick: () => undefined },
      log: { info: () => undefined, warn: () => undefined },
      measure: () => undefined,
    });
    const [delivery] = await rows<{ workflowId: string }>(
      database.db,
      `SELECT d.workflow_id AS "workflowId" FROM webhook_deliveries d JOIN billing_requests b ON b.credit_delivery_id = d.id
       WHERE b.id = :billingRequestId`,
      payment,
    );
    expect(await webhooks.deliverFirstAttempts(delivery?.workflowId ?? '')).toMatchObject({ delivered: 1 });
    expect(await seenBy(payerBank, payment)).toMatchObject({
      credit: { status: 'delivered', overdue: false },
      exceptions: ['exception.opened', 'exception.resolved'],
    });
  });

  test('that was delivered by a worker which died right then is settled by its workflow, which reconcile starts', async () => {
    const [overdue, waiting] = [await debited(), await debited()];
    await taken(await deliveryOf(waiting));
    await moveClock(database.db, payeeBank.entityId, '25 hours');
    await settle(overdue.billingRequestId);
    await taken(await deliveryOf(overdue));
    expect(await seenBy(payerBank, overdue)).toMatchObject({ exceptions: ['exception.opened'] });

    await rows(database.db, 'DELETE FROM outbox');
    expect((await reconcile()).found['credits']).toBeGreaterThanOrEqual(2);
    expect((await postingsOf(database.db, overdue.billingRequestId)).slice(2)).toEqual([]);
    const restarted = await rows<{ workflowId: string }>(
      database.db,
      `SELECT workflow_id AS "workflowId" FROM outbox WHERE kind = 'start'`,
    );
    for (const { billingRequestId } of [overdue, waiting]) {
      expect(restarted).toContainEqual({ workflowId: `billing-request/${billingRequestId}` });
      expect(await settle(billingRequestId)).toEqual({ waiting: [], overdue: null });
    }
    expect(await seenBy(payerBank, overdue)).toMatchObject({
      credit: { status: 'delivered', overdue: false },
      exceptions: ['exception.opened', 'exception.resolved'],
    });
    expect(await seenBy(payerBank, waiting)).toMatchObject({
      credit: { status: 'delivered', overdue: false },
      exceptions: [],
    });
  });

  test('that is delivered while somebody judges whether it is overdue is no exception', async () => {
    const payment = await debited();
    const deliveryId = await deliveryOf(payment);
    await moveClock(database.db, payeeBank.entityId, '25 hours');
    const other = await openTransaction(database.db);
    await rows(
      other.trx,
      `SELECT FROM billing_requests WHERE id = :billingRequestId FOR NO KEY UPDATE`,
      payment,
    );
    const judged = settle(payment.billingRequestId);
    await eventually(async () => (await rows(database.db, BLOCKED)).length > 0);
    await taken(deliveryId);
    await other.commit();
    await judged;
    await database.db.transaction((trx) =>
      settleCredits(trx, api.deps.ring, 'Africa/Lagos', { deliveryIds: [deliveryId] }),
    );
    expect(await seenBy(payerBank, payment)).toMatchObject({
      credit: { status: 'delivered', overdue: false },
      exceptions: [],
    });
  });

  test('that has lost its workflow before the day is over has it started again by reconcile', async () => {
    const payment = await debited();
    const { billingRequestId } = payment;
    const workflow = `billing-request/${billingRequestId}`;
    const starts = () =>
      rows<{ start: object }>(
        database.db,
        `SELECT start FROM outbox WHERE kind = 'start' AND workflow_id = :workflow AND start->>'again' = 'foundOverdue'`,
        { workflow },
      );
    // The start of its first run is in the outbox still, for no relay runs here.
    await rows(database.db, `DELETE FROM outbox WHERE workflow_id = :workflow`, { workflow });
    const open = await openWork(database.db, 'credits', '', 1_000);
    expect(open.filter(({ workflowId }) => workflowId === workflow)).toMatchObject([
      { kind: 'credits', status: 'successful', bankId: payerBank.entityId },
    ]);

    await moveClock(database.db, payeeBank.entityId, '25 hours');
    expect((await reconcile()).found['credits']).toBeGreaterThanOrEqual(1);
    expect(await starts()).toMatchObject([{ start: { type: 'billingRequest', args: [[billingRequestId]] } }]);
    await settle(billingRequestId);
    expect(await openWork(database.db, 'credits', '', 1_000)).not.toContainEqual(
      expect.objectContaining({ workflowId: workflow }),
    );
  });

  test('is waited for no longer once it has been read', async () => {
    const payment = await debited();
    expect(await settle(payment.billingRequestId)).toMatchObject({ waiting: [payment.billingRequestId] });
    await typesTold(payeeBank);
    expect(await settle(payment.billingRequestId)).toEqual({ waiting: [], overdue: null });
    expect(await seenBy(payeeBank, payment)).toMatchObject({ credit: { status: 'delivered' } });
  });

  test('stays as it was when its webhook is forgotten: delivered where it was read, overdue where not', async () => {
    const read = await debited();
    await typesTold(payeeBank);
    const unread = await debited();
    await forgetDeliveries(database.db, readKeyring(makeKeyring()), 0);
    expect(
      await rows(
        database.db,
        `SELECT 1 FROM webhook_deliveries d JOIN billing_requests b ON b.credit_delivery_id = d.id
         WHERE b.id IN (:read, :unread)`,
        { read: read.billingRequestId, unread: unread.billingRequestId },
      ),
    ).toEqual([]);

    await moveClock(database.db, payeeBank.entityId, '25 hours');
    for (const payment of [read, unread]) await settle(payment.billingRequestId);
    expect(await seenBy(payerBank, read)).toMatchObject({
      credit: { status: 'delivered', overdue: false },
      exceptions: [],
    });
    expect(await seenBy(payerBank, unread)).toMatchObject({
      credit: { status: 'undelivered', overdue: true },
      exceptions: ['exception.opened'],
    });
  });

  test('is nothing that a declined payment has', async () => {
    const { billingRequestId } = await asked();
    await answer(billingRequestId, { declineReason: 'insufficient_funds' });
    const { body } = await payerBank.send('GET', `/v1/billing/requests/${billingRequestId}`);
    expect(body.data).not.toHaveProperty('credit');
  });
});
