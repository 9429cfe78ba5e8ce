import { Zone } from './oracle/calendar';
import { compareBank, compareMerchant, inOrder } from './oracle/compare';
import { BankSum, spanOf } from './oracle/compare-statements';
import { iso } from './oracle/both';
import { Booked } from './oracle/ledger';
import { Allowance } from './oracle/limits';
import type { Prediction } from './oracle/predict';
import { newSchedule, type Attempt } from './oracle/schedule';
import type { SeenBank, SeenMerchant } from './oracle/seen';
import { SETTLEMENT_WINDOW_MS, type MerchantPlan, type Plan } from './plan';

/** The list of mutations proves, on the engine, that schedules, amounts and limits are compared. */

const zone = new Zone('Africa/Lagos');
const [at, endAt] = [zone.at(2028, 2, 1, 15.5), zone.at(2028, 2, 2, 15.5)];
const customer = { n: 1, bank: 0, limits: {} };
const billing: MerchantPlan = {
  n: 1,
  customers: [customer],
  subscriptions: [],
  acts: [{ n: 1, at, what: 'bill', customer: 1, kobo: 10_000n, answer: 'payAgain', by: 'paymentID' }],
  silentAt: new Set(),
  jumps: false,
};
const plan: Plan = {
  seed: 1,
  zone,
  startAt: zone.at(2028, 1, 1, 9),
  endAt,
  merchants: [billing],
  accounts: [],
  payments: [],
};

/** One charge of 100 naira that its bank told of twice, and a refund of 40 that came back. */
function predicted(): Prediction {
  const charge: Attempt = {
    at,
    subscription: undefined,
    customer: 1,
    bank: 0,
    kobo: 10_000n,
    approvalRequired: false,
    answer: 'payAgain',
    asked: true,
    status: 'successful',
    declineReason: null,
    refunded: 0n,
    held: 10_000n,
    reversed: 0n,
    limit: undefined,
    countedUnder: undefined,
  };
  const booked = new Booked(zone);
  booked.book('charges', at, charge, 10_000n);
  for (const kind of ['refunds', 'refundReturns'] as const) booked.book(kind, at, charge, 4_000n);
  const allowance = new Allowance(customer, zone);
  allowance.count(charge);
  const answers = ['approved', 'approved'];
  return {
    schedules: [],
    bills: [{ act: 1, at, customer: 1, status: 201, attempt: charge }],
    refunds: [{ act: 2, at, kobo: 4_000n, status: 'returned', of: charge }],
    exceptions: [
      { kind: 'conflicting_answer', at, of: charge, answers, resolvedAt: undefined, said: undefined },
    ],
    answers: new Map([[1, 201]]),
    allowances: new Map([[1, allowance]]),
    booked,
  };
}

/** Both statements of a party: of the day on which all of it moved, and of the day after. */
function statements(closingBalance: number): SeenMerchant['statements'] {
  const nothing = { count: 0, amount: 0 };
  const common = { timezone: zone.name, closingBalance, exceptionsOpen: 1, sha256: 'right' };
  const of = (charges: object, back: object, text: string) => ({
    ...common,
    charges: { ...nothing, ...charges },
    refunds: { ...nothing, ...back },
    refundReturns: { ...nothing, ...back },
    reversals: nothing,
    credits: nothing,
    file: { text, sha256: 'right' },
  });
  const lines = 'header\r\na\r\nb\r\nc\r\ntotal,3,100.00\r\n';
  const moved = of({ count: 1, amount: 100 }, { count: 1, amount: 40 }, lines);
  return new Map([
    ['2028-02-01', { ...moved, openingBalance: 0 }],
    ['2028-02-02', { ...of({}, {}, 'header\r\ntotal,0,0\r\n'), openingBalance: closingBalance }],
  ]);
}

interface Seen {
  merchant: SeenMerchant;
  bank: SeenBank;
}

