import { acceptCharges } from '../../src/database/billing-request/accept-billing-requests';
import {
  answerBillingRequest,
  closeExpiredRequests,
} from '../../src/database/billing-request/settle-billing-request';
import { billingRules, readConfig } from '../../src/settings/config';
import { row, type Database, type Transaction } from '../../src/database/pool/connection';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { FEED_START, readFeed, type FeedEvent } from '../../src/database/webhook/read-event-feed';
import {
  beginAttempt,
  claimUnattempted,
  deliveryToAttempt,
  openDelivery,
  recordAttempt,
  type Attempt,
} from '../../src/database/webhook/attempt-delivery';
import { announce } from '../../src/database/webhook/announce-webhooks';
import { readDelivery, redeliver } from '../../src/database/webhook/list-deliveries';
import { setWebhookUrl } from '../../src/database/webhook/change-endpoint';
import { serviceSignature } from '../../src/domain/webhook/webhook-signature';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { eventually } from '../support/engine';
import { openTransaction } from '../support/open-transaction';
import { lookupIdOf, moveClock, standingApproval, type Standing } from '../support/standing';

const keyring = readKeyring(makeKeyring());
const rules = billingRules(readConfig({}));

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
});
afterAll(() => database.drop());

/** A one-time bill by lookup ID; returns the id of the request. */
async function billOnce(trx: Transaction, { customerId, merchantId }: Standing, currency: string) {
  const lookupId = await lookupIdOf(trx, customerId);
  const { items } = await acceptCharges(
    trx,
    keyring,
    rules,
    merchantId,
    [{ phrase: lookupId, lookupId }],
    { amount: 100n, currency, description: 'One time' },
    (_, [first]) => `billing-request/${first}`,
  );
  const [item] = items;
  if (!item || !('accepted' in item)) throw new Error('the bill was refused');
  return item.accepted.billingRequestId;
}

/**
 * One bill by lookup ID and by paymentID, of which one webhook tells the bank: 15 minutes for the
 * first, a day for the other.
 */
async function billBoth(trx: Transaction, { agreementId, customerId, merchantId }: Standing) {
  const lookupId = await lookupIdOf(trx, customerId);
  const { items } = await acceptCharges(
    trx,
    keyring,
    rules,
    merchantId,
    [
      { phrase: lookupId, lookupId },
      { phrase: 'paymentID', agreementId },
    ],
    { amount: 100n, currency: 'NGN', description: 'Both' },
    (_, [first]) => `billing-request/${first}`,
  );
  const [id = '', other = ''] = items.map((item) =>
    'accepted' in item ? item.accepted.billingRequestId : '',
  );
  return { id, other };
}

/** A one-time bill by lookup ID, which the bank answers with a standing approval. */
async function grantByOneTimeBill(standing: Standing, currency: string): Promise<void> {
  await db.transaction(async (trx) => {
    const billingRequestId = await billOnce(trx, standing, currency);
    const answer = {
      outcome: 'approved',
      bankTransactionId: billingRequestId,
      action: 'approve_recurring',
    } as const;
    await answerBillingRequest(trx, keyring, 'Africa/Lagos', standing.bankId, billingRequestId, answer, {});
  });
}

function limits({ agreementId }: Standing) {
  return row(
    db,
    `SELECT decision, currency, daily_limit::bigint AS daily, monthly_limit::bigint AS monthly FROM agreements
     WHERE id = :agreementId`,
    { agreementId },
  );
}

describe('a standing approval given with a one-time payment', () => {
  const agreed = { dailyLimit: 500n, monthlyLimit: 900n };

  it('leaves the spending limits that the customer has set in this currency', async () => {
    const standing = await standingApproval(db, keyring, agreed);
    await grantByOneTimeBill(standing, 'NGN');
    expect(await limits(standing)).toEqual({
      decision: 'approve_recurring',
      currency: 'NGN',
      daily: 500n,
      monthly: 900n,
    });
  });

  it('leaves limits and currency alone also where the payment was in another currency', async () => {
    const standing = await standingApproval(db, keyring, agreed);
    await grantByOneTimeBill(standing, 'JPY');
    expect(await limits(standing)).toEqual({
      decision: 'approve_recurring',
      currency: 'NGN',
      daily: 500n,
      monthly: 900n,
    });
  });
});

