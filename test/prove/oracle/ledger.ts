import type { Amount } from '../plan';
import type { Zone } from './calendar';
import type { Attempt } from './schedule';

/**
 * Kinds of moves, and their sign in what a merchant is owed. A bank owes what its customers have
 * paid. `credits` are payments of others to them; `creditsReversed` are those that did not stay.
 */
const OWED_TO_MERCHANT = {
  charges: 1n,
  refunds: -1n,
  refundReturns: 1n,
  reversals: -1n,
  credits: 0n,
  creditsReversed: 0n,
};
const OWED_TO_BANK = {
  charges: -1n,
  refunds: 1n,
  refundReturns: -1n,
  reversals: 1n,
  credits: 1n,
  creditsReversed: -1n,
};

export type Kind = keyof typeof OWED_TO_MERCHANT;
export const KINDS = Object.keys(OWED_TO_MERCHANT) as Kind[];

export interface Day extends Record<Kind, { count: number; amount: Amount }> {
  /** Payments between two customers of one bank: they count twice, and are one line. */
  inside: number;
}

/** The merchant's book, and what each bank's customers paid of it. */
export class Booked {
  readonly merchant = new Map<string, Day>();
  readonly banks = new Map<number, Map<string, Day>>();

  constructor(private readonly zone: Zone) {}

  book(kind: Kind, at: number, { bank }: Attempt, kobo: Amount): void {
    const day = this.zone.dayOf(at);
    const ofBank = this.banks.get(bank) ?? new Map<string, Day>();
    this.banks.set(bank, ofBank);
    for (const days of [this.merchant, ofBank]) add(dayIn(days, day)[kind], kobo);
  }
}

export const emptyDay = (): Day => {
  const sums = KINDS.map((kind) => [kind, { count: 0, amount: 0n }]);
  return { ...(Object.fromEntries(sums) as Record<Kind, Day['charges']>), inside: 0 };
};

export function dayIn(days: Map<string, Day>, day: string): Day {
  const one = days.get(day) ?? emptyDay();
  days.set(day, one);
  return one;
}

const moved = (day: Day, owed: Record<Kind, bigint>): Amount =>
  KINDS.reduce((sum, kind) => sum + owed[kind] * day[kind].amount, 0n);

export const movedAtBank = (day: Day): Amount => moved(day, OWED_TO_BANK);
export const movedAtMerchant = (day: Day): Amount => moved(day, OWED_TO_MERCHANT);

export function add(sum: { count: number; amount: Amount }, kobo: Amount, count = 1): void {
  sum.count += count;
  sum.amount += kobo;
}