/** As both should hold it in the end. */
function well(): Seen {
  const [billingRequestId, sequence, amount] = ['brq_1', 1, 100];
  const outcome = { status: 'successful', declineReason: null };
  const toMerchant = [
    { type: 'billing.response', item: { billingRequestId, sequence, ...outcome, amount } },
    { type: 'refund.returned', item: { refundId: 'rfd_2', sequence, amount: 40 } },
  ];
  const dueDate = iso(at + SETTLEMENT_WINDOW_MS);
  const question = { billingRequestId, sequence, amount, dueDate, approvalRequired: false };
  const debit = { bankTransactionId: 'tx-1', about: 'brq_1', kobo: 10_000n, state: 'standing' as const };
  const position = { counterpartyId: 'bnk_1', currency: 'NGN', owedToYou: 140, owedByYou: 40, net: 100 };
  const mirrored = { counterpartyId: 'mch_1', currency: 'NGN', owedToYou: 40, owedByYou: 140, net: -100 };
  return {
    merchant: {
      entityId: 'mch_1',
      answers: new Map([[1, 201]]),
      schedules: new Map(),
      customerIds: new Map([[1, 'cus_1']]),
      history: [
        {
          type: 'charge',
          billingRequestId,
          description: 'bill 1 payAgain',
          amount: '100.00',
          ...outcome,
          refundedAmount: '0.00',
          reversedAmount: '0.00',
          createdAt: iso(at),
          settledAt: iso(at + 900),
        },
        { type: 'refund', description: 'refund 2 complete', amount: '40.00', status: 'returned' },
        { type: 'refund_return', billingRequestId, amount: '40.00' },
      ],
      statements: statements(100),
      positions: new Map([['2028-02-01', [position]]]),
      exceptions: [
        {
          kind: 'conflicting_answer',
          state: 'open',
          billingRequestId,
          answers: ['tx-1', 'tx-2'].map((bankTransactionId) => ({ says: 'approved', bankTransactionId })),
          openedAt: iso(at),
          resolvedAt: null,
        },
      ],
      received: [...toMerchant],
      feed: [...toMerchant],
      desks: [
        {
          bankId: 'bnk_1',
          book: [debit],
          decisions: [
            {
              customerId: 'cus_1',
              merchant: { id: 'mch_1' },
              customerDecision: 'approve_recurring',
              state: 'active',
              chargeableNow: null,
              // 2 February 2028 is a Wednesday, a day after the charge.
              spent: {
                daily: 0,
                weekly: 100,
                monthly: 100,
                yearly: 100,
                total: 100,
                count: { daily: 0, weekly: 1, monthly: 1, yearly: 1, total: 1 },
              },
            },
          ],
          received: [{ type: 'billing.request', item: question }],
        },
      ],
    },
    bank: {
      statements: statements(-100),
      positions: new Map([['2028-02-01', [mirrored]]]),
      unheard: 0,
      unfed: 0,
    },
  };
}

function found({ merchant: held, bank }: Seen): string[] {
  const prediction = predicted();
  const sum = new BankSum();
  sum.add('mch_1', prediction.booked.banks.get(0) ?? new Map(), held.exceptions.map(spanOf));
  const { differences } = compareMerchant(plan, billing, prediction, held);
  return [...differences, ...compareBank(plan, 0, sum, bank)].map(({ who, what }) => `${who}: ${what}`);
}

