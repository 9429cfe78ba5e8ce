import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { ApiClient, type Answer } from '../../examples/demo/api-client';
import { kobo } from '../../examples/demo/kobo';
import { rows } from '../../src/database/pool/connection';
import { agreement, Cast, type Bank, type Customer, type Item, type Merchant } from '../support/cast';
import { startEngine, type TestEngine } from '../support/engine';

/** What only one of many may have, asked of two API processes at once. */

let engine: TestEngine;
let cast: Cast;
let bank: Bank;
let merchant: Merchant;
/** The same bank and the same merchant, each at either of two API processes. */
let bankAt: [ApiClient, ApiClient];
let merchantAt: [ApiClient, ApiClient];

const WINDOW_S = 2;
/** Charges run side by side in lanes, each with a customer of its own, one after another. */
const LANES = 20;
const CHARGES_PER_LANE = 5;

let elsewhere: string;

beforeAll(async () => {
  engine = await startEngine({
    APPROVAL_WINDOW_S: String(WINDOW_S),
    RATE_LIMIT_CALLER: '1000/1000',
    RATE_LIMIT_ANSWER: '1000/1000',
  });
  ({ apiUrl: elsewhere } = await engine.startAnotherApi());
  cast = new Cast(engine);
});

beforeEach(async () => {
  [bank, merchant] = await Promise.all([cast.bank(LANES), cast.merchant()]);
  await bank.answerCharges('silence');
  bankAt = [bank.api, await alsoAt(bank.entityId)];
  merchantAt = [merchant.api, await alsoAt(merchant.entityId)];
});

/**
 * The same caller at the other process, with its token fetched: of those there are few a second.
 */
async function alsoAt(entityId: string): Promise<ApiClient> {
  const api = new ApiClient(elsewhere, cast.identityOf(entityId));
  await api.get('/v1/webhooks/endpoint');
  return api;
}

afterAll(async () => {
  await cast.leave();
  await engine.stop();
});

function answerAt(api: ApiClient, billingRequestId: string, answer: object): Promise<Answer> {
  return api.answer('/v1/billing/bank-response', { billingRequestId, ...answer });
}

const debit = () => ({ bankTransactionId: `tx-${randomUUID()}` });

interface Raced {
  billingRequestId: string;
  amount: number;
  status: number;
  /** What the bank was told. */
  said: unknown;
}

/**
 * How far a lane moves its next answer towards the side that lost, and twice as far each time that
 * the same side loses again: it comes to swing about the very moment, however long a busy machine
 * takes to carry an answer.
 */
const STRIDE_MS = 15;

/**
 * Charges one customer again and again, and has the bank answer each at about the moment at which
 * its window closes, through both processes at once.
 */
async function raceInLane(customer: Customer): Promise<Raced[]> {
  const paymentID = await agreement(bank, merchant, customer, { decision: 'approve_once' });
  const raced: Raced[] = [];
  let offsetMs = 0;
  let strideMs = -STRIDE_MS;
  for (let n = 1; n <= CHARGES_PER_LANE; n++) {
    const { billingRequestId } = await merchant.charge({ paymentIDs: [paymentID] }, n);
    const { expiresAt } = await merchant.retrieve(billingRequestId);
    await wait(Math.max(0, Date.parse(String(expiresAt)) + offsetMs - Date.now()));
    const answer = debit();
    const [first, second] = await Promise.all(
      bankAt.map((api) => answerAt(api, billingRequestId, { action: 'approve_once', ...answer })),
    );
    expect(second?.status).toBe(first?.status);
    expect(second?.body.data).toEqual(first?.body.data);
    const status = first?.status ?? 0;
    raced.push({ billingRequestId, amount: n, status, said: first?.body.data['status'] });
    const later = status === 200;
    strideMs = later === strideMs > 0 ? strideMs * 2 : later ? STRIDE_MS : -STRIDE_MS;
    offsetMs += strideMs;
  }
  return raced;
}

interface Kept {
  id: string;
  status: string;
  declineReason: string | null;
  sequences: number[];
  exceptions: string[];
}

