import type { KindOfReason } from '../charge';
import type { Movement } from './statement';

/** What a party has moved on the days of a span, and of these together. */

/** A line of what is kept: of one day and currency, one kind of thing. */
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

/** How many days there are from one to another, both of them counted. */
export function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1;
}

export const firstOfMonth = (day: string) => `${day.slice(0, 7)}-01`;

/** What is not there yet, beginning with nothing. */
const nothing = (currency: string): Activity => ({
  currency,
  charged: { count: 0, amount: 0n },
  declined: { count: 0, amount: 0n, reasons: [] },
  refunded: { count: 0, amount: 0n },
  returned: { count: 0, amount: 0n },
  reversed: { count: 0, amount: 0n },
});

/**
 * Adds the lines up, of each day by itself and of all together.
 *
 * @returns in order of day and currency; days on which nothing has moved are left out
 */
export function summarized(lines: readonly DailyTotal[]): {
  days: (Activity & { date: string })[];
  totals: Activity[];
} {
  const days = new Map<string, Activity & { date: string }>();
  const totals = new Map<string, Activity>();
  for (const line of lines.toSorted(inOrder)) {
    const { day, currency } = line;
    const key = `${day} ${currency}`;
    const ofDay = days.get(key) ?? { date: day, ...nothing(currency) };
    const ofAll = totals.get(currency) ?? nothing(currency);
    days.set(key, ofDay);
    totals.set(currency, ofAll);
    count(ofDay, line);
    count(ofAll, line);
  }
  return {
    days: [...days.values()],
    totals: [...totals.values()].toSorted((a, b) => (a.currency < b.currency ? -1 : 1)),
  };
}

const inOrder = (a: DailyTotal, b: DailyTotal) =>
  `${a.day} ${a.currency} ${a.reason}` < `${b.day} ${b.currency} ${b.reason}` ? -1 : 1;

function count(activity: Activity, line: DailyTotal): void {
  add(activity[line.what], line);
  if (line.what !== 'declined') return;
  const { reasons } = activity.declined;
  const known = reasons.find(({ reason }) => reason === line.reason);
  if (known) add(known, line);
  else reasons.push({ reason: line.reason, count: line.count, amount: line.amount });
}

function add(movement: Movement, more: Movement): void {
  movement.count += more.count;
  movement.amount += more.amount;
}

/**
 * The part of all that was decided that was charged, from 0 to 1 with four decimals; null where
 * nothing was.
 */
export function successRate({ charged, declined }: Activity): number | null {
  const decided = charged.count + declined.count;
  return decided === 0 ? null : Math.round((charged.count / decided) * 10_000) / 10_000;
}
