import type { Amount } from '../plan';
import type { Zone } from './calendar';
import type { Attempt } from './schedule';

/** What moved on one settlement day. */
export interface Day {
  charges: { count: number; amount: Amount };
  refunds: { count: number; amount: Amount };
  reversals: { count: number; amount: Amount };
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

  reversal(at: number, { bank }: Attempt, kobo: Amount): void {
    for (const { reversals } of this.daysOf(at, bank)) add(reversals, kobo);
  }

  private daysOf(at: number, bank: number): Day[] {
    const day = this.zone.dayOf(at);
    const ofBank = this.banks.get(bank) ?? new Map<string, Day>();
    this.banks.set(bank, ofBank);
    return [this.merchant, ofBank].map((days) => {
      const one = days.get(day) ?? emptyDay();
      days.set(day, one);
      return one;
    });
  }
}

const none = () => ({ count: 0, amount: 0n });
export const emptyDay = (): Day => ({ charges: none(), refunds: none(), reversals: none() });

function add(sum: { count: number; amount: Amount }, kobo: Amount): void {
  sum.count += 1;
  sum.amount += kobo;
}
