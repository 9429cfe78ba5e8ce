import { closingBalance, movementCount, type Movements } from '../../../src/domain/books/statement';

const moved: Movements = {
  charges: { count: 1, amount: 1_000n },
  refunds: { count: 2, amount: 200n },
  refundReturns: { count: 7, amount: 6n },
  reversals: { count: 3, amount: 30n },
  credits: { count: 4, amount: 4n },
  creditsReversed: { count: 5, amount: 1n },
  writeOffs: { count: 6, amount: 50_000n },
};

it.each([
  ['merchant', 7n + 1_000n - 200n + 6n - 30n],
  ['provider', 7n + 1_000n - 200n + 6n - 30n],
  ['bank', 7n - 1_000n + 200n - 6n + 30n + 4n - 1n + 50_000n],
] as const)('what a %s is owed after the day is what it was before, and what moved', (role, closing) => {
  expect(closingBalance(role, 7n, moved)).toBe(closing);
});

it('counts each thing that moved', () => {
  expect(movementCount(moved)).toBe(28);
});
