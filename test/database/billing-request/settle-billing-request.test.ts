import { answerBillingRequest } from '../../../src/database/billing-request/settle-billing-request';
import { changeStatus } from '../../../src/database/entity-control/control-entity';
import { FEED_START, readFeed } from '../../../src/database/webhook/read-event-feed';
import {
  beginDeliveryAttempt,
  claimUnattempted,
  deliveryToAttempt,
  openDelivery,
  type Attempt,
} from '../../../src/database/webhook/attempt-delivery';
import { readDelivery, redeliver } from '../../../src/database/webhook/list-deliveries';
import { serviceSignature } from '../../../src/domain/webhook/webhook-signature';
import { WEBHOOK_TYPES } from '../../../src/domain/webhook/webhook';
import { databaseOfFile } from '../../support/database';
import { eventually } from '../../support/engine';
import { OPERATOR } from '../../support/operator';
import { openTransaction, waitsForALock } from '../../support/open-transaction';
import { announcedInFeed } from '../../support/whole-feed';
import { answerBill, billBy } from '../../support/settled';
import { moveClock, standingApproval, type Standing } from '../../support/standing';
import { recordOutcome } from '../../support/record-outcome';
import { setWebhookUrl } from '../../support/recorded-change';
import { engineFacts } from '../../support/keyring';
import { closeExpiredRequests } from '../../../src/database/billing-request/close-expired-requests';

const { keyring } = engineFacts;

const { db } = databaseOfFile();

/**
 * Bills by lookup ID, which gives the bank 15 minutes, and with `isBoth` by paymentID as well,
 * which gives it a day. One webhook tells the bank of both.
 *
 * @returns the ids of the charges
 */
async function bill(standing: Standing, currency = 'NGN', isBoth = false) {
  const by = isBoth ? (['lookupID', 'agreement'] as const) : (['lookupID'] as const);
  const [first, other] = await billBy(db, standing, [...by], { currency });
  return { id: first?.id ?? '', other: other?.id ?? '' };
}

it.each(['NGN', 'JPY'])(
  'a standing approval given with a one-time payment in %s leaves the limits that the customer has set',
  async (currency) => {
    const standing = await standingApproval(db, { limits: { daily: 500n, monthly: 900n } });
    const { id } = await bill(standing, currency);
    const answer = { outcome: 'approved', bankTransactionId: id, action: 'approve_recurring' } as const;
    await db.transaction((trx) => answerBillingRequest(trx, standing.bankId, id, answer));
    const agreed = await db.row`
      SELECT decision, currency, (limits).daily::bigint AS daily, (limits).monthly::bigint AS monthly
      FROM agreements
      WHERE id = ${standing.agreementId}`;
    expect(agreed).toEqual({ decision: 'approve_recurring', currency: 'NGN', daily: 500n, monthly: 900n });
  },
);

const LEASE_MS = 60_000;
const silence = { httpStatus: null, error: 'no answer within 2000 ms', durationMs: 2_000 };

/** A charge, or two, that the bank is asked for at this URL. */
async function openCharge({
  url = 'http://bank.test/',
  isBoth = false,
}: { url?: string | null; isBoth?: boolean } = {}) {
  const standing = await standingApproval(db, {});
  await setWebhookUrl(db, standing.bankId, url);
  const billed = await bill(standing, 'NGN', isBoth);
  const question = await db.row<{ deliveryId: string; workflowId: string }>`
    SELECT d.id AS "deliveryId", d.workflow_id AS "workflowId"
    FROM webhook_deliveries d JOIN billing_requests b ON b.bank_delivery_id = d.id WHERE b.id = ${billed.id}`;
  if (!question) throw new Error('the bank was not asked');
  return { ...standing, ...question, ...billed };
}
type Open = Awaited<ReturnType<typeof openCharge>>;

