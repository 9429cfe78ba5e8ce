import { inNaira, iso } from './oracle/both';
import { Zone } from './oracle/calendar';
import { comparePayments } from './oracle/compare-payments';
import { predictPayments, type PredictedPayment } from './oracle/predict-payments';
import type { SeenPayments, SeenPaymentsAtBank } from './oracle/seen';
import { drawPayments } from './make-payments';
import type { Payment, Plan } from './plan';
import type { ReceivedItem } from '../parties/received-item';

const zone = new Zone('Africa/Lagos');
const [ada, bola, chidi] = [
  { n: 1, bank: 0 },
  { n: 2, bank: 1 },
  { n: 3, bank: 0 },
];
const at = (day: number) => zone.at(2028, 1, day, 13);

/** One that stays, one that is taken back, one within a bank, and one that is answered too late. */
const payments: Payment[] = [
  { n: 1, at: at(10), payer: bola, payee: ada, kobo: 10_000n, answer: 'pay', response: undefined },
  {
    n: 2,
    at: at(15),
    payer: ada,
    payee: bola,
    kobo: 4_000n,
    answer: 'payThenDecline',
    response: { at: at(20), resolution: 'reversed' },
  },
  { n: 3, at: at(10), payer: chidi, payee: ada, kobo: 700n, answer: 'payTwice', response: undefined },
  {
    n: 4,
    at: at(25),
    payer: bola,
    payee: ada,
    kobo: 100n,
    answer: 'payTooLate',
    response: { at: at(26), resolution: 'confirmed' },
  },
];
const plan: Plan = {
  seed: 1,
  zone,
  startAt: at(1),
  endAt: at(31),
  merchants: [],
  accounts: [ada, bola, chidi],
  payments,
};
const predicted = predictPayments(plan);
const bankIds = ['bnk_0', 'bnk_1'];
const naira = (kobo: bigint) => Number(kobo) / 100;

/** As both banks should hold it in the end. */
function well(): SeenPayments {
  const banks = bankIds.map((bankId): SeenPaymentsAtBank => {
    return { bankId, book: [], credits: [], received: [], history: [], exceptions: [] };
  });
  for (const one of predicted) play(banks, one);
  return {
    accounts: new Map(plan.accounts.map(({ n }) => [n, { customerId: `cus_${n}`, lookupID: `word-${n}` }])),
    asked: new Map(payments.map(({ n }) => [n, { status: 201, billingRequestId: `brq_${n}` }])),
    responses: new Map([
      [2, 200],
      [4, 409],
    ]),
    banks,
  };
}

function play(banks: SeenPaymentsAtBank[], { payment, status, declineReason, ...then }: PredictedPayment) {
  const { n, payer, payee, kobo, at: paidAt } = payment;
  const [billingRequestId, amount] = [`brq_${n}`, naira(kobo)];
  const [payers, payees] = [banks[payer.bank], banks[payee.bank]];
  if (!payers || !payees) throw new Error('there is no such bank');
  const tell = (bank: SeenPaymentsAtBank, type: string, item: ReceivedItem['item']) => {
    const before = bank.received.filter((one) => one.item['billingRequestId'] === billingRequestId).length;
    bank.received.push({ type, item: { billingRequestId, sequence: before + 1, ...item } });
  };
  const isPaid = status === 'successful';
  const bankTransactionId = isPaid ? `debit-${n}` : null;
  const state = isPaid && then.reversedAt === undefined ? ('standing' as const) : ('reversed' as const);
  tell(payers, 'billing.request', {
    amount,
    lookupID: `word-${payer.n}`,
    approvalRequired: true,
    dueDate: iso(paidAt + 900_500),
    payee: { bankId: payees.bankId, lookupID: `word-${payee.n}`, name: 'Ngozi Umeh' },
  });
  payers.book.push({ bankTransactionId: `debit-${n}`, about: billingRequestId, kobo, state });
  if (isPaid) {
    const lookupID = `word-${payee.n}`;
    tell(payees, 'billing.credit', { amount, lookupID, payerBankId: payers.bankId, bankTransactionId });
    payees.credits.push({ billingRequestId, lookupID, kobo, state });
  } else {
    tell(payees, 'billing.response', { amount, lookupID: `word-${payer.n}`, status, declineReason });
    tell(payers, 'billing.closed', {});
  }
  const line = {
    billingRequestId,
    description: `payment ${n}`,
    amount: inNaira(kobo),
    merchantId: null,
    customerId: `cus_${payer.n}`,
    payeeBankId: payees.bankId,
    payeeLookupID: `word-${payee.n}`,
    status,
    declineReason,
    reversedAmount: inNaira(then.reversedAt === undefined ? 0n : kobo),
    bankTransactionId,
    createdAt: iso(paidAt + 400),
    settledAt: isPaid ? iso(paidAt + 900) : null,
  };
  for (const bank of new Set([payers, payees])) {
    bank.history.push({ ...line, type: 'charge' });
    if (then.reversedAt !== undefined)
      bank.history.push({ ...line, type: 'reversal', settledAt: iso(then.reversedAt + 300) });
    if (then.exception) bank.exceptions.push({ ...then.exception, billingRequestId, merchantId: null });
  }
  if (then.reversedAt !== undefined) tell(payees, 'billing.reversed', { amount });
}

const found = (seen: SeenPayments) => comparePayments(plan, predicted, seen).map(({ what }) => what);

interface Place {
  seen: SeenPayments;
  payers: SeenPaymentsAtBank;
  payees: SeenPaymentsAtBank;
}

/** The banks of the payment that stays. */
function placeIn(seen: SeenPayments): Place {
  const [payees, payers] = seen.banks;
  if (!payers || !payees) throw new Error('there are no banks');
  return { seen, payers, payees };
}

