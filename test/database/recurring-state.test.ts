import type { ScheduleRow } from '../../src/database/recurring';
import { inWords, type BillingInHand } from '../../src/database/recurring-state';

/** Of the row, what the words are made of. */
const schedule = {
  amount: 250_000n,
  currency: 'NGN',
  ran: 0,
  maxBillings: 3,
  nextN: 0,
  nextDueAt: new Date('2026-11-22T08:00:00Z'),
  status: 'active',
} as ScheduleRow;
const at = new Date('2026-11-22T08:00:00Z');
const second = {
  n: 1,
  attempts: 1,
  amount: 250_000n,
  firstAttemptAt: at,
  lastAttemptAt: at,
  maybeDebited: false,
  description: '',
};

describe('what a schedule waits for, in words', () => {
  it.each<[string, BillingInHand | undefined, string]>([
    ['the first', undefined, 'Next charge: billing 1 for 2500 NGN is due'],
    [
      'the second, which the bank was asked for',
      { ...second, status: 'pending', charge: { status: 'pending', expiresAt: at } },
      'Billing 2, attempt 1: asked the bank',
    ],
    [
      'the second, which is tried again',
      { ...second, status: 'retrying', retryAt: at, reason: 'insufficient_funds' },
      'Billing 2 was declined (insufficient_funds); attempt 2',
    ],
  ])('counts billings from 1: %s', (_, open, words) => {
    expect(inWords(schedule, open)).toMatch(words);
    expect(inWords(schedule, open)).toContain('0 of 3 billings have run');
  });
});
