import type { Amount } from '../plan';
import { inNaira, type Difference } from './both';
import { DAY_MS } from './calendar';
import type { Day } from './ledger';
import type { SeenPosition } from './seen';

export interface Owed {
  toYou: Amount;
  byYou: Amount;
}

export class Positions {
  private readonly days = new Map<string, Map<string, Owed>>();

  add(side: 'merchant' | 'bank', counterpartyId: string, booked: ReadonlyMap<string, Day>): void {
    for (const [day, { charges, refunds, refundReturns, reversals }] of booked) {
      const [paid, back] = [charges.amount + refundReturns.amount, refunds.amount + reversals.amount];
      const owed = side === 'merchant' ? { toYou: paid, byYou: back } : { toYou: back, byYou: paid };
      this.owe(day, counterpartyId, owed);
    }
  }

  /** All of it that settled between the two on that day. */
  owe(day: string, counterpartyId: string, owed: Owed): void {
    const all = this.days.get(day) ?? new Map<string, Owed>();
    this.days.set(day, all.set(counterpartyId, owed));
  }

  compare(who: string, seen: ReadonlyMap<string, readonly SeenPosition[]>): Difference[] {
    const differences: Difference[] = [];
    for (const [day, positions] of seen) {
      const left = new Map([...(this.days.get(day) ?? [])].map(([id, owed]) => [id, shown(id, owed)]));
      const differ = (what: string) => void differences.push({ at: Date.parse(day) + DAY_MS, who, what });
      for (const { counterpartyId, currency, owedToYou, owedByYou, net } of positions) {
        const is = `${counterpartyId} owes it ${inFull(owedToYou)} and is owed ${inFull(owedByYou)}, net ${inFull(net)} ${currency}`;
        const should = left.get(counterpartyId);
        left.delete(counterpartyId);
        if (is !== should) differ(`its position of ${day} is, by the contract: ${should}; and it is: ${is}`);
      }
      for (const should of left.values()) differ(`its position of ${day} lacks: ${should}`);
    }
    return differences;
  }
}

const inFull = (naira: number) => naira.toFixed(2);

function shown(counterpartyId: string, { toYou, byYou }: Owed): string {
  return `${counterpartyId} owes it ${inNaira(toYou)} and is owed ${inNaira(byYou)}, net ${inNaira(toYou - byYou)} NGN`;
}