const wordTo = ({ received }: SeenPaymentsAtBank, type: string, id = 'brq_1') =>
  received.find((one) => one.type === type && one.item['billingRequestId'] === id) as ReceivedItem;

const faults: Record<string, [fault: (place: Place) => void, said: RegExp]> = {
  'a payment that is refused': [
    ({ seen }) => void seen.asked.set(1, { status: 404, billingRequestId: 'undefined' }),
    /payment 1 .* is to be taken \(201\), and was answered with 404/,
  ],
  'a second debit': [
    ({ payers }) =>
      void payers.book.push({ bankTransactionId: 'x', about: 'brq_1', kobo: 10_000n, state: 'standing' }),
    /is to have 100.00 debited by the payer's bank, and has 100.00 and 100.00/,
  ],
  'a credit that stays though it was taken back': [
    ({ payers }) => {
      for (const credit of payers.credits) credit.state = 'standing';
    },
    /payment 2 .* is to have nothing credited by the payee's bank, and has 40.00/,
  ],
  'a payer’s bank that is not told of the end of its window': [
    ({ payers }) => {
      payers.received = payers.received.filter(({ type }) => type !== 'billing.closed');
    },
    /payment 4 .* by billing.request and billing.closed, and was by billing.request/,
  ],
  'a number that is left out': [
    ({ payees }) => void (wordTo(payees, 'billing.credit').item['sequence'] = 2),
    /is told to bnk_0 with the numbers 2/,
  ],
  'another payee in what the payer is asked': [
    ({ payers }) =>
      void (wordTo(payers, 'billing.request').item['payee'] = { bankId: 'bnk_0', lookupID: 'word-3' }),
    /is told by billing.request with payee word-1 at bnk_0 by the contract, and word-3 at bnk_0/,
  ],
  'a credit against a debit that there is not': [
    ({ payees }) => void (wordTo(payees, 'billing.credit').item['bankTransactionId'] = 'x'),
    /with a bankTransactionId of the debit true by the contract, and false/,
  ],
  'a window that is too long': [
    ({ payers }) => void (wordTo(payers, 'billing.request').item['dueDate'] = iso(at(11))),
    /is to be answered by .*, and its bank was told by/,
  ],
  'another settlement day': [
    ({ payees }) => {
      for (const line of payees.history) line['settledAt'] &&= iso(at(11));
    },
    /has, with bnk_0, settlement day 2028-01-10 by the contract, and 2028-01-11/,
  ],
  'a payment that one bank has not in its history': [
    ({ payees }) => void payees.history.shift(),
    /is 0 times in the history of bnk_0/,
  ],
  'a reversal that should not be': [
    ({ payees }) => {
      const [line] = payees.history;
      if (line) payees.history.push({ ...line, type: 'reversal' });
    },
    /has, with bnk_0, nothing beside it by the contract, and reversal of 100.00/,
  ],
  'an exception too few': [
    ({ payers }) => void payers.exceptions.shift(),
    /has, with bnk_1, the exceptions conflicting_answer, resolved by the contract, and nothing/,
  ],
  'a word of a bank that is answered otherwise': [
    ({ seen }) => void seen.responses.set(2, 409),
    /is to be answered with 200, and was with 409/,
  ],
  'a payment that nobody has asked for': [
    ({ payees }) => {
      const [line] = payees.history;
      if (line) payees.history.push({ ...line, billingRequestId: 'brq_9' });
    },
    /bank-1 has a charge of 100.00 \(payment 1\), which should not be/,
  ],
};

describe('the comparison of payments between customers', () => {
  it('finds nothing where all is as predicted', () => {
    expect(found(well())).toEqual([]);
  });

  it.each(Object.entries(faults))('finds %s', (_, [fault, said]) => {
    const seen = well();
    fault(placeIn(seen));
    expect(found(seen)).toEqual(expect.arrayContaining([expect.stringMatching(said)]));
  });
});

describe('a plan of payments between customers', () => {
  it('has in a small one, too, one that is paid, one that is taken back, and one within a bank', () => {
    for (let seed = 0; seed < 50; seed++) {
      const drawn = { ...plan, ...drawPayments({ ...plan, seed }, 30) };
      for (const bank of [0, 1]) {
        const own = predictPayments(drawn).filter(({ payment }) => payment.payee.bank === bank);
        expect(
          own.some(({ status, reversedAt }) => status === 'successful' && reversedAt === undefined),
        ).toBe(true);
        expect(own.some(({ reversedAt }) => reversedAt !== undefined)).toBe(true);
        expect(own.some(({ payment: { payer, payee } }) => payer.bank === payee.bank)).toBe(true);
        // Silence is waited for in real time.
        expect(own.some(({ declineReason }) => declineReason === 'expired')).toBe(false);
      }
    }
  });

  it('has each at a moment of its bank’s clock at which nothing else is done, in order of time', () => {
    const { payments: drawn } = drawPayments(plan, 5_000);
    for (const bank of [0, 1]) {
      const own = drawn.filter(({ payee }) => payee.bank === bank);
      const times = own.flatMap((one) => [one.at, ...(one.response ? [one.response.at] : [])]);
      expect(times).toEqual([...new Set(times)].toSorted((a, b) => a - b));
      expect(own.every(({ payer, payee }) => payer.n !== payee.n)).toBe(true);
    }
  });

  it('has some of every answer in a large one', () => {
    const answers = new Set(drawPayments(plan, 5_000).payments.map(({ answer }) => answer));
    for (const answer of ['pay', 'noFunds', 'declineThenPay', 'silence', 'payTooLate'] as const)
      expect(answers).toContain(answer);
  });
});
