import { addDays } from '../calendar';

/** Settlement days of one month, from the first to the last: a statement is of a day or a month. */
export interface Days {
  /** `2026-11-21`, in the network's zone. */
  first: string;
  last: string;
  /** Whether the month has more days to come, so that it is not final when these are. */
  goesOn?: boolean;
}

export const onDay = (date: string): Days => ({ first: date, last: date });

/** No day is later than `last`: the day after 9999-12-31 is written as an earlier one. */
export function eachDay({ first, last }: Days): string[] {
  const days = [first];
  for (let day = first; day < last;) days.push((day = addDays(day, 1)));
  return days;
}

/**
 * Lines of a statement that is hashed (SHA-256) while a request waits: less than a second. A longer
 * statement of a final day is hashed as its file is sent, or as its month is closed.
 */
export const HASHED_MAX = 10_000;

/** A number of movements, and their sum in minor units. */
export interface Movement {
  count: number;
  amount: bigint;
}

/** Movements of settlement days, in one currency, for one party. */
export const MOVEMENTS = [
  'charges',
  'refunds',
  'refundReturns', // completed refunds whose money came back
  'reversals',
  'credits', // of a bank: payments to its customers
  'creditsReversed', // of a bank: credits that did not stay
  'writeOffs', // of a bank: its debts that were written off
  'writeOffReturns', // of a bank: such debts that it has booked after all
] as const;

export type Movements = Record<(typeof MOVEMENTS)[number], Movement>;
