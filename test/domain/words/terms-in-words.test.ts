import { NO_LIMITS, type SpendingLimits } from '../../../src/domain/spending-limit';
import { termsInWords } from '../../../src/domain/words/terms-in-words';

const lagos = (text: string) => new Date(`${text}+01:00`);

describe('what a customer allows, in words', () => {
  test.each<[string, Partial<SpendingLimits>]>([
    ['Any amount.', {}],
    ['At most NGN 2,500 a charge.', { perCharge: 250_000n }],
    ['At most NGN 2,500.05 a day.', { daily: 250_005n }],
    ['At most NGN 1,234,567 a week and NGN 0.01 in all.', { weekly: 123_456_700n, total: 1n }],
    [
      'At most NGN 1 a charge, NGN 2 a day, NGN 3 a week, NGN 4 a month, NGN 5 a year and NGN 6 in all.',
      { perCharge: 100n, daily: 200n, weekly: 300n, monthly: 400n, yearly: 500n, total: 600n },
    ],
    ['Any amount, at most 1 charge a month.', { 'count.monthly': 1n }],
    [
      'Any amount, at most 1 charge a day, 2 charges a week, 3 charges a month, 4 charges a year and 5 charges in all.',
      {
        'count.daily': 1n,
        'count.weekly': 2n,
        'count.monthly': 3n,
        'count.yearly': 4n,
        'count.total': 5n,
      },
    ],
    [
      'At most NGN 2,500 a charge and NGN 10,000 a month, at most 2 charges a week, until 31 March 2027.',
      {
        perCharge: 250_000n,
        monthly: 1_000_000n,
        'count.weekly': 2n,
        validUntil: lagos('2027-04-01T00:00:00'),
      },
    ],
    ['Any amount, from 1 April 2027.', { validFrom: lagos('2027-04-01T00:00:00') }],
    [
      'Any amount, from 09:05 on 1 April 2027 until 12:30 on 2 April 2027.',
      { validFrom: lagos('2027-04-01T09:05:00'), validUntil: lagos('2027-04-02T12:30:00') },
    ],
    ['Any amount, at most 10,000 charges a year.', { 'count.yearly': 10_000n }],
  ])('"%s"', (words, limits) => {
    expect(termsInWords({ ...NO_LIMITS, ...limits }, 'NGN', 'Africa/Lagos')).toBe(words);
  });

  test.each([
    ['JPY', 2500n, 'At most JPY 2,500 a charge.'],
    ['KWD', 2_500_000n, 'At most KWD 2,500 a charge.'],
    ['KWD', 2_500_500n, 'At most KWD 2,500.500 a charge.'],
  ])('has the decimals of %s for %p', (currency, perCharge, words) => {
    expect(termsInWords({ ...NO_LIMITS, perCharge }, currency, 'UTC')).toBe(words);
  });

  test('dates are days of the network’s zone, also where a day begins after midnight', () => {
    const validUntil = new Date('2027-04-01T00:00:00Z');
    const until = (timeZone: string) => termsInWords({ ...NO_LIMITS, validUntil }, 'NGN', timeZone);
    expect(until('UTC')).toBe('Any amount, until 31 March 2027.');
    expect(until('America/New_York')).toBe('Any amount, until 20:00 on 31 March 2027.');
    // Cairo's clocks went from 23:59 on 24 April 2025 to 01:00.
    const summer = { ...NO_LIMITS, validFrom: new Date('2025-04-24T22:00:00Z') };
    expect(termsInWords(summer, 'EGP', 'Africa/Cairo')).toBe('Any amount, from 25 April 2025.');
  });
});
