import { spanInWords } from '../../../src/domain/words/span';

const S = 1_000;
const HOUR = 3_600 * S;

it.each([
  [400, '0.4 s'],
  [99.9 * S, '99.9 s'],
  [100 * S, '2 minutes'],
  [15 * 60 * S, '15 minutes'],
  [100 * 60 * S, '2 hours'],
  // A window that has just begun.
  [24 * HOUR - 1, '24 hours'],
  [24 * HOUR, '24 hours'],
  [72 * HOUR, '3 days'],
])('%d ms are %s, as people say it', (ms, words) => {
  expect(spanInWords(ms)).toBe(words);
});
