import type { ScheduleRow } from '../../src/database/recurring/schedule';
import type { BillingInHand } from '../../src/database/recurring/billings';
import { stepInWords, waitingInWords } from '../../src/activities/recurring-words';

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
  billingRequestId: 'brq_1',
  n: 1,
  attempts: 1,
  amount: 250_000n,
  firstAttemptAt: at,
  lastAttemptAt: at,
  maybeDebited: false,
  description: '',
  afterS: 0,
};
const rest = { delayMs: 0 };

describe('what a step did, in words', () => {
  it.each<[Parameters<typeof stepInWords>[0], string]>([
    [
      { do: 'charge', n: 1, attempt: 1, dueAt: at, amount: 250_000n, reference: 'INV-2' },
      'Billing 2 of 3, attempt 1: 2500 NGN asked for, reference INV-2.',
    ],
    [{ do: 'succeed', n: 3, afterS: 0.4 }, 'Billing 4 was approved by the bank after 0.4 s.'],
    [{ do: 'succeed', n: 1, afterS: 0.4 }, 'Billing 2 of 3 was approved by the bank after 0.4 s.'],
    [
      { do: 'retry', n: 0, retryAt: at, reason: 'insufficient_funds', afterS: 2 },
      'Billing 1 of 3 was declined (insufficient_funds) after 2 s; it is tried again at 2026-11-22T08:00:00.000Z.',
    ],
    [
      { do: 'fail', n: 0, reason: 'Mrs Ade has moved', afterS: 2 },
      'Billing 1 of 3 was declined (other) after 2 s, and is not tried again.',
    ],
    [
      { do: 'skip', n: 2, dueAt: at, reason: 'paused' },
      'Billing 3 of 3, due at 2026-11-22T08:00:00.000Z, was skipped (paused).',
    ],
    [{ do: 'end', as: 'completed' }, 'Ended as completed.'],
  ])('says of whom, how much and why, and repeats no words of a bank’s own: %j', (step, words) => {
    expect(stepInWords(step, schedule)).toBe(words);
  });
});

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
    const said = waitingInWords({ ...rest, schedule, open });
    expect(said).toMatch(words);
    expect(said).toContain('0 of 3 billings have run');
  });

  it.each([
    [0, null, '0 billings have run'],
    [1, null, '1 billing has run'],
    [1, 1, '1 of 1 billing has run'],
    [1, 3, '1 of 3 billings has run'],
    [2, 3, '2 of 3 billings have run'],
  ])('counts those that have run in the right number: %j of %j', (ran, maxBillings, words) => {
    const said = waitingInWords({ ...rest, schedule: { ...schedule, ran, maxBillings }, open: undefined });
    expect(said).toContain(`. ${words}.`);
  });

  it.each([
    ['completed', 'The schedule is completed. 0 of 3 billings have run.'],
    ['cancelled', 'The schedule is cancelled. 0 of 3 billings have run.'],
    ['failed', 'The schedule has failed. 0 of 3 billings have run.'],
  ] as const)('says of one that has ended how: %s', (status, words) => {
    const ended = { ...schedule, status, nextDueAt: null };
    expect(waitingInWords({ ...rest, schedule: ended, open: undefined })).toBe(words);
  });
});
