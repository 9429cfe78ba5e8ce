import type { Amount, Customer, Limits } from '../plan';
import type { Zone } from './calendar';

/** A customer's limits for a merchant, and the part that is used. */
export class Allowance {
  decision: 'approve_recurring' | 'approve_once' | 'suspended' | 'deny' = 'approve_recurring';
  limits: Limits;
  private readonly used = new Map<string, Amount>();

  constructor(
    readonly customer: Customer,
    private readonly zone: Zone,
  ) {
    this.limits = customer.limits;
  }

  private periods(at: number): { day: string; month: string } {
    const day = this.zone.dayOf(at);
    return { day, month: day.slice(0, 7) };
  }

  usedAt(at: number): Limits & { daily: Amount; monthly: Amount } {
    const { day, month } = this.periods(at);
    return { daily: this.used.get(day) ?? 0n, monthly: this.used.get(month) ?? 0n };
  }

  allows(at: number, kobo: Amount): boolean {
    const { daily, monthly } = this.usedAt(at);
    const { limits } = this;
    return (
      (limits.daily === undefined || daily + kobo <= limits.daily) &&
      (limits.monthly === undefined || monthly + kobo <= limits.monthly)
    );
  }

  take(at: number, kobo: Amount): boolean {
    if (!this.allows(at, kobo)) return false;
    this.add(at, kobo);
    return true;
  }

  /** A charge whose money did not move, or came back, counts no more on its day. */
  giveBack(at: number, kobo: Amount): void {
    this.add(at, -kobo);
  }

  private add(at: number, kobo: Amount): void {
    const { day, month } = this.periods(at);
    for (const period of [day, month]) this.used.set(period, (this.used.get(period) ?? 0n) + kobo);
  }
}
