import { statementLines } from '../../examples/demo/books';

const SHA256 = '4991a86fe4bc3840691f1de642b49929b6d181f93378f5f0009a81d3f2493c0e';

/** As somebody with a pencil does it: what is printed with a sign before it, in kobo. */
function addedUp(lines: string[]): { opening: bigint; moved: bigint; closing: bigint } {
  const amounts = lines.flatMap((line) => {
    const [, sign = '', amount = ''] = /(− ?|\+ )?NGN ([\d,.]+)/.exec(line) ?? [];
    return amount === '' ? [] : [BigInt(amount.replaceAll(/[,.]/g, '')) * (sign.startsWith('−') ? -1n : 1n)];
  });
  const [opening = 0n, ...others] = amounts;
  const closing = others.pop() ?? 0n;
  return { opening, moved: others.reduce((sum, one) => sum + one, 0n), closing };
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

  expect(addedUp(lines)).toEqual({ opening: 10_000n, moved: 50_025n, closing: 60_025n });
  expect(lines.join('\n')).toMatch(
    /charged, in 3\n.*refunded, in 1\n.*reversed, in 1\n.*net NGN 500\.25; final/,
  );
  expect(lines.at(-1)).toContain(SHA256);
});

test('so can one of a bank, which owes what was charged', () => {
  const lines = statementLines('bank', {
    ...DAY,
    openingBalance: -100,
    credits: { count: 2, amount: 40 },
    closingBalance: -560.25,
  });

  expect(addedUp(lines)).toEqual({ opening: -10_000n, moved: -46_025n, closing: -56_025n });
});

test('what did not move is no line', () => {
  const nothing = { count: 0, amount: 0 };
  const day = { ...DAY, charges: nothing, refunds: nothing, reversals: nothing, closingBalance: 100 };

  expect(statementLines('merchant', day)).toHaveLength(3);
});
