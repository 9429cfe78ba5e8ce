import type { BillingInHand } from '../../src/database/recurring/read-billings';
import type { ScheduleRow } from '../../src/database/schedule/lock-schedules';
import { eventsInWords, waitingInWords } from '../../src/activities/recurring';

/** The columns that the words are made of. */
const schedule = {
  amount: 250_000n,
  currency: 'NGN',
  bankName: 'Harbour Bank',
  ran: 0,
  maxBillings: 3,
  nextN: 0,
  nextDueAt: new Date('2026-11-22T08:00:00Z'),
  status: 'active',
} as ScheduleRow;
const at = new Date('2026-11-22T08:00:00Z');
const second: BillingInHand = {
  billingRequestId: 'brq_1',
  n: 1,
  attempts: 1,
  amount: 250_000n,
  firstAttemptAt: at,
  lastAttemptAt: at,
  maybeDebited: false,
  isBooked: false,
  lapsed: false,
  description: '',
  afterS: 0,
  status: 'pending',
  retryAt: null,
  chargeStatus: 'pending',
  declineReason: null,
  declinedLimit: null,
  expiresAt: at,
};

describe('what happened to a schedule, in words', () => {
  it.each<[string, Record<string, unknown>, string]>([
    [
      'billing_charged',
      { n: 1, attempt: 1, amount: '250000', reference: 'INV-2' },
      'Billing 2 of 3, attempt 1: NGN 2,500.00, reference INV-2.',
    ],
    ['billing_successful', { n: 3, afterS: 0.4 }, 'Billing 4 was approved by Harbour Bank after 0.4 s.'],
    [
      'billing_retrying',
      { n: 0, retryAt: at, reason: 'insufficient_funds', afterS: 7_200 },
      'Billing 1 of 3 was declined (insufficient_funds) after 2 hours; it is tried again at 2026-11-22T08:00:00.000Z.',
    ],
    [
      'billing_failed',
      { n: 0, reason: 'Mrs Ade has moved', afterS: 2 },
      'Billing 1 of 3 was declined (other) after 2 s, and is not tried again.',
    ],
    [
      'billing_skipped',
      { n: 2, dueAt: at.toISOString(), reason: 'paused' },
      'Billing 3 of 3, due at 2026-11-22T08:00:00.000Z, was skipped (paused).',
    ],
    ['completed', {}, 'Ended as completed.'],
  ])(
    'says which billing, how much and why, and repeats no words of a bank’s own: %s',
    (what, details, words) => {
      expect(eventsInWords([{ type: `schedule.${what}`, cause: 'network', details }], schedule)).toEqual([
        words,
      ]);
    },
  );
});

describe('what a schedule waits for, in words', () => {
  it.each<[string, BillingInHand | undefined, string]>([
    ['the first', undefined, 'Next charge: billing 1 for NGN 2,500.00 is due'],
    ['the second, which the bank was asked for', second, 'Billing 2, attempt 1: asked Harbour Bank'],
    [
      'the second, which is tried again',
      {
        ...second,
        status: 'retrying',
        retryAt: at,
        chargeStatus: 'declined',
        declineReason: 'insufficient_funds',
      },
      'Billing 2 was declined (insufficient_funds); attempt 2',
    ],
  ])('counts billings from 1: %s', (_, open, words) => {
    const said = waitingInWords({ schedule, open, delayMs: 0 });
    expect(said).toMatch(words);
    expect(said).toContain('0 of 3 billings have run');
  });

  it.each([
    [1, null, '1 billing has run'],
    [1, 1, '1 of 1 billing has run'],
    [2, 3, '2 of 3 billings have run'],
  ])('counts those that have run in the right number: %j of %j', (ran, maxBillings, words) => {
    const said = waitingInWords({ schedule: { ...schedule, ran, maxBillings }, open: undefined, delayMs: 0 });
    expect(said).toContain(`. ${words}.`);
  });

  it.each([
    ['completed', 'The schedule is completed. 0 of 3 billings have run.'],
    ['cancelled', 'The schedule is cancelled. 0 of 3 billings have run.'],
    ['failed', 'The schedule has failed. 0 of 3 billings have run.'],
  ] as const)('says of one that has ended how: %s', (status, words) => {
    const ended = { ...schedule, status, nextDueAt: null };
    expect(waitingInWords({ schedule: ended, open: undefined, delayMs: 0 })).toBe(words);
  });
});
