import type { Amount } from '../plan';
import type { Zone } from './calendar';
import type { Attempt } from './schedule';

/** What moved on one settlement day. */
export interface Day {
  charges: { count: number; amount: Amount };
  refunds: { count: number; amount: Amount };
  /** Refunds whose money came back. */
  refundReturns: { count: number; amount: Amount };
  reversals: { count: number; amount: Amount };
  /** Of a bank: what others have paid to its customers, and what of it did not stay. */
  credits: { count: number; amount: Amount };
  creditsReversed: { count: number; amount: Amount };
  /**
   * Of these, those between two customers of it: they count twice, and are one line of its file.
   */
  inside: number;
}

/**
 * The merchant's book, and what each bank's customers paid of it. What a merchant was paid it is
 * owed, and the bank owes; what went back the other way round.
 */
export class Booked {
  readonly merchant = new Map<string, Day>();
  readonly banks = new Map<number, Map<string, Day>>();

  constructor(private readonly zone: Zone) {}

  charge(at: number, { bank, kobo }: Attempt): void {
    for (const { charges } of this.daysOf(at, bank)) add(charges, kobo);
  }

  refund(at: number, { bank }: Attempt, kobo: Amount): void {
    for (const { refunds } of this.daysOf(at, bank)) add(refunds, kobo);
  }

  refundReturn(at: number, { bank }: Attempt, kobo: Amount): void {
    for (const { refundReturns } of this.daysOf(at, bank)) add(refundReturns, kobo);
  }

  reversal(at: number, { bank }: Attempt, kobo: Amount): void {
    for (const { reversals } of this.daysOf(at, bank)) add(reversals, kobo);
  }

  private daysOf(at: number, bank: number): Day[] {
    const day = this.zone.dayOf(at);
    const ofBank = this.banks.get(bank) ?? new Map<string, Day>();
    this.banks.set(bank, ofBank);
    return [this.merchant, ofBank].map((days) => dayIn(days, day));
  }
}

const none = () => ({ count: 0, amount: 0n });
export const emptyDay = (): Day => ({
  charges: none(),
  refunds: none(),
  refundReturns: none(),
  reversals: none(),
  credits: none(),
  creditsReversed: none(),
  inside: 0,
});

/** The day as it is in the book, from now on if it was not. */
export function dayIn(days: Map<string, Day>, day: string): Day {
  const one = days.get(day) ?? emptyDay();
  days.set(day, one);
  return one;
}

/** What it comes to for the bank's balance: what its customers have paid, it owes. */
export const movedAtBank = ({ credits, creditsReversed, ...day }: Day): Amount =>
  credits.amount - creditsReversed.amount - movedAtMerchant({ credits, creditsReversed, ...day });

/** Likewise for the merchant's, which is owed what it is paid. */
export const movedAtMerchant = ({ charges, refunds, refundReturns, reversals }: Day): Amount =>
  charges.amount - refunds.amount + refundReturns.amount - reversals.amount;

export function add(sum: { count: number; amount: Amount }, kobo: Amount): void {
  sum.count += 1;
  sum.amount += kobo;
}
