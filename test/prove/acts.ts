import type { RefundAnswer } from '../storm/plan';
import { Random } from '../storm/random';
import { DAY_MS } from './oracle/calendar';
import {
  ACT_HOUR,
  ANSWERS,
  dayAt,
  drawLimits,
  mayBeLimited,
  REFUND_ANSWERS,
  type Act,
  type Amount,
  type Deed,
  type MerchantPlan,
  type Plan,
} from './plan';

/** How many of each there are so far, in all merchants together. */
export type Numbers = Record<'customers' | 'subscriptions' | 'acts', number>;

const ACTS = {
  pause: 5,
  amend: 3,
  cancel: 1,
  limit: 2,
  suspend: 3,
  deny: 1,
  distrust: 2,
  bill: 4,
  refund: 9,
  respond: 6,
};

/**
 * Days on which a merchant's people do anything. Each is an advance of the clock of its own, at
 * whose end whatever sleeps is woken.
 */
const DAYS_MAX = 14;

/**
 * An act that holds something back is followed by one that lets it go on.
 *
 * @param dues of each subscription, by its number, as long as nothing comes in between
 * @returns by time
 */
export function drawActs(
  random: Random,
  plan: Plan,
  merchant: MerchantPlan,
  dues: ReadonlyMap<number, number[]>,
  count: number,
  numbers: Numbers,
): Act[] {
  const dayOf = (at: number) => Math.floor((at - plan.startAt) / DAY_MS) + 1;
  const last = dayOf(plan.endAt) - 120;
  const aDueOf = (subscription: number) => {
    const own = dues.get(subscription) ?? [];
    const which = random.between(0, Math.max(0, own.length - 1));
    // So that there is room for what follows.
    return { which, day: Math.min(dayOf(own[which] ?? plan.startAt), last) };
  };
  const days = new Days(
    Array.from({ length: Math.min(count * 2, DAYS_MAX) }, () => {
      return aDueOf(random.one(merchant.subscriptions).n).day + random.between(0, 2);
    }),
  );
  const limitsOf = (customer: number) => {
    const own = merchant.subscriptions.filter((one) => one.customer === customer);
    return mayBeLimited(merchant, own.length) ? drawLimits(random) : {};
  };
  const acts: Act[] = [];
  const kinds = Object.keys(ACTS) as (keyof typeof ACTS)[];
  for (let i = 0; i < count; i++) {
    // Each kind in each plan, as far as it goes; then by weight.
    const what = kinds[i + ((merchant.n * 4) % kinds.length)] ?? random.weighted(ACTS);
    const { n: subscription, kobo, customer } = random.one(merchant.subscriptions);
    const due = aDueOf(subscription);
    const about = what === 'distrust' || what === 'respond' ? 'everybody' : customer;
    const day = days.from(due.day, about);
    const until = () => days.from(day + random.between(2, 30), about);
    const add = (when: number, deed: Deed) =>
      void acts.push({ n: (numbers.acts += 1), at: dayAt(plan, when, ACT_HOUR), ...deed });
    switch (what) {
      case 'pause':
        add(day, { what, subscription });
        add(until(), { what: 'resume', subscription });
        break;
      case 'cancel':
        add(day, { what, subscription });
        break;
      case 'amend': {
        const maxBillings = random.next() < 0.3 ? random.between(4, 30) : undefined;
        add(day, { what, subscription, kobo: kobo + BigInt(random.between(1, 500)) * 5n, maxBillings });
        break;
      }
      case 'limit':
        add(day, { what, customer, limits: limitsOf(customer) });
        break;
      case 'suspend':
        add(day, { what: numbers.acts % 2 === 0 ? 'ask' : what, customer });
        add(until(), { what: 'approve', customer });
        break;
      case 'deny':
        add(day, { what, customer });
        break;
      case 'distrust':
        add(day, { what });
        add(until(), { what: 'trust' });
        break;
      case 'respond':
        add(day, { what, resolution: random.one(RESOLUTIONS) });
        break;
      case 'bill': {
        const answer = random.weighted(ANSWERS);
        const by = numbers.acts % 2 === 0 ? 'lookupID' : 'paymentID';
        add(day, { what, customer, kobo: BigInt(random.between(100, 9_999)) * 5n, answer, by });
        break;
      }
      case 'refund': {
        // Some of a charge, then a kobo more than is left of it, then what is left.
        const part = (kobo * BigInt(random.between(1, 4))) / 5n;
        const refund = (when: number, amount: Amount | undefined) => {
          const answer = random.weighted(REFUND_ANSWERS);
          add(when, { what, subscription, billing: due.which, kobo: amount, answer });
        };
        refund(day, part);
        refund(until(), kobo - part + 1n);
        refund(until(), undefined);
      }
    }
  }
  const jump = merchant.jumps ? jumpBetween(random, plan, byTime(acts), dayOf, numbers) : undefined;
  const isAway = (at: number) => jump?.what === 'jump' && at >= jump.at && at <= jump.to;
  const settlements = acts.flatMap(({ n: refund, at, ...deed }): Act[] => {
    if (deed.what !== 'refund' || !isContradicted(deed.answer)) return [];
    const customer = merchant.subscriptions.find(({ n }) => n === deed.subscription)?.customer ?? 0;
    const on = (day: number) => dayAt(plan, days.from(day, customer), ACT_HOUR);
    let when = on(dayOf(at) + 1);
    while (isAway(when)) when = on(dayOf(when) + 1);
    // From a stream of its own: whatever else is drawn does not depend on it.
    const resolution = new Random(plan.seed ^ Math.imul(refund, 0x9e3779b1)).one(RESOLUTIONS);
    return [{ n: SETTLEMENTS_FROM + refund, at: when, what: 'settle', refund, resolution }];
  });
  return byTime([...acts, ...settlements, ...(jump ? [jump] : [])]);
}