const asked = (billingRequestId: string) =>
  row<{ status: string; attempts: number }>(
    db,
    `SELECT d.status, d.attempts FROM webhook_deliveries d JOIN billing_requests b ON b.bank_delivery_id = d.id
     WHERE b.id = :billingRequestId`,
    { billingRequestId },
  );

describe('a charge whose window passes before the bank was reached', () => {
  it('is not asked for any more, so that the bank does not debit for nothing', async () => {
    const standing = await standingApproval(db, keyring, {});
    await setWebhookUrl(db, standing.bankId, 'http://bank.test/');
    const id = await db.transaction((trx) => billOnce(trx, standing, 'NGN'));
    expect(await asked(id)).toEqual({ status: 'pending', attempts: 0 });
    await moveClock(db, standing.merchantId, '16 minutes');
    await db.transaction((trx) => closeExpiredRequests(trx, keyring, [id]));
    expect(await asked(id)).toEqual({ status: 'failed', attempts: 0 });
  });
});

const LEASE_MS = 60_000;
const RETRY = { maxAttempts: 12, retryInMs: 5_000 };
const silence = {
  httpStatus: null,
  error: 'no answer within 2000 ms',
  responseHead: null,
  durationMs: 2_000,
};

async function openCharge({ url }: { url: string | null } = { url: 'http://bank.test/' }) {
  const standing = await standingApproval(db, keyring, {});
  await setWebhookUrl(db, standing.bankId, url);
  const id = await db.transaction((trx) => billOnce(trx, standing, 'NGN'));
  return { ...standing, ...(await questionOf(id)), id };
}

async function questionOf(id: string) {
  const question = await row<{ deliveryId: string; workflowId: string }>(
    db,
    `SELECT d.id AS "deliveryId", d.workflow_id AS "workflowId" FROM webhook_deliveries d JOIN billing_requests b ON b.bank_delivery_id = d.id
     WHERE b.id = :id`,
    { id },
  );
  if (!question) throw new Error('the bank was not asked');
  return question;
}
type Open = Awaited<ReturnType<typeof openCharge>>;

async function end({ id, merchantId }: Open) {
  await moveClock(db, merchantId, '16 minutes');
  await db.transaction((trx) => closeExpiredRequests(trx, keyring, [id]));
  return row<{ reason: string; exceptions: string[] }>(
    db,
    `SELECT decline_reason AS reason,
       ARRAY(SELECT kind FROM reconciliation_exceptions WHERE billing_request_id = b.id ORDER BY kind) AS exceptions
     FROM billing_requests b WHERE id = :id`,
    { id },
  );
}
const MAY_BILL_AGAIN = { reason: 'not_delivered', exceptions: [] };
const MAY_HAVE_DEBITED = { reason: 'expired', exceptions: ['unanswered'] };

/** The first attempt, as a workflow makes it. */
const claim = ({ workflowId }: Open) => claimUnattempted(db, workflowId, LEASE_MS);
const record = ({ deliveryId }: Open, n: number, outcome: Partial<Attempt>) =>
  recordAttempt(
    db,
    keyring,
    { deliveryId, n, begun: true, nextAttemptAt: null, reached: 'maybe', ...silence, ...outcome },
    RETRY,
  );
async function begin({ deliveryId }: Open, n: number): Promise<boolean> {
  const read = await deliveryToAttempt(db, deliveryId);
  if (!read) throw new Error(`there is no ${deliveryId}`);
  return beginAttempt(db, { ...read, attempts: n - 1 }, LEASE_MS);
}