const faults: Record<string, [fault: (seen: Seen) => unknown, said: RegExp]> = {
  'another settlement day': [
    ({ merchant: { history } }) => (history[0]!['settledAt'] = iso(endAt)),
    /settlement day is 2028-02-01 by the contract, and 2028-02-02/,
  ],
  'a second debit': [
    ({ merchant: { desks } }) => desks[0]!.book.push({ ...desks[0]!.book[0]! }),
    /is to have debited 100.00, and has 100.00 and 100.00/,
  ],
  'a debit for nothing': [
    ({ merchant: { desks } }) => desks[0]!.book.push({ ...desks[0]!.book[0]!, about: 'brq_other' }),
    /is to come to 100.00 debited, and comes to 200.00/,
  ],
  'a refund that nobody asked for': [
    ({ merchant: { history } }) => history.push({ type: 'refund', amount: '1.00', description: 'refund' }),
    /a refund of 1.00 \(refund\) should not be there/,
  ],
  'a returned refund that is not in the history': [
    ({ merchant: { history } }) => history.pop(),
    /refunds of 40.00 of brq_1 are to be returned, and are of nothing/,
  ],
  'a reversal that should not be': [
    ({ merchant: { history } }) => history.push({ type: 'reversal', billingRequestId: 'brq_1', amount: '1' }),
    /1 of brq_1 is reversed, and should not be/,
  ],
  'an act that is answered otherwise': [
    ({ merchant: { answers } }) => answers.set(1, 500),
    /is to be answered with 201, and was with 500/,
  ],
  'an exception too many': [
    ({ merchant: { exceptions } }) => exceptions.push({ ...exceptions[0], kind: 'unanswered' }),
    /there is to be no exception: unanswered, open, of brq_1/,
  ],
  'an answer that an exception lacks': [
    ({ merchant: { exceptions } }) => (exceptions[0]!['answers'] = []),
    /there is to be an exception: conflicting_answer, open, of brq_1, after approved and approved/,
  ],
  'a bank that is asked twice': [
    ({ merchant: { desks } }) => desks[0]!.received.push(desks[0]!.received[0]!),
    /the bank is to be asked 1 times for brq_1, and was 2 times/,
  ],
  'a merchant that is told otherwise': [
    ({ merchant }) =>
      (merchant.received[0] = { type: 'billing.response', item: { billingRequestId: 'brq_1' } }),
    /the merchant is to be told of brq_1: successful/,
  ],
  'a webhook that was never received': [
    ({ merchant }) => merchant.received.pop(),
    /the merchant never received/,
  ],
  'an item of its feed that a bank never received': [
    ({ bank }) => (bank.unheard = 1),
    /bank-1: never received 1 things that are in its feed/,
  ],
  'a webhook that is not in the feed of a bank': [
    ({ bank }) => (bank.unfed = 2),
    /bank-1: received 2 things that are not in its feed/,
  ],
  'a balance that is carried on wrongly': [
    ({ merchant }) => (merchant.statements.get('2028-02-02')!.openingBalance += 0.01),
    /openingBalance is 100.00 by the contract, and 100.01/,
  ],
  'a position that is not there': [
    ({ bank }) => bank.positions.set('2028-02-01', []),
    /bank-1: its position of 2028-02-01 lacks: mch_1/,
  ],
  'a file whose last line does not count right': [
    ({ bank }) => (bank.statements.get('2028-02-01')!.file!.text = 'header\r\na\r\nb\r\nc\r\ntotal,4,0\r\n'),
    /its file of 2028-02-01 ends with total,4, and there should be total,3/,
  ],
  'a file whose bytes are others': [
    ({ bank }) => (bank.statements.get('2028-02-01')!.file!.sha256 = 'others'),
    /is others, and the statement says right/,
  ],
};

describe('the comparison', () => {
  it('finds nothing where all is as predicted', () => expect(found(well())).toEqual([]));

  it.each(Object.entries(faults))('finds %s', (_, [fault, said]) => {
    const seen = well();
    fault(seen);
    expect(found(seen)).toEqual(expect.arrayContaining([expect.stringMatching(said)]));
  });

  it('says when what was announced to nobody was due', () => {
    const terms = { n: 1, customer: 1, frequency: 'daily', interval: 1, startAt: at, kobo: 10_000n } as const;
    const schedule = newSchedule({ ...terms, maxBillings: 1, endAt: undefined });
    schedule.notices.push({ n: 0, dueAt: at, kobo: 10_000n });
    const prediction = { ...predicted(), schedules: [schedule] };
    const { differences } = compareMerchant(plan, billing, prediction, well().merchant);
    const what = expect.stringMatching(/^the bank was not told a day before/) as string;
    expect(differences).toContainEqual({ at, who: 'merchant-1', what });
  });

  it('puts what happened first at the top, for the others may follow from it', () => {
    const [late, early] = [2, 1].map((when) => ({ at: when, who: 'a bank', what: 'differs' }));
    expect(inOrder([late!, early!])).toEqual([early, late]);
  });
});