export const byTime = (all: Act[]) => all.toSorted((a, b) => a.at - b.at || a.n - b.n);

/** Numbers of acts that settle a refund: its own beyond this. */
const SETTLEMENTS_FROM = 1_000_000;
const RESOLUTIONS = ['no_money_moved', 'reversed', 'confirmed'] as const;
const isContradicted = (answer: RefundAnswer) =>
  answer === 'completeThenReject' || answer === 'rejectThenComplete';

const JUMP_MAX_DAYS = 60;
/** Catching up goes on day by day from this time, at which nobody does anything else. */
const BACK_HOUR = 17.5;

/** From the day after one act to the day before the next: some weeks, where there is the room. */
function jumpBetween(
  random: Random,
  plan: Plan,
  acts: readonly Act[],
  dayOf: (at: number) => number,
  numbers: Numbers,
): Act | undefined {
  const gaps = acts.flatMap(({ at }, i) => {
    const [from, to] = [dayOf(at) + 1, dayOf(acts[i + 1]?.at ?? at) - 1];
    return to - from >= 3 ? [{ from, to: Math.min(to, from + JUMP_MAX_DAYS) }] : [];
  });
  if (gaps.length === 0) return undefined;
  const { from, to } = random.one(gaps.slice(0, Math.ceil(gaps.length / 2)));
  const [at, back] = [dayAt(plan, from, ACT_HOUR), dayAt(plan, to, BACK_HOUR)];
  return { n: (numbers.acts += 1), at, what: 'jump', to: back };
}

/**
 * On a day each customer is met by one act at most, and by none where one meets everybody: what
 * comes of an act comes after it, while the next one is already under way.
 */
class Days {
  private readonly days: number[];
  private readonly met = new Map<number, Set<number | 'everybody'>>();

  constructor(days: number[]) {
    this.days = days.toSorted((a, b) => a - b);
  }

  from(day: number, about: number | 'everybody'): number {
    const isFree = (one: number) => {
      const met = this.met.get(one);
      if (about === 'everybody') return met === undefined;
      return !met?.has(about) && !met?.has('everybody');
    };
    let found = this.days.find((one) => one >= day && isFree(one));
    if (found === undefined) {
      found = day;
      while (!isFree(found)) found += 1;
      this.days.push(found);
      this.days.sort((a, b) => a - b);
    }
    this.met.set(found, (this.met.get(found) ?? new Set()).add(about));
    return found;
  }
}