const askAgain = ({ bankId, deliveryId }: Open) =>
  db.transaction((trx) => redeliver(trx, bankId, deliveryId));

/** What a bank finds in its feed, once all that was written before has become visible there. */
async function feedOf(bankId: string): Promise<{ type: string; id: string; sequence: number }[]> {
  const [last] = await db.transaction((trx) =>
    announce(trx, keyring, [{ entityId: bankId, webhookType: 'webhook.test', items: [{ sequence: 1 }] }]),
  );
  let events: FeedEvent[] = [];
  await eventually(async () => {
    events = await readFeed(db, keyring, bankId, FEED_START, 100);
    const shown = await row<{ eventId: string }>(
      db,
      `SELECT event_id AS "eventId" FROM webhook_deliveries WHERE id = :last`,
      { last },
    );
    return events.at(-1)?.eventId === shown?.eventId;
  });
  return events
    .filter(({ webhookType }) => webhookType.startsWith('billing.'))
    .flatMap(({ webhookType, data }) =>
      (data as { billingRequestId?: string; intentId?: string; sequence: number }[]).map((item) => ({
        type: webhookType,
        id: item.billingRequestId ?? item.intentId ?? '',
        sequence: item.sequence,
      })),
    );
}

describe('a charge whose window passed in silence', () => {
  it('may be billed again where its bank has no URL', async () => {
    expect(await end(await openCharge({ url: null }))).toEqual(MAY_BILL_AGAIN);
  });

  it('may be billed again where no attempt was ever made', async () => {
    expect(await end(await openCharge())).toEqual(MAY_BILL_AGAIN);
  });

  it('may be billed again where no attempt had a connection', async () => {
    const open = await openCharge();
    await claim(open);
    await record(open, 1, { reached: 'no', error: 'connection refused' });
    await record(open, 2, { reached: 'no', begun: false, error: 'host name not found' });
    await begin(open, 3);
    await record(open, 3, { reached: 'no', error: 'no answer within 10000 ms' });
    expect(await end(open)).toEqual(MAY_BILL_AGAIN);
  });

  it.each([
    ['200, though a later redelivery failed', { httpStatus: 200, error: null, reached: 'yes' }],
    ['500', { httpStatus: 500, error: 'HTTP 500', reached: 'yes' }],
    ['410', { httpStatus: 410, error: 'HTTP 410', reached: 'yes' }],
    ['nothing, after the body was sent', { reached: 'maybe' }],
  ] as const)('is an exception where its bank said %s', async (_, outcome) => {
    const open = await openCharge();
    await claim(open);
    await record(open, 1, outcome);
    await db.transaction((trx) => redeliver(trx, open.bankId, open.deliveryId));
    await record(open, 2, { reached: 'no', begun: false, error: 'connection refused' });
    expect(await end(open)).toEqual(MAY_HAVE_DEBITED);
  });

  it('is an exception where a worker died in its first attempt', async () => {
    const open = await openCharge();
    await claim(open);
    expect(await end(open)).toEqual(MAY_HAVE_DEBITED);
  });

  it('is an exception where a worker died in a later attempt', async () => {
    const open = await openCharge();
    await claim(open);
    await record(open, 1, { reached: 'no', error: 'connection refused' });
    expect(await begin(open, 2)).toBe(true);
    expect(await end(open)).toEqual(MAY_HAVE_DEBITED);
  });

  it('is an exception where its bank has read the events feed', async () => {
    const open = await openCharge({ url: null });
    await eventually(async () => (await readFeed(db, keyring, open.bankId, FEED_START, 100)).length > 0);
    expect(await end(open)).toEqual(MAY_HAVE_DEBITED);
  });

  it('may be billed again where its bank has read the feed only as far as before it', async () => {
    const standing = await standingApproval(db, keyring, {});
    await db.transaction((trx) => billOnce(trx, standing, 'NGN'));
    await eventually(async () => (await readFeed(db, keyring, standing.bankId, FEED_START, 100)).length > 0);
    const id = await db.transaction((trx) => billOnce(trx, standing, 'NGN'));
    expect(await end({ ...standing, id, deliveryId: '', workflowId: '' })).toEqual(MAY_BILL_AGAIN);
  });

  it('may be billed again also where the same webhook has still to ask for another: it asks for that one alone', async () => {
    const standing = await standingApproval(db, keyring, {});
    await setWebhookUrl(db, standing.bankId, 'http://bank.test/');
    const { id, other } = await db.transaction((trx) => billBoth(trx, standing));
    const { deliveryId, workflowId } = await questionOf(id);
    const open = { ...standing, id, deliveryId, workflowId };
    expect(await end(open)).toEqual(MAY_BILL_AGAIN);
    expect(await asked(other)).toEqual({ status: 'pending', attempts: 0 });
    const [sent] = await claim(open);
    if (!sent) throw new Error('there is nothing to send');
    const { body } = openDelivery(keyring, sent);
    expect(JSON.parse(body)).toMatchObject({
      data: [{ billingRequestId: other, sequence: 1 }],
      itemCount: 1,
      timestamp: expect.any(String) as string,
    });
    const { signature, ...signed } = JSON.parse(body) as { signature: string };
    expect(signature).toBe(serviceSignature(standing.credentials.bank.webhookSecret, JSON.stringify(signed)));
    expect(await feedOf(standing.bankId)).toEqual([
      { type: 'billing.request', id: other, sequence: 1 },
      { type: 'billing.closed', id, sequence: 1 },
    ]);
  });

  it('leaves no gap where its webhook loses one charge after the other, and is then not sent at all', async () => {
    const standing = await standingApproval(db, keyring, {});
    await setWebhookUrl(db, standing.bankId, 'http://bank.test/');
    const { id, other } = await db.transaction((trx) => billBoth(trx, standing));
    const open = { ...standing, ...(await questionOf(id)), id };
    expect(await end(open)).toEqual(MAY_BILL_AGAIN);
    await moveClock(db, standing.merchantId, '24 hours');
    expect(await end({ ...open, id: other })).toEqual(MAY_BILL_AGAIN);
    expect((await claim(open)).map(({ webhookType }) => webhookType)).toEqual([
      'billing.closed',
      'billing.closed',
    ]);
    expect(await feedOf(standing.bankId)).toEqual([
      { type: 'billing.closed', id, sequence: 1 },
      { type: 'billing.closed', id: other, sequence: 1 },
    ]);
  });

  it('is an exception where its bank answers late, however it came to know of it', async () => {
    const open = await openCharge({ url: null });
    await moveClock(db, open.merchantId, '16 minutes');
    const answer = { outcome: 'approved', bankTransactionId: 'late-debit', action: null } as const;
    const late = await db.transaction((trx) =>
      answerBillingRequest(trx, keyring, 'Africa/Lagos', open.bankId, open.id, answer, {}),
    );
    expect(late).toMatchObject({ status: 'declined', agreed: false });
    expect(await end(open)).toEqual({ reason: 'expired', exceptions: ['unanswered'] });
  });

  it('may be billed again where all that the webhook asks for is over at once', async () => {
    const standing = await standingApproval(db, keyring, {});
    await setWebhookUrl(db, standing.bankId, 'http://bank.test/');
    const { id, other } = await db.transaction((trx) => billBoth(trx, standing));
    await moveClock(db, standing.merchantId, '25 hours');
    await db.transaction((trx) => closeExpiredRequests(trx, keyring, [id, other]));
    for (const one of [id, other]) {
      expect(await end({ ...standing, id: one, deliveryId: '', workflowId: '' })).toEqual(MAY_BILL_AGAIN);
    }
  });

  it('is an exception where its bank has answered with the id of another transaction', async () => {
    const open = await openCharge();
    const bankTransactionId = 'debit-of-another';
    const approve = (id: string) =>
      db.transaction((trx) =>
        answerBillingRequest(
          trx,
          keyring,
          'Africa/Lagos',
          open.bankId,
          id,
          { outcome: 'approved', bankTransactionId, action: null },
          {},
        ),
      );
    await approve(await db.transaction((trx) => billOnce(trx, open, 'NGN')));
    expect(await approve(open.id)).toMatchObject({ status: 'pending', duplicate: true });
    expect(await end(open)).toEqual({
      reason: 'expired',
      exceptions: ['duplicate_transaction_id'],
    });
  });

  it('is sent to its bank by nobody after that', async () => {
    const open = await openCharge();
    await end(open);
    expect((await claim(open)).map(({ id }) => id)).not.toContain(open.deliveryId);
    expect(await begin(open, 1)).toBe(false);
  });

  it.each([{ url: 'http://bank.test/' }, { url: null }])(
    'is found by its bank no more, so that what is billed again is debited once: %p',
    async ({ url }) => {
      const open = await openCharge({ url });
      expect(await end(open)).toEqual(MAY_BILL_AGAIN);
      expect(await feedOf(open.bankId)).toEqual([{ type: 'billing.closed', id: open.id, sequence: 1 }]);
      await expect(askAgain(open)).rejects.toMatchObject({
        code: 'delivery_withdrawn',
        message: expect.stringContaining('ended before it was sent') as string,
      });
      expect(await readDelivery(db, open.bankId, open.deliveryId)).toMatchObject({
        status: 'failed',
        withdrawnAt: expect.any(Date) as Date,
      });
    },
  );

  it('keeps its number 1 where its bank may have been asked', async () => {
    const open = await openCharge();
    await claim(open);
    await record(open, 1, { reached: 'maybe' });
    expect(await end(open)).toEqual(MAY_HAVE_DEBITED);
    expect(await feedOf(open.bankId)).toEqual([
      { type: 'billing.request', id: open.id, sequence: 1 },
      { type: 'billing.closed', id: open.id, sequence: 2 },
    ]);
  });

  it('is given by the feed, or not delivered, never both, however close they come', async () => {
    const open = await openCharge({ url: null });
    await moveClock(db, open.merchantId, '16 minutes');
    const closing = await openTransaction(db);
    await closeExpiredRequests(closing.trx, keyring, [open.id]);
    const reading = readFeed(db, keyring, open.bankId, FEED_START, 100);
    await eventually(async () => (await lockWaits()) > 0);
    await closing.commit();
    expect((await reading).map(({ webhookType }) => webhookType)).not.toContain('billing.request');
    expect(await end(open)).toEqual(MAY_BILL_AGAIN);
  });

  it('is left out of what a worker takes in hand at the same moment for another charge', async () => {
    const standing = await standingApproval(db, keyring, {});
    await setWebhookUrl(db, standing.bankId, 'http://bank.test/');
    const { id, other } = await db.transaction((trx) => billBoth(trx, standing));
    const open = { ...standing, ...(await questionOf(id)), id };
    await moveClock(db, standing.merchantId, '16 minutes');
    const closing = await openTransaction(db);
    await closeExpiredRequests(closing.trx, keyring, [id]);
    const claiming = claim(open);
    await eventually(async () => (await lockWaits()) > 0);
    await closing.commit();
    const [sent] = await claiming;
    if (!sent) throw new Error('there is nothing to send');
    expect(JSON.parse(openDelivery(keyring, sent).body)).toMatchObject({
      data: [{ billingRequestId: other }],
    });
    expect(await end(open)).toEqual(MAY_BILL_AGAIN);
  });
});

/** Statements that wait for a lock of another transaction. */
async function lockWaits(): Promise<number> {
  const waits = await row<{ count: number }>(
    db,
    `SELECT count(*)::int AS count FROM pg_locks
     WHERE NOT granted AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())`,
  );
  return waits?.count ?? 0;
}
