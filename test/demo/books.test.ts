import { statementLines } from '../../examples/demo/books';

const SHA256 = '4991a86fe4bc3840691f1de642b49929b6d181f93378f5f0009a81d3f2493c0e';

/** The sum of the amounts that are printed with a sign before them, in kobo. */
function addedUp(lines: string[]): bigint[] {
  const amounts = lines.flatMap((line) => {
    const [, sign = '', amount = ''] = /(− ?|\+ )?NGN ([\d,.]+)/.exec(line) ?? [];
    return amount === '' ? [] : [BigInt(amount.replaceAll(/[,.]/g, '')) * (sign.startsWith('−') ? -1n : 1n)];
  });
  const [opening = 0n, ...others] = amounts;
  const closing = others.pop() ?? 0n;
  return [opening, others.reduce((sum, one) => sum + one, 0n), closing];
}

const DAY = {
  date: '2026-03-02',
  openingBalance: 100,
  charges: { count: 3, amount: 1250.5 },
  refunds: { count: 1, amount: 250.25 },
  reversals: { count: 1, amount: 500 },
  final: true,
  sha256: SHA256,
};

test('a statement of the demo can be added up from what it prints, and its file be known again', () => {
  const lines = statementLines('merchant', { ...DAY, closingBalance: 600.25 });

  expect(addedUp(lines)).toEqual([10_000n, 50_025n, 60_025n]);
  expect(lines.join('\n')).toMatch(
    /charged, in 3\n.*refunded, in 1\n.*reversed, in 1\n.*net NGN 500\.25; final/,
  );
  expect(lines.at(-1)).toContain(SHA256);

  // A bank owes what was charged.
  const credits = { count: 2, amount: 40 };
  const ofBank = statementLines('bank', { ...DAY, openingBalance: -100, credits, closingBalance: -560.25 });
  expect(addedUp(ofBank)).toEqual([-10_000n, -46_025n, -56_025n]);
});
