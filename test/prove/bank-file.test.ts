import { BankFile, compareBankFile, compareMissed } from './oracle/bank-file';
import { Zone } from './oracle/calendar';
import { readCsv } from './oracle/csv';
import { predictPayments } from './oracle/predict-payments';
import type { SeenBankFile, SeenPayments } from './oracle/seen';
import type { Payment, Plan, Resolution } from './plan';

const zone = new Zone('Africa/Lagos');
const [ada, bola] = [
  { n: 1, bank: 0 },
  { n: 2, bank: 1 },
];
const at = (day: number) => zone.at(2028, 1, day, 13);
const endAt = zone.at(2028, 3, 31, 13);

/** By ada to bola; what her bank contradicts it has a word of a day later. */
function payment(n: number, day: number, more: Partial<Payment> = {}): Payment {
  return {
    n,
    at: at(day),
    payer: ada,
    payee: bola,
    kobo: BigInt(n) * 1_000n,
    answer: 'pay',
    response: undefined,
    ...more,
  };
}

const inDoubt = (answer: Payment['answer'], day: number, resolution?: Resolution): Partial<Payment> => ({
  answer,
  response: resolution && { at: at(day + 1), resolution },
});

const payments = [
  payment(1, 1),
  payment(2, 2),
  payment(3, 3),
  payment(4, 4),
  payment(5, 5, inDoubt('payThenDecline', 5, 'no_money_moved')),
  payment(6, 6, inDoubt('payThenDecline', 6, 'reversed')),
  payment(7, 30, inDoubt('payAgain', 30)),
  payment(8, 40),
  payment(9, 41),
  payment(10, 42, inDoubt('declineThenPay', 42, 'no_money_moved')),
  payment(11, 43, { answer: 'noFunds' }),
  payment(12, 44),
];
/** Payments that were answered with a second id. */
const again = payments.filter(({ answer }) => answer === 'payAgain');
const declined = payments.filter(({ answer }) => answer === 'noFunds');
const debit = ({ n, kobo }: Payment, id: string) => ({
  bankTransactionId: `${id}-${n}`,
  about: `brq_${n}`,
  kobo,
  state: 'standing' as const,
});
const seen: SeenPayments = {
  accounts: new Map(),
  asked: new Map(payments.map(({ n }) => [n, { status: 201, billingRequestId: `brq_${n}` }])),
  responses: new Map(),
  banks: [0, 1].map((bank) => ({
    bankId: `bnk_${bank}`,
    book: [
      ...payments.filter((one) => !declined.includes(one)).map((one) => debit(one, 'debit')),
      ...again.map((one) => debit(one, 'again')),
    ],
    credits: [],
    received: [],
    history: payments.map(({ n }) => ({ billingRequestId: `brq_${n}`, reference: `REFERENCE${n}` })),
    exceptions: [],
  })),
};

const TODAY = zone.dayOf(endAt);

function written(bank: number) {
  const file = new BankFile(zone, bank);
  file.addPayments(predictPayments({ payments } as unknown as Plan), seen);
  return file.write(1, TODAY);
}

/** Without the amounts of slips and fees, which are drawn. */
const lines = (bank: number, n: number) =>
  readCsv(written(bank).files[n]?.text ?? '').map((one) =>
    [one['bankTransactionId'], one['bookingDate'], one['direction'], one['reference']].join(' ').trim(),
  );

describe('the files that a bank sends in the proof', () => {
  it('have what its customers paid, on its settlement day, with slips', () => {
    expect(lines(0, 0)).toEqual([
      'debit-1 2028-01-01 debit',
      // The second is left out, the third has another amount, the fourth is there twice.
      'debit-3 2028-01-03 debit',
      'debit-4 2028-01-04 debit',
      'debit-4 2028-01-04 debit',
      // Money that never moved, by the bank's word, has no line.
      'debit-6 2028-01-06 debit',
      'reversal-of-payment-6 2028-01-07 credit',
      // The second debit of it settled nothing, and is known.
      'again-7 2028-01-30 debit',
      'debit-7 2028-01-30 debit',
      'fee-of-2028-01-01-8 2028-01-01 debit',
      'fee-of-2028-01-30-9 2028-01-30 debit',
    ]);
    const [first] = written(0).files;
    expect(first).toMatchObject({
      through: undefined,
      summary: { lines: 10, matched: 6, duplicates: 1, unknownHere: 2, amountDiffers: 1, malformed: 0 },
    });
  });

  it('have a debit that came to nothing as unknown, where the bank says that no money moved', () => {
    expect(written(0).files[1]?.differences).toContain('unknown_here debit-10');
  });

  it('have what its customers were paid by its reference, but for what did not stay', () => {
    const credits = [0, 1, 2].flatMap((n) => lines(1, n)).filter((one) => one.startsWith('credit-'));
    expect(credits.toSorted()).toEqual(
      [1, 12, 2, 3, 4, 7, 8, 9].map((n) => {
        const [day] = payments.filter((one) => one.n === n).map((one) => zone.dayOf(one.at));
        return `credit-${n} ${day} credit REFERENCE${n}`;
      }),
    );
    expect(written(1).files[1]?.differences).toContain('missing_at_bank REFERENCE8');
  });
});

describe('what the network makes of them', () => {
  const [file] = written(0).files;
  const { summary = {}, differences = [] } = file ?? {};
  const answered: SeenBankFile = {
    status: 'completed',
    summary,
    differences: differences.map((one) => {
      const [difference = '', bankTransactionId = ''] = one.split(' ');
      return { difference, bankTransactionId, exceptionId: difference === 'duplicate' ? null : 'exc_1' };
    }),
  };
  const found = (answer: Partial<SeenBankFile>) =>
    compareBankFile({ endAt }, 'bank-1', 1, { summary, differences }, { ...answered, ...answer }).map(
      ({ what }) => what,
    );

  it('is as it should be', () => expect(found({})).toEqual([]));

  it.each<[string, Partial<SeenBankFile>, string]>([
    [
      'what differs, and nobody is to look at',
      { differences: answered.differences.map((one) => ({ ...one, exceptionId: null })) },
      'its own statement 1 has amount_differs debit-3 as no exception',
    ],
    [
      'a difference where there is none',
      {
        differences: [
          ...answered.differences,
          { difference: 'missing_at_bank', bankTransactionId: 'debit-1', exceptionId: 'exc_2' },
        ],
      },
      'its own statement 1 is told missing_at_bank debit-1, and is not to be',
    ],
    [
      'a wrong count',
      { summary: { ...summary, matched: 5 } },
      'its own statement 1 has matched 6 by the contract, and 5',
    ],
    ['a file that was lost', { status: 'failed' }, 'its own statement 1 is failed'],
  ])('%s is found', (_, answer, what) => expect(found(answer)).toContain(what));

  it('is found where what never came is missed no more', () => {
    const states = { 'debit-2': 'resolved', 'debit-8': 'resolved', 'debit-9': 'open' };
    const exceptions = Object.entries(states).map(([bankTransactionId, state]) => {
      return { bankTransactionId, state, resolution: state === 'open' ? null : 'no_difference' };
    });
    expect(compareMissed({ endAt }, 'bank-1', written(0).missed, exceptions)).toEqual([
      expect.objectContaining({ what: expect.stringMatching(/debit-2, .* never/) as string }),
    ]);
  });
});
