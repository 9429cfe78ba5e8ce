import { LIMITS, WINDOWS, type Amount, type Customer, type Limit, type Limits, type Window } from '../plan';
import { DAY_MS, type Zone } from './calendar';
import type { Attempt } from './schedule';

/** A span in which the customer's permission does not hold. */
export interface Span {
  from: number;
  to: number | undefined;
}

/** What a customer allows a merchant, and the part that is used. */
export class Allowance {
  decision: 'approve_recurring' | 'approve_once' | 'suspended' | 'deny' = 'approve_recurring';
  limits: Limits;
  /** Pauses, and permissions that have ended or will end. */
  readonly spans: (Span & { of: 'pause' | 'expiry' })[] = [];
  private terms = 1;
  private readonly used = new Map<string, Amount>();

  constructor(
    readonly customer: Customer,
    private readonly zone: Zone,
  ) {
    this.limits = customer.limits;
  }

  /** @param renewed of an approved intent: its total begins now */
  allow(at: number, limits: Limits, { renewed = false } = {}): void {
    this.limits = limits;
    if (renewed) this.terms += 1;
    this.end('expiry', at);
    if (limits.validUntil !== undefined)
      this.spans.push({ of: 'expiry', from: limits.validUntil, to: undefined });
  }

  pause(at: number, until: number | undefined): void {
    this.end('pause', at);
    this.spans.push({ of: 'pause', from: at, to: until });
  }

  end(of: 'pause' | 'expiry', at: number): void {
    for (const [i, one] of [...this.spans.entries()].toReversed()) {
      if (one.of !== of) continue;
      if (one.from >= at) this.spans.splice(i, 1);
      else if (one.to === undefined || one.to > at) one.to = at;
    }
  }

  isOff(at: number, of?: 'pause' | 'expiry'): boolean {
    return this.spans.some((one) => (of ?? one.of) === one.of && one.from <= at && at < (one.to ?? Infinity));
  }

  /** The first span that begins or goes on after a moment. */
  offAfter(at: number): Span | undefined {
    return this.spans.filter(({ to }) => to === undefined || to > at).toSorted((a, b) => a.from - b.from)[0];
  }

  /** The next moment at which a span begins or ends. */
  turnAfter(at: number): number {
    return Math.min(
      ...this.spans.flatMap(({ from, to = Infinity }) => [from, to]).filter((turn) => turn > at),
    );
  }

  stateAt(at: number): string {
    if (this.decision === 'deny') return 'revoked';
    if (this.decision === 'suspended') return 'suspended';
    if (this.isOff(at, 'expiry')) return 'expired';
    return this.isOff(at, 'pause') ? 'paused' : 'active';
  }

  /** The days by the calendar of the network; weeks begin on Monday. */
  private windows(at: number, terms: number): Record<Window, string> {
    const day = this.zone.dayOf(at);
    const date = Date.parse(day);
    const monday = new Date(date - ((new Date(date).getUTCDay() + 6) % 7) * DAY_MS)
      .toISOString()
      .slice(0, 10);
    return {
      daily: day,
      weekly: `week of ${monday}`,
      monthly: day.slice(0, 7),
      yearly: day.slice(0, 4),
      total: `terms ${terms}`,
    };
  }

  /** Sums by window, and numbers of charges by `count` and window. */
  usedAt(at: number): Record<Exclude<Limit, 'perCharge'>, Amount> {
    const windows = this.windows(at, this.terms);
    const used = LIMITS.flatMap((limit) => {
      if (limit === 'perCharge') return [];
      const window = limit.replace('count.', '') as Window;
      return [[limit, this.used.get(keyOf(limit, windows[window])) ?? 0n]];
    });
    return Object.fromEntries(used) as Record<Exclude<Limit, 'perCharge'>, Amount>;
  }

  /** The first limit that refuses a charge. */
  limitOn(at: number, kobo: Amount): Limit | undefined {
    const used = this.usedAt(at);
    return LIMITS.find((limit) => {
      const most = this.limits[limit];
      if (most === undefined) return false;
      if (limit === 'perCharge') return kobo > most;
      return used[limit] + (isCount(limit) ? 1n : kobo) > most;
    });
  }

  /** The most that would be accepted; null where nothing bounds it. */
  chargeableAt(at: number): Amount | null {
    if (!this.decision.startsWith('approve') || this.isOff(at)) return 0n;
    const used = this.usedAt(at);
    let most: Amount | null = null;
    for (const limit of LIMITS) {
      const allowed = this.limits[limit];
      if (allowed === undefined) continue;
      const left = limit === 'perCharge' ? allowed : allowed - used[limit];
      if (isCount(limit)) {
        if (left <= 0n) return 0n;
      } else if (most === null || left < most) most = left < 0n ? 0n : left;
    }
    return most;
  }

  /** Counts a charge in the windows of its own moment, under the terms that hold. */
  count(attempt: Attempt): void {
    if (attempt.countedUnder !== undefined) return;
    attempt.countedUnder = this.terms;
    this.add(attempt, 1n);
  }

  /** A charge that did not take the money counts no more. */
  giveBack(attempt: Attempt): void {
    if (attempt.countedUnder === undefined) return;
    this.add(attempt, -1n);
    attempt.countedUnder = undefined;
  }

  private add({ at, kobo, countedUnder = 0 }: Attempt, sign: bigint): void {
    const windows = this.windows(at, countedUnder);
    for (const window of WINDOWS) {
      const [sum, count] = [keyOf(window, windows[window]), keyOf(`count.${window}`, windows[window])];
      this.used.set(sum, (this.used.get(sum) ?? 0n) + sign * kobo);
      this.used.set(count, (this.used.get(count) ?? 0n) + sign);
    }
  }
}

const isCount = (limit: Limit) => limit.startsWith('count.');
const keyOf = (limit: Limit, window: string) => `${isCount(limit) ? 'charges' : 'sum'} ${window}`;

/** Of each limit the tighter of the two. */
export function tightest(one: Limits, other: Limits): Limits {
  const both: Limits = { ...one, ...other };
  for (const name of [...LIMITS, 'validUntil'] as const) {
    const [a, b] = [one[name], other[name]];
    if (a !== undefined && b !== undefined) Object.assign(both, { [name]: a < b ? a : b });
  }
  return both;
}
