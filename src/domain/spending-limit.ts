import { MAX_SUM_MINOR } from './money';

/**
 * The customer's spending limit that refuses a charge, if any does. Charges race, so SQL decides,
 * in `database/agreement/spending-limit.ts`.
 *
 * @param spent sums on the latest day and in the latest month counted, which its first day names
 * @param today `2026-11-21`, as the other days
 */
export function refusingLimit(
  amount: bigint,
  limits: { daily: bigint | null; monthly: bigint | null },
  spent: { day: string; onDay: bigint; month: string; inMonth: bigint },
  today: string,
): 'daily' | 'monthly' | undefined {
  // A sum of a later period, left by a clock that was set back, goes on.
  const onDay = (spent.day >= today ? spent.onDay : 0n) + amount;
  const inMonth = (spent.month >= `${today.slice(0, 7)}-01` ? spent.inMonth : 0n) + amount;
  if (onDay > (limits.daily ?? MAX_SUM_MINOR)) return 'daily';
  return inMonth > (limits.monthly ?? MAX_SUM_MINOR) ? 'monthly' : undefined;
}
