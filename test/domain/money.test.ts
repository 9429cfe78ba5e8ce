import * as fc from 'fast-check';
import { CURRENCIES } from '../../src/domain/currency';
import { formatAmount, inMoney, MAX_AMOUNT_MINOR, parseAmount, shownSum } from '../../src/domain/money';

const currency = fc.constantFrom(...CURRENCIES);
const minorUnits = fc.bigInt({ min: 1n, max: MAX_AMOUNT_MINOR });

function minor(value: unknown, code: string): bigint | string {
  const parsed = parseAmount(value, code);
  return parsed.ok ? parsed.value : parsed.reason;
}

describe('an amount read at the door', () => {
  it.each([
    [0.01, 'NGN', 1n],
    [0.1 + 0.7, 'NGN', 'must have at most 15 significant digits'],
    [1.005, 'BHD', 1005n],
    [4.35, 'NGN', 435n],
    [0.0001, 'CLF', 1n],
    [1e2, 'NGN', 10_000n],
    [JSON.parse('100.00'), 'NGN', 10_000n],
    [JSON.parse('1.0'), 'JPY', 1n],
    [9_999_999_999.99, 'NGN', MAX_AMOUNT_MINOR - 1n],
    [10_000_000_000, 'NGN', MAX_AMOUNT_MINOR],
    [1_000_000_000_000, 'JPY', MAX_AMOUNT_MINOR],
    [100_000_000, 'CLF', MAX_AMOUNT_MINOR],
  ])('%p %s is taken as %p', (value, code, expected) => {
    expect(minor(value, code)).toBe(expected);
  });

  it.each([
    [0, 'NGN', 'must be greater than 0'],
    [-0.01, 'NGN', 'must be greater than 0'],
    [NaN, 'NGN', 'must be a number'],
    [Infinity, 'NGN', 'must be a number'],
    ['1', 'NGN', 'must be a number'],
    [null, 'NGN', 'must be a number'],
    [0.001, 'NGN', 'must have at most 2 decimals in NGN'],
    [5e-324, 'NGN', 'must have at most 2 decimals in NGN'],
    [0.5, 'JPY', 'must have no decimals in JPY'],
    [0.0001, 'KWD', 'must have at most 3 decimals in KWD'],
    [0.00001, 'CLF', 'must have at most 4 decimals in CLF'],
    [10_000_000_000.01, 'NGN', 'must be at most NGN 10,000,000,000.00'],
    [1_000_000_000_001, 'JPY', 'must be at most JPY 1,000,000,000,000'],
    [1e308, 'NGN', 'must be at most NGN 10,000,000,000.00'],
    // 15 digits are judged by their decimals, 16 are too many to judge.
    [1.23456789012345, 'NGN', 'must have at most 2 decimals in NGN'],
    [1.234567890123456, 'NGN', 'must have at most 15 significant digits'],
    [0.1 + 0.2, 'NGN', 'must have at most 15 significant digits'],
    [1, 'XAU', 'must be in a currency of ISO 4217'],
    [1, 'ngn', 'must be in a currency of ISO 4217'],
  ])('%p %s is refused: %s', (value, code, reason) => {
    expect(minor(value, code)).toBe(reason);
  });

  it('comes back from the wire unchanged, in every currency', () => {
    fc.assert(
      fc.property(minorUnits, currency, (amount, code) => {
        const wire = JSON.stringify({ amount: formatAmount(amount, code) });
        const { amount: read } = JSON.parse(wire) as { amount: unknown };
        expect(minor(read, code)).toBe(amount);
      }),
      { numRuns: 2000 },
    );
  });

  it('is either exact or refused, whatever number is sent', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true }), currency, (value, code) => {
        const parsed = parseAmount(value, code);
        if (parsed.ok) expect(formatAmount(parsed.value, code)).toBe(value);
      }),
    );
  });
});

describe('an amount on its way out', () => {
  it.each([
    [150_050n, 'NGN', '1500.5'],
    [1n, 'NGN', '0.01'],
    [0n, 'NGN', '0'],
    [150_050n, 'JPY', '150050'],
    [150_050n, 'BHD', '150.05'],
    [150_050n, 'CLF', '15.005'],
    [999_999_999_999_999n, 'NGN', '9999999999999.99'],
  ])('%p %s is written %s', (amount, code, written) => {
    expect(JSON.stringify(formatAmount(amount, code))).toBe(written);
  });

  it('is never rounded in silence: a sum that a JSON number cannot hold throws', () => {
    expect(() => formatAmount(1_000_000_000_000_001n, 'NGN')).toThrow('does not fit a JSON number');
  });

  it('must be in a currency that has a minor unit', () => {
    expect(() => formatAmount(1n, 'XXX')).toThrow('XXX is no currency');
  });
});

describe('a sum on its way out', () => {
  it.each([
    [0n, 'NGN', { amount: 0 }],
    [600_150n, 'NGN', { amount: 6001.5 }],
    [999_999_999_999_999n, 'NGN', { amount: 9_999_999_999_999.99 }],
    // More than 15 digits, but 15 of them say it all.
    [1_000_000_000_000_000_000n, 'NGN', { amount: 10_000_000_000_000_000 }],
    [1_000_000_000_000_001n, 'NGN', { amount: 10_000_000_000_000, exact: '10000000000000.01' }],
    [1_000_000_000_000_010n, 'NGN', { amount: 10_000_000_000_000.1 }],
    [1_234_567_890_123_456n, 'JPY', { amount: 1_234_567_890_123_460, exact: '1234567890123456' }],
    [9_000_000_000_000_000_001n, 'NGN', { amount: 90_000_000_000_000_000, exact: '90000000000000000.01' }],
  ])('of %p %s is %j', (minorSum, code, shown) => {
    expect(shownSum(minorSum, code)).toEqual(shown);
  });

  it('is in full whenever the number is not', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 9_000_000_000_000_000_000n }), currency, (sum, code) => {
        const { amount, exact } = shownSum(sum, code);
        const digits = formatAmount(1n, code);
        if (exact === undefined) return String(sum).replace(/0+$/, '').length <= 15;
        return (
          BigInt(exact.replace('.', '')) === sum &&
          Math.abs(amount - Number(exact)) <= amount * 1e-14 + digits
        );
      }),
    );
  });
});

describe('an amount as people write it', () => {
  it.each([
    [150_050n, 'NGN', 'NGN 1,500.50'],
    [-50n, 'NGN', 'NGN -0.50'],
    [1_234_567n, 'JPY', 'JPY 1,234,567'],
    [9_000_000_000_000_000_001n, 'NGN', 'NGN 90,000,000,000,000,000.01'],
  ])('of %p %s is %s', (amount, code, written) => {
    expect(inMoney({ amount, currency: code })).toBe(written);
  });
});
