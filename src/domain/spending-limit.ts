import { MAX_SUM_MINOR } from './money';

/**
 * The spending limit of a customer that refuses a charge. The statement of the same name in
 * `database/agreement` decides, because charges race; a test holds it to this rule.
 */

/** Limits and sums of an agreement, in minor units; days and months as `2026-11-21`. */
export interface Spending {
  dailyLimit: bigint | null;
  monthlyLimit: bigint | null;
  /** The latest day counted; `-infinity` before the first charge. */
  spentDay: string;
  spentDayTotal: bigint;
  /** First day of the latest month counted. */
  spentMonth: string;
  spentMonthTotal: bigint;
}

/** @returns undefined if the amount may be charged on this day */
export function refusingLimit(
  spending: Spending,
  amount: bigint,
  today: string,
): 'daily' | 'monthly' | 'highest sum' | undefined {
  const { dailyLimit, monthlyLimit, spentDay, spentMonth } = spending;
  // A sum of a later period, left by a clock that was set back, goes on.
  const onDay = (spentDay >= today ? spending.spentDayTotal : 0n) + amount;
  const inMonth = (spentMonth >= `${today.slice(0, 7)}-01` ? spending.spentMonthTotal : 0n) + amount;
  if (dailyLimit !== null && onDay > dailyLimit) return 'daily';
  if (monthlyLimit !== null && inMonth > monthlyLimit) return 'monthly';
  return onDay > MAX_SUM_MINOR || inMonth > MAX_SUM_MINOR ? 'highest sum' : undefined;
}
