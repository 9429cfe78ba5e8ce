import { BankFile, compareBankFile } from '../../prove/oracle/bank-file';
import { Zone } from '../../prove/oracle/calendar';
import { readCsv } from '../../prove/oracle/csv';
import { predictPayments } from '../../prove/oracle/predict-payments';
import type { SeenBankFile, SeenPayments } from '../../prove/oracle/seen';
import type { Payment, Plan, Resolution } from '../../prove/plan';

const zone = new Zone('Africa/Lagos');
const [ada, bola] = [
  { n: 1, bank: 0 },
  { n: 2, bank: 1 },
];
const at = (day: number) => zone.at(2028, 1, day, 13);
const endAt = at(31);

/** By ada to bola; one that her bank contradicts has a word of it a day later. */
function payment(n: number, day: number, resolution?: Resolution): Payment {
  return {
    n,
    at: at(day),
    payer: ada,
    payee: bola,
    kobo: BigInt(n) * 1_000n,
    answer: resolution ? 'payThenDecline' : 'pay',
    response: resolution && { at: at(day + 1), resolution },
  };
}

const payments = [
  payment(1, 10),
  payment(2, 12),
  payment(3, 14),
  payment(4, 16),
  payment(5, 17, 'no_money_moved'),
  payment(6, 18, 'reversed'),
  payment(7, 20),
  { ...payment(8, 15), answer: 'noFunds' as const },
];
const seen: SeenPayments = {
  accounts: new Map(),
  asked: new Map(payments.map(({ n }) => [n, { status: 201, billingRequestId: `brq_${n}` }])),
  responses: new Map(),
  banks: [0, 1].map((bank) => ({
    bankId: `bnk_${bank}`,
    book: payments.map(({ n, kobo }) => ({
      bankTransactionId: `debit-${n}`,
      about: `brq_${n}`,
      kobo,
      state: 'standing' as const,
    })),
    credits: [],
    heard: [],
    history: payments.map(({ n }) => ({ billingRequestId: `brq_${n}`, reference: `REFERENCE${n}` })),
    exceptions: [],
  })),
};

function written(bank: number) {
  const file = new BankFile(zone, bank);
  file.addPayments(predictPayments({ payments } as unknown as Plan), seen);
  const made = file.write(1);
  if (!made) throw new Error('there is nothing in it');
  return made;
}

const lines = (bank: number) =>
  readCsv(written(bank).text).map((one) =>
    [one['bankTransactionId'], one['bookingDate'], one['amount'], one['direction'], one['reference']].join(
      ' ',
    ),
  );

describe('the statement that a bank sends in the proof', () => {
  it('has what its customers paid, on its settlement day, and one slip of each kind between', () => {
    const own = lines(0).filter((one) => !one.startsWith('fee-') && !one.startsWith('debit-3'));
    expect(own).toEqual([
      'debit-1 2028-01-10 10.00 debit ',
      'debit-4 2028-01-16 40.00 debit ',
      'debit-4 2028-01-16 40.00 debit ',
      // Of what never moved, by the bank's word, there is none; nor of what took the sixth back.
      'debit-6 2028-01-18 60.00 debit ',
      'debit-7 2028-01-20 70.00 debit ',
    ]);
    expect(lines(0).find((one) => one.startsWith('debit-3'))).toMatch(/^debit-3 2028-01-14 30\.\d\d debit $/);
    expect(lines(0)).not.toContain('debit-3 2028-01-14 30.00 debit ');
    const { summary, differences } = written(0);
    const missingAtBank = ['missing_at_bank debit-2', 'missing_at_bank payment-reversal-6'];
    expect(differences.filter((one) => !one.startsWith('unknown_here'))).toEqual([
      missingAtBank[0],
      'amount_differs debit-3',
      'duplicate debit-4',
      missingAtBank[1],
    ]);
    expect(summary).toEqual({
      lines: 8,
      matched: 4,
      duplicates: 1,
      unknownHere: 2,
      missingAtBank: 2,
      amountDiffers: 1,
      malformed: 0,
    });
  });

  it('has what its customers were paid by its reference, but for what did not stay', () => {
    expect(lines(1).filter((one) => one.startsWith('credit-'))).toEqual(
      [1, 2, 3, 4, 7].map((n) => {
        const [day] = payments.filter((one) => one.n === n).map((one) => zone.dayOf(one.at));
        return `credit-${n} ${day} ${n * 10}.00 credit REFERENCE${n}`;
      }),
    );
  });

  it('is not sent where nothing has settled', () => {
    expect(new BankFile(zone, 0).write(1)).toBeUndefined();
  });
});

describe('what the network makes of it', () => {
  const { summary, differences } = written(0);
  const answered: SeenBankFile = {
    status: 'completed',
    summary,
    differences: differences.map((one) => {
      const [difference = '', bankTransactionId = ''] = one.split(' ');
      return { difference, bankTransactionId, exceptionId: difference === 'duplicate' ? null : 'exc_1' };
    }),
  };
  const found = (answer: Partial<SeenBankFile>) =>
    compareBankFile({ endAt }, 'bank-1', { summary, differences }, { ...answered, ...answer }).map(
      ({ what }) => what,
    );
  const without = (kind: string) => answered.differences.filter(({ difference }) => difference !== kind);

  it('is as it should be', () => expect(found({})).toEqual([]));

  it.each<[string, Partial<SeenBankFile>, string]>([
    [
      'a wrong amount that is not told of',
      { differences: without('amount_differs') },
      'its own statement is to be told amount_differs debit-3, and is not',
    ],
    [
      'what is missing, and nobody is to look for',
      { differences: answered.differences.map((one) => ({ ...one, exceptionId: null })) },
      'its own statement has missing_at_bank debit-2 as no exception',
    ],
    [
      'a difference where there is none',
      {
        differences: [
          ...answered.differences,
          { difference: 'missing_at_bank', bankTransactionId: 'debit-1', exceptionId: 'exc_2' },
        ],
      },
      'its own statement is told missing_at_bank debit-1, and is not to be',
    ],
    [
      'a wrong count',
      { summary: { ...summary, matched: 5 } },
      'its own statement has matched 4 by the contract, and 5',
    ],
    ['a file that was lost', { status: 'failed' }, 'its own statement is failed'],
  ])('%s is found', (_, answer, what) => expect(found(answer)).toContain(what));
});
