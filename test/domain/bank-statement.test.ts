import { heldFor, judge, type Known, type StatementLine } from '../../src/domain/bank-statement';

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
