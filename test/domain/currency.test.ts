import { CURRENCIES, minorUnitDigits } from '../../src/domain/currency';

describe('the currencies', () => {
  it.each([
    ['NGN', 2],
    ['JPY', 0],
    ['KWD', 3],
    ['CLF', 4],
    // ISO 4217 and the habit of writing prices, which Intl knows, differ in these.
    ['HUF', 2],
    ['IDR', 2],
    ['COP', 2],
    ['IQD', 3],
    ['UGX', 0],
  ])('%s has %i decimals', (code, digits) => {
    expect(minorUnitDigits(code)).toBe(digits);
  });

  it.each(['XAU', 'XXX', 'XTS', 'XDR', 'HRK', 'ngn', 'NAIRA', '', 'toString'])(
    '%p is none to charge in',
    (code) => {
      expect(minorUnitDigits(code)).toBeUndefined();
    },
  );

  it('are distinct codes of three capital letters', () => {
    expect(new Set(CURRENCIES).size).toBe(CURRENCIES.length);
    expect(CURRENCIES.filter((code) => !/^[A-Z]{3}$/.test(code))).toEqual([]);
  });

  it('include every code in everyday use that Intl knows, but those withdrawn or without a minor unit', () => {
    const left = Intl.supportedValuesOf('currency').filter((code) => !CURRENCIES.includes(code));
    const withdrawn = ['ANG', 'BGN', 'CUC', 'HRK', 'SLL', 'ZWL'];
    const withoutMinorUnit = ['XDR', 'XSU'];
    expect(left.filter((code) => !withdrawn.includes(code) && !withoutMinorUnit.includes(code))).toEqual([]);
  });
});
