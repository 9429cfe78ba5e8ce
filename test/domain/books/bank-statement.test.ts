import { heldFor, judge, type Known, type StatementLine } from '../../../src/domain/books/bank-statement';

/** What a line of a bank's statement is, by what the network has of it. */

const LINE: StatementLine = {
  line: 1,
  bankTransactionId: 'F7',
  bookingDate: '2026-03-02',
  amount: 10_000n,
  currency: 'NGN',
  direction: 'debit',
  reference: '7Q2MXK4TVWYZ23ABCDEFGHJK',
};

/** A charge of 100 naira that another id has settled. */
const CHARGE: Known = {
  resourceId: 'bil_1',
  billingRequestId: 'bil_1',
  refundId: null,
  reference: LINE.reference,
  direction: 'debit',
  amount: 10_000n,
  currency: 'NGN',
  role: 'open',
  settled: true,
  pending: false,
  exceptionId: null,
  accounted: false,
  letOff: false,
  bookableFrom: null,
  bookableTo: null,
};
const DECLINED = { ...CHARGE, settled: false };
const PENDING = { ...DECLINED, pending: true };
const REFUND: Known = { ...CHARGE, refundId: 'ref_1', direction: 'credit' };

const verdict = (line: Partial<StatementLine>, known: Known) => judge({ ...LINE, ...line }, known).is;

const FEE = { amount: 1_075n };

test.each([
  ['a charge that waits', PENDING, {}, 'answer', 'amount_differs'],
  ['a declined charge', DECLINED, {}, 'answer', 'amount_differs'],
  ['a charge that another id has settled', CHARGE, {}, 'answer', 'unknown_here'],
  ['a completed refund', REFUND, { direction: 'credit' }, 'answer', 'amount_differs'],
] as const)('a line with the reference of %s', (_, known, more, withItsAmount, withAnother) => {
  expect(verdict(more, known)).toBe(withItsAmount);
  expect(verdict({ ...more, ...FEE }, known)).toBe(withAnother);
  expect(verdict({ ...more, currency: 'GHS' }, known)).toBe(withAnother);
  expect(verdict({ direction: known.direction === 'debit' ? 'credit' : 'debit' }, known)).toBe(
    'unknown_here',
  );
});

const REFUSED = { role: 'refused', exceptionId: 'exc_1' } as const;

test.each([
  ['that is open, of a charge', { ...DECLINED, ...REFUSED }, 'told', 'amount_differs'],
  ['that is resolved', { ...DECLINED, ...REFUSED, accounted: true }, 'matched', 'amount_differs'],
  ['of a second debit', { ...CHARGE, ...REFUSED, accounted: true }, 'matched', 'unknown_here'],
  ['of a second transfer', { ...REFUND, ...REFUSED, accounted: true }, 'matched', 'amount_differs'],
  ['that is not there', { ...DECLINED, ...REFUSED, exceptionId: null }, 'unknown_here', 'unknown_here'],
] as const)(
  'a line with a refused id, whose exception is one %s, is accounted for as it was answered alone',
  (_, known, asAnswered, otherwise) => {
    const { direction } = known;
    expect(verdict({ direction }, known)).toBe(asAnswered);
    expect(verdict({ direction, amount: 500_000n }, known)).toBe(otherwise);
    expect(verdict({ direction, currency: 'GHS' }, known)).toBe(otherwise);
    expect(verdict({ direction: direction === 'debit' ? 'credit' : 'debit' }, known)).toBe(otherwise);
  },
);

test.each([
  ['a charge of which it has not booked all', CHARGE, { amount: 6_050n }, 3_950n],
  ['one that waits, as well', PENDING, { amount: 6_050n }, 3_950n],
  ['one that it has booked too high', CHARGE, { amount: 12_000n }, 0n],
  ['one that it has booked in another currency', CHARGE, { currency: 'GHS' }, 10_000n],
  ['one that it has booked as a credit', CHARGE, { direction: 'credit' }, 10_000n],
  ['a declined one', DECLINED, { amount: 6_050n }, 0n],
] as const)('of %s, what it lacks is held', (_, known, line, held) => {
  expect(heldFor({ ...LINE, ...line }, { ...known, role: 'counted' })).toBe(held);
});
