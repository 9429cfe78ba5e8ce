import * as fc from 'fast-check';
import { inNaira, kobo } from '../../examples/demo/kobo';

test.each([
  [0.01, 1n],
  [1250.5, 125_050n],
  [89_999.99, 8_999_999n],
  [1.1, 110n],
  [10_000_000_000, 1_000_000_000_000n],
])('%p naira are %p kobo', (naira, expected) => {
  expect(kobo(naira)).toBe(expected);
});

test('a fraction of a kobo is an error, never rounded away', () => {
  expect(() => kobo(0.1 + 0.2)).toThrow(SyntaxError);
});

test('every amount is shown with exactly the kobo that it has', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 14n }), (amount) => {
      expect(inNaira(amount).replace(/\D/g, '').padStart(3, '0')).toBe(amount.toString().padStart(3, '0'));
    }),
  );
  expect(inNaira(2_975_047n)).toBe('NGN 29,750.47');
  expect(inNaira(-5n)).toBe('−NGN 0.05');
});
