import { setTimeout as wait } from 'node:timers/promises';
import { kobo } from '../parties/kobo';
import { agreement, type Customer, type Item } from '../support/cast';
import {
  engine,
  bank,
  merchant,
  bankAt,
  merchantAt,
  answerAt,
  debit,
  spent,
  keptCharges,
  CUSTOMERS,
} from './two-of-each';

/**
 * Charges run side by side in lanes, each with a customer of its own, one after another. A lane has
 * turns enough to come about the moment on a busy machine.
 */
const CHARGES_PER_LANE = 6;

describe('what only one of many may have, asked of two APIs at once', () => {
  interface Raced {
    billingRequestId: string;
    amount: number;
    status: number;
    /** The status in the response to the bank. */
    said: unknown;
  }

  beforeEach(() => bank.answerCharges('silence'));

  /**
   * How far a lane moves its next answer towards the side that lost, and twice as far each time
   * that the same side loses again: it comes to swing about the very moment, however long a busy
   * machine takes to carry an answer.
   */
  const STRIDE_MS = 30;

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

  test('a bank that answers as its window closes is told the truth, sixty times, and so is the merchant', async () => {
    const raced = (await Promise.all(bank.customers.map(raceInLane))).flat();
    await Promise.all(
      raced.map(({ billingRequestId }) => merchant.hears('billing.response', billingRequestId)),
    );

    const kept = new Map((await keptCharges()).map((one) => [one.id, one]));
    const told = new Map<unknown, unknown[]>();
    for (const { type, item } of await merchant.server.received()) {
      if (type !== 'billing.response') continue;
      const { billingRequestId: id, status, customerAction } = item;
      told.set(id, [...(told.get(id) ?? []), { status, customerAction }]);
    }
    for (const { billingRequestId: id, status, said } of raced) {
      const one = kept.get(id);
      const seen = { ...one, answered: status, said, told: told.get(id) };
      // So short a window may close before the network has noted that the bank was reached.
      const declineReason = one?.declineReason === 'not_delivered' ? 'not_delivered' : 'expired';
      expect(seen).toEqual(
        status === 200
          ? {
              id,
              status: 'successful',
              declineReason: null,
              sequences: [1, 2],
              exceptions: [],
              answered: 200,
              said: 'successful',
              told: [{ status: 'successful', customerAction: 'approved' }],
            }
          : {
              id,
              status: 'declined',
              declineReason,
              sequences: [1, 2],
              exceptions: [declineReason === 'expired' ? 'unanswered' : 'late_answer'],
              answered: 409,
              said: 'declined',
              told: [{ status: 'declined', customerAction: 'declined' }],
            },
      );
    }
    // A race that one side always wins is none.
    expect(raced).toHaveLength(CUSTOMERS * CHARGES_PER_LANE);
    for (const status of [200, 409]) {
      expect(raced.filter((one) => one.status === status).length).toBeGreaterThan(raced.length / 20);
    }
    // Money of a late answer may have moved: its exception is open.
    expect(await spent()).toBe(raced.reduce((sum, { amount }) => sum + kobo(amount), 0n));
  });

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
    const paymentID = await agreement(bank, merchant, bank.customers[0]);
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
    const kept = await engine.database.db.rows<{ kind: string; answers: number }>`
      SELECT kind, (SELECT count(*)::int FROM exception_answers a WHERE a.exception_id = x.id) AS answers
      FROM reconciliation_exceptions x WHERE billing_request_id = ${billingRequestId}`;
    // Each debit that did not count is money of its own; a repeated refusal adds nothing.
    expect(kept).toEqual([{ kind: 'conflicting_answer', answers: status === 'successful' ? 17 + 1 : 18 }]);
  });
});

function of<Thing>([first, second]: [Thing, Thing], i: number): Thing {
  return i % 2 === 0 ? first : second;
}

function counts(all: (string | number)[]): Record<string, number> {
  const found: Record<string, number> = {};
  for (const one of all) found[one] = (found[one] ?? 0) + 1;
  return found;
}
