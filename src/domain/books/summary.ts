import type { KindOfReason } from '../charge';
import { groupBy } from '../group';
import type { Movement } from './statement';

export type DailyTotal = Movement & {
  /** `2026-11-21`, in the network's zone. */
  day: string;
  currency: string;
} & (
    | { what: 'charged' | 'refunded' | 'returned' | 'reversed'; reason: '' }
    | { what: 'declined'; reason: KindOfReason }
  );

/** A day in one currency, or all days of it. */
export interface Activity {
  currency: string;
  charged: Movement;
  declined: Movement & { reasons: ({ reason: KindOfReason } & Movement)[] };
  refunded: Movement;
  /** Completed refunds whose money came back. */
  returned: Movement;
  reversed: Movement;
}

/** Most days of one summary: a quarter of a year. */
export const SUMMARY_DAYS_MAX = 92;

const DAY_MS = 86_400_000;

/** The number of days from one to the other, both included. */
export function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1;
}

/** @returns in order of day and currency; days without movements are left out */
export function summarized(lines: DailyTotal[]) {
  return {
    days: inOrder(lines, ({ day, currency }) => `${day} ${currency}`).map(([key, ofDay]) => ({
      date: key.slice(0, key.indexOf(' ')),
      ...activityOf(ofDay),
    })),
    totals: inOrder(lines, ({ currency }) => currency).map(([, ofAll]) => activityOf(ofAll)),
  };
}

const inOrder = <Line, Key extends string>(lines: Line[], keyOf: (line: Line) => Key) =>
  [...groupBy(lines, keyOf)].toSorted(([a], [b]) => (a < b ? -1 : 1));

/** @param lines of one currency */
function activityOf(lines: DailyTotal[]): Activity {
  const of = (what: DailyTotal['what']) => added(lines.filter((line) => line.what === what));
  const declined = lines.flatMap((line) => (line.what === 'declined' ? [line] : []));
  return {
    currency: lines[0]?.currency ?? '',
    charged: of('charged'),
    declined: {
      ...added(declined),
      reasons: inOrder(declined, ({ reason }) => reason).map(([reason, some]) => ({
        reason,
        ...added(some),
      })),
    },
    refunded: of('refunded'),
    returned: of('returned'),
    reversed: of('reversed'),
  };
}

function added(some: Movement[]): Movement {
  const sum = { count: 0, amount: 0n };
  for (const { count, amount } of some) {
    sum.count += count;
    sum.amount += amount;
  }
  return sum;
}

/**
 * The share of decided charges that were successful, from 0 to 1 with four decimals; null if none
 * was decided.
 */
export function successRate({ charged, declined }: Activity): number | null {
  const decided = charged.count + declined.count;
  return decided === 0 ? null : Math.round((charged.count / decided) * 10_000) / 10_000;
}