test('a bank that answers as its window closes is told the truth, a hundred times, and so is the merchant', async () => {
  const raced = (await Promise.all(bank.customers.map(raceInLane))).flat();
  await Promise.all(
    raced.map(({ billingRequestId }) => merchant.hears('billing.response', billingRequestId)),
  );

  const kept = await rows<Kept>(
    engine.database.db,
    `SELECT id, status, decline_reason AS "declineReason",
       ARRAY(SELECT sequence FROM events WHERE resource_id = b.id ORDER BY sequence) AS sequences,
       ARRAY(SELECT kind FROM reconciliation_exceptions WHERE billing_request_id = b.id) AS exceptions
     FROM billing_requests b WHERE merchant_id = :merchantId`,
    { merchantId: merchant.entityId },
  );
  const told = new Map<unknown, unknown[]>();
  for (const { type, item } of await merchant.server.received()) {
    if (type !== 'billing.response') continue;
    const { billingRequestId: id, status, customerAction } = item;
    told.set(id, [...(told.get(id) ?? []), { status, customerAction }]);
  }
  const seen = raced.map(({ billingRequestId: id, status, said }) => ({
    ...kept.find((one) => one.id === id),
    answered: status,
    said,
    told: told.get(id),
  }));
  const paid = { status: 'successful', declineReason: null, answered: 200, said: 'successful' };
  // So short a window may close before the network has noted that the bank was reached.
  const declineReason = expect.stringMatching(/^(expired|not_delivered)$/) as string;
  const missed = { status: 'declined', declineReason, answered: 409, said: 'declined' };
  for (const one of seen) {
    const { id, sequences } = one;
    expect(one).toEqual(
      one.answered === 200
        ? {
            id,
            ...paid,
            sequences,
            exceptions: [],
            told: [{ status: 'successful', customerAction: 'approved' }],
          }
        : {
            id,
            ...missed,
            sequences,
            exceptions: [one.declineReason === 'expired' ? 'unanswered' : 'late_answer'],
            told: [{ status: 'declined', customerAction: 'declined' }],
          },
    );
    expect(sequences).toEqual([1, 2]);
  }
  // A race that one side always wins is none.
  expect(raced).toHaveLength(LANES * CHARGES_PER_LANE);
  for (const status of [200, 409]) {
    expect(raced.filter((one) => one.status === status).length).toBeGreaterThan(raced.length / 20);
  }
  const debited = raced.reduce((sum, { amount, status }) => sum + (status === 200 ? kobo(amount) : 0n), 0n);
  expect(await spent()).toBe(debited);
}, 180_000);

/** All that the merchant's agreements have counted this month. */
async function spent(): Promise<bigint> {
  const [found] = await rows<{ total: string }>(
    engine.database.db,
    `SELECT sum(spent_month_total) AS total FROM agreements WHERE merchant_id = :merchantId`,
    { merchantId: merchant.entityId },
  );
  return BigInt(found?.total ?? 0);
}

test('forty bills at once against one limit let exactly the limit through', async () => {
  const [customer] = bank.customers;
  const paymentID = await agreement(bank, merchant, customer, { spendingLimits: { daily: 100 } });
  const bill = { paymentIDs: [paymentID], amount: 7, currency: 'NGN', description: 'Shoes' };

  const bills = await Promise.all(
    Array.from({ length: 40 }, (_, i) => of(merchantAt, i).post<Item[]>('/v1/customer/bill', bill)),
  );

  expect(counts(bills.map(({ status }) => status))).toEqual({ 201: 14, 403: 26 });
  expect(await spent()).toBe(kobo(98));
});

test('of twenty different answers at once to one charge the first counts, and all are told which', async () => {
  const [customer] = bank.customers;
  const paymentID = await agreement(bank, merchant, customer);
  const { billingRequestId } = await merchant.charge({ paymentIDs: [paymentID] }, 10);
  const refusals = ['insufficient_funds', 'account_closed'].map((declineReason) => ({ declineReason }));
  const sent = [...Array.from({ length: 18 }, debit), ...refusals];

  const answers = await Promise.all(
    sent.map((answer, i) => answerAt(of(bankAt, i), billingRequestId, answer)),
  );

  expect(counts(answers.map(({ status }) => status))).toEqual({ 200: 1, 409: 19 });
  const winner = sent[answers.findIndex(({ status }) => status === 200)];
  const status = winner && 'declineReason' in winner ? 'declined' : 'successful';
  expect(new Set(answers.map(({ body }) => body.data['status']))).toEqual(new Set([status]));
  expect(await merchant.hears('billing.response', billingRequestId)).toMatchObject({ status });
  expect(await spent()).toBe(status === 'successful' ? kobo(10) : 0n);
  const kept = await rows<{ kind: string; answers: number }>(
    engine.database.db,
    `SELECT kind, (SELECT count(*)::int FROM exception_answers a WHERE a.exception_id = x.id) AS answers
     FROM reconciliation_exceptions x WHERE billing_request_id = :billingRequestId`,
    { billingRequestId },
  );
  // Each debit that did not count is money of its own; a repeated refusal adds nothing.
  expect(kept).toEqual([{ kind: 'conflicting_answer', answers: status === 'successful' ? 17 + 1 : 18 }]);
});

function of<Thing>([first, second]: [Thing, Thing], i: number): Thing {
  return i % 2 === 0 ? first : second;
}

function counts(all: (string | number)[]): Record<string, number> {
  const found: Record<string, number> = {};
  for (const one of all) found[one] = (found[one] ?? 0) + 1;
  return found;
}
