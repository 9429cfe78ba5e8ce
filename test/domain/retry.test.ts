import * as fc from 'fast-check';
import { billingRetryAt, isRetryable, webhookRetryMs } from '../../src/domain/retry';

describe('a webhook that was not received', () => {
  const table = [5, 30, 120];

  it.each([
    [1, 0, 4_000],
    [1, 0.5, 5_000],
    [1, 1, 6_000],
    [2, 0, 24_000],
    [3, 1, 144_000],
    [4, 0.5, undefined],
  ])('after failure %i, with the dice at %d, waits %p ms', (failed, random, delayMs) => {
    expect(webhookRetryMs(table, failed, random)).toBe(delayMs);
  });

  it('waits what the table says, 20 % more or less, as often as the table is long', () => {
    const delays = fc.array(fc.integer({ min: 1, max: 604_800 }), { minLength: 1, maxLength: 50 });
    fc.assert(
      fc.property(delays, fc.double({ min: 0, max: 1, noNaN: true }), (delaysS, random) => {
        delaysS.forEach((delayS, i) => {
          const delayMs = webhookRetryMs(delaysS, i + 1, random) ?? NaN;
          expect(Math.abs(delayMs - delayS * 1000)).toBeLessThanOrEqual(delayS * 200);
        });
        expect(webhookRetryMs(delaysS, delaysS.length + 1, random)).toBeUndefined();
      }),
    );
  });
});

describe('a decline', () => {
  it.each(['insufficient_funds', 'limit_reached', 'temporarily_unavailable'])('for %s may pass', (reason) => {
    expect(isRetryable(reason)).toBe(true);
  });

  it.each(['expired', 'not_delivered', 'denied', 'account_closed', 'INSUFFICIENT_FUNDS', ''])(
    'for %j is final',
    (reason) => {
      expect(isRetryable(reason)).toBe(false);
    },
  );
});

describe('a declined billing', () => {
  const days = [1, 3, 5];
  const firstAttemptAt = new Date('2026-06-01T09:00:00.000Z');
  const monthLater = new Date('2026-07-01T09:00:00.000Z');

  function retry(lastAttempt: string, nextDueDate = monthLater, table = days): string | undefined {
    const billing = { firstAttemptAt, lastAttemptAt: new Date(lastAttempt), nextDueDate };
    return billingRetryAt(billing, table, 'Africa/Lagos')?.toISOString();
  }

  it.each([
    ['2026-06-01T09:00:00.000Z', '2026-06-02T09:00:00.000Z'],
    ['2026-06-02T09:00:00.000Z', '2026-06-04T09:00:00.000Z'],
    ['2026-06-04T09:00:00.010Z', '2026-06-06T09:00:00.000Z'],
    ['2026-06-06T09:00:00.000Z', undefined],
    // An attempt made late uses up the moments that passed before it.
    ['2026-06-05T12:00:00.000Z', '2026-06-06T09:00:00.000Z'],
    ['2026-06-20T12:00:00.000Z', undefined],
  ])('last tried at %s is tried again at %p, counted from the first attempt', (last, next) => {
    expect(retry(last)).toBe(next);
  });

  it.each([
    ['2026-06-02T09:00:00.001Z', '2026-06-02T09:00:00.000Z'],
    ['2026-06-02T09:00:00.000Z', undefined],
    ['2026-06-02T08:59:59.999Z', undefined],
  ])('with the next one due at %s is tried again at %p', (nextDueDate, next) => {
    expect(retry('2026-06-01T09:00:00.000Z', new Date(nextDueDate))).toBe(next);
  });

  it('takes the moments by time, in whatever order the table names them', () => {
    expect(retry('2026-06-01T09:00:00.000Z', monthLater, [5, 1])).toBe('2026-06-02T09:00:00.000Z');
    expect(retry('2026-06-02T09:00:00.000Z', monthLater, [5, 1])).toBe('2026-06-06T09:00:00.000Z');
  });

  it('keeps to the wall clock over a change to summer time, and to the second with fractions', () => {
    const billing = {
      firstAttemptAt: new Date('2026-03-07T17:00:00Z'),
      lastAttemptAt: new Date('2026-03-07T17:00:00Z'),
      nextDueDate: monthLater,
    };
    const at = (table: number[]) => billingRetryAt(billing, table, 'America/New_York')?.toISOString();
    expect(at([1])).toBe('2026-03-08T16:00:00.000Z');
    expect(at([0.5])).toBe('2026-03-08T05:00:00.000Z');
    expect(at([0.000_01])).toBe('2026-03-07T17:00:00.864Z');
  });
});