async function end({ id, merchantId }: Open) {
  await moveClock(db, merchantId, '16 minutes');
  await db.transaction((trx) => closeExpiredRequests(trx, [id]));
  return db.row<{ reason: string; exceptions: string[] }>`
    SELECT decline_reason AS reason,
      ARRAY(SELECT kind FROM reconciliation_exceptions WHERE billing_request_id = b.id
      ORDER BY kind) AS exceptions
    FROM billing_requests b WHERE id = ${id}`;
}
const MAY_BILL_AGAIN = { reason: 'not_delivered', exceptions: [] };
const MAY_HAVE_DEBITED = { reason: 'expired', exceptions: ['unanswered'] };

/** The first attempt, as a workflow makes it. */
const claim = ({ workflowId }: Open) => claimUnattempted(db, workflowId, LEASE_MS, WEBHOOK_TYPES);
const record = ({ deliveryId }: Open, n: number, outcome: Partial<Attempt>) =>
  recordOutcome(db, deliveryId, n, { begun: true, reached: 'maybe', ...silence, ...outcome });
async function begin({ deliveryId }: Open, n: number): Promise<boolean> {
  const read = await deliveryToAttempt(db, deliveryId);
  if (!read) throw new Error(`there is no ${deliveryId}`);
  return beginDeliveryAttempt(db, { ...read, attempts: n - 1 }, LEASE_MS);
}

const askAgain = ({ bankId, deliveryId }: Open) =>
  db.transaction((trx) => redeliver(trx, bankId, deliveryId));

const feedOf = (bankId: string) => announcedInFeed(db, bankId);

