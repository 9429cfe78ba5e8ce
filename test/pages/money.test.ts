import { CURRENCIES } from '../../src/domain/currency';
import { formatAmount, inDecimals } from '../../src/domain/money';
import { money } from '../../packages/pages/browser/parts/money';

it('shows every decimal of each currency', () => {
  const shown = CURRENCIES.map((code) => money(formatAmount(12_345_671n, code), code));
  const meant = CURRENCIES.map((code) => `${code} ${inDecimals(12_345_671n, code)}`);
  expect(shown.map((text) => text.replaceAll(',', '').replaceAll('\u00a0', ' '))).toEqual(meant);
});

it('shows a sum that had to be rounded in full', () => {
  expect(money({ amount: 9e15, exact: '9007199254740993.125' }, 'IQD')).toBe(
    'IQD\u00a09,007,199,254,740,993.125',
  );
});
