import { billingRetryAt } from '../../../src/domain/recurring/billing-retry';

describe('a declined billing', () => {
  const days = [1, 3, 5];
  const firstAttemptAt = new Date('2026-06-01T09:00:00.000Z');
  const monthLater = new Date('2026-07-01T09:00:00.000Z');

  function retry(lastAttempt: string, nextDueDate = monthLater, table = days): string | undefined {
    const billing = { firstAttemptAt, lastAttemptAt: new Date(lastAttempt), nextDueDate };
    return billingRetryAt(billing, table, 'Africa/Lagos')?.toISOString();
  }

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