describe('a charge whose window passed in silence', () => {
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

  it.each([
    ['its first attempt', claim],
    [
      'a later attempt',
      async (open: Open) => {
        await claim(open);
        await record(open, 1, { reached: 'no', error: 'connection refused' });
        expect(await begin(open, 2)).toBe(true);
      },
    ],
  ])('is an exception where a worker died in %s, and keeps its number in the feed', async (_, die) => {
    const open = await openCharge();
    await die(open);
    expect(await end(open)).toEqual(MAY_HAVE_DEBITED);
    expect(await feedOf(open.bankId)).toEqual([
      ['billing.request', open.id, 1],
      ['billing.closed', open.id, 2],
    ]);
  });

  it('is an exception where its bank has read the events feed', async () => {
    const open = await openCharge({ url: null });
    await eventually(async () => (await readFeed(db, open.bankId, FEED_START, 100)).length > 0);
    expect(await end(open)).toEqual(MAY_HAVE_DEBITED);
  });

  it('may be billed again where its bank has read the feed only as far as before it', async () => {
    const open = await openCharge({ url: null });
    await eventually(async () => (await readFeed(db, open.bankId, FEED_START, 100)).length > 0);
    expect(await end({ ...open, ...(await bill(open)) })).toEqual(MAY_BILL_AGAIN);
  });

  it('may be billed again also where the same webhook has still to ask for another: it asks for that one alone', async () => {
    const open = await openCharge({ isBoth: true });
    const { id, other } = open;
    expect(await end(open)).toEqual(MAY_BILL_AGAIN);
    const [sent] = await claim(open);
    if (!sent) throw new Error('there is nothing to send');
    const { body } = openDelivery(keyring, sent);
    expect(JSON.parse(body)).toMatchObject({
      data: [{ billingRequestId: other, sequence: 1 }],
      itemCount: 1,
      timestamp: expect.any(String) as string,
    });
    const { signature, ...signed } = JSON.parse(body) as { signature: string };
    expect(signature).toBe(serviceSignature(open.credentials.bank.webhookSecret, JSON.stringify(signed)));
    expect(await feedOf(open.bankId)).toEqual([
      ['billing.request', other, 1],
      ['billing.closed', id, 1],
    ]);
  });

  it('leaves no gap where its webhook loses one charge after the other, and is then not sent at all', async () => {
    const open = await openCharge({ isBoth: true });
    const { id, other } = open;
    expect(await end(open)).toEqual(MAY_BILL_AGAIN);
    await moveClock(db, open.merchantId, '24 hours');
    expect(await end({ ...open, id: other })).toEqual(MAY_BILL_AGAIN);
    expect((await claim(open)).map(({ webhookType }) => webhookType)).toEqual([
      'billing.closed',
      'billing.closed',
    ]);
    expect(await feedOf(open.bankId)).toEqual([
      ['billing.closed', id, 1],
      ['billing.closed', other, 1],
    ]);
  });

  it('may be billed again where all that the webhook asks for is over at once', async () => {
    const open = await openCharge({ isBoth: true });
    const { id, other } = open;
    await moveClock(db, open.merchantId, '25 hours');
    await db.transaction((trx) => closeExpiredRequests(trx, [id, other]));
    for (const one of [id, other]) {
      expect(await end({ ...open, id: one })).toEqual(MAY_BILL_AGAIN);
    }
  });

  it('is an exception where its bank has answered with the id of another transaction', async () => {
    const open = await openCharge();
    const approve = (id: string) => answerBill(db, open, id, 'debit-of-another');
    await approve((await bill(open)).id);
    expect(await approve(open.id)).toMatchObject({ status: 'pending', duplicate: true });
    expect(await end(open)).toEqual({
      reason: 'expired',
      exceptions: ['duplicate_transaction_id'],
    });
  });

  it.each([{ url: 'http://bank.test/' }, { url: null }])(
    'is found by its bank no more, so that what is billed again is debited once: %p',
    async ({ url }) => {
      const open = await openCharge({ url });
      expect(await end(open)).toEqual(MAY_BILL_AGAIN);
      expect(await feedOf(open.bankId)).toEqual([['billing.closed', open.id, 1]]);
      await expect(askAgain(open)).rejects.toMatchObject({
        code: 'delivery_withdrawn',
        message: expect.stringContaining('ended before it was sent') as string,
      });
      expect(await readDelivery(db, open.bankId, open.deliveryId)).toMatchObject({
        status: 'failed',
        withdrawnAt: expect.any(Date) as Date,
      });
      expect((await claim(open)).map(({ id }) => id)).not.toContain(open.deliveryId);
      expect(await begin(open, 1)).toBe(false);
    },
  );

  it('is given by the feed, or not delivered, never both, however close they come', async () => {
    const open = await openCharge({ url: null });
    await moveClock(db, open.merchantId, '16 minutes');
    const closing = await openTransaction(db);
    await closeExpiredRequests(closing.trx, [open.id]);
    const reading = readFeed(db, open.bankId, FEED_START, 100);
    await waitsForALock(db);
    await closing.commit();
    expect((await reading).map(({ webhookType }) => webhookType)).not.toContain('billing.request');
    expect(await end(open)).toEqual(MAY_BILL_AGAIN);
  });

  it('is left out of what a worker takes in hand at the same moment for another charge', async () => {
    const open = await openCharge({ isBoth: true });
    const { id, other } = open;
    await moveClock(db, open.merchantId, '16 minutes');
    const closing = await openTransaction(db);
    await closeExpiredRequests(closing.trx, [id]);
    const claiming = claim(open);
    await waitsForALock(db);
    await closing.commit();
    const [sent] = await claiming;
    if (!sent) throw new Error('there is nothing to send');
    expect(JSON.parse(openDelivery(keyring, sent).body)).toMatchObject({
      data: [{ billingRequestId: other }],
    });
    expect(await end(open)).toEqual(MAY_BILL_AGAIN);
  });
});

const turn = (bankId: string, status: 'active' | 'disabled') =>
  db.transaction((trx) => changeStatus(trx, OPERATOR, bankId, status));

it('a charge that a bank was asked before it was disabled is open to the end of its window, and no longer', async () => {
  const open = await openCharge();
  const { id: other } = await bill(open);
  const statusOf = (id: string) => db.row`SELECT status FROM billing_requests WHERE id = ${id}`;
  await turn(open.bankId, 'disabled');
  await db.transaction((trx) => closeExpiredRequests(trx, [open.id]));
  expect(await statusOf(open.id)).toEqual({ status: 'pending' });
  await turn(open.bankId, 'active');
  await answerBill(db, open, open.id, 'once-more');
  expect(await statusOf(open.id)).toEqual({ status: 'successful' });
  await turn(open.bankId, 'disabled');
  await end({ ...open, id: other });
  expect(await statusOf(other)).toEqual({ status: 'declined' });
});
