import type { Random } from '../storm/random';
import { byTime, type Numbers } from './acts';
import { DAY_MS } from './oracle/calendar';
import {
  ACT_HOUR,
  dayAt,
  LIMITS,
  type Act,
  type Customer,
  type Deed,
  type Limit,
  type Limits,
  type MerchantPlan,
  type Plan,
  type Subscription,
} from './plan';

/** What a customer allows changes all the time; limits and subscriptions are of all kinds. */

/** How often a limit is drawn, and between what; amounts in hundreds of naira. */
const DRAWN: Record<Exclude<Limit, 'perCharge'>, readonly [number, number, number]> = {
  daily: [0.1, 2, 9],
  weekly: [0.1, 2, 15],
  monthly: [0.1, 3, 30],
  yearly: [0.1, 10, 60],
  total: [0.1, 10, 60],
  'count.daily': [0.1, 1, 2],
  'count.weekly': [0.1, 1, 4],
  'count.monthly': [0.1, 1, 6],
  'count.yearly': [0.1, 4, 20],
  'count.total': [0.1, 4, 20],
};

function drawLimits(random: Random): Limits {
  const drawn: Limits = {};
  for (const name of LIMITS) {
    if (name === 'perCharge') continue;
    const [chance, least, most] = DRAWN[name];
    const value = BigInt(random.between(least, most)) * (name.startsWith('count') ? 1n : 10_000n);
    if (random.next() < chance) drawn[name] = value;
  }
  return drawn;
}

/** How many of each kind a customer has, on average. */
const ACTS = { limit: 3, renew: 2, expire: 3, pauseConsent: 3, skip: 4 } as const;
const ACTS_OF_CUSTOMER = { least: 3, most: 8 };
/** Pauses and permissions end at this time, at which nobody does anything else. */
const END_HOUR = 15;

/** @returns all acts of the merchant, by time */
export function drawConsents(
  random: Random,
  plan: Plan,
  merchant: MerchantPlan,
  {
    customer: { n: customer },
    own,
    duesBy,
  }: { customer: Customer; own: Subscription[]; duesBy: ReadonlyMap<number, number[]> },
  numbers: Numbers,
): Act[] {
  const dayOf = (at: number) => Math.floor((at - plan.startAt) / DAY_MS) + 1;
  const last = dayOf(plan.endAt) - 120;
  const taken = new Set<number>();
  /** No other act meets this customer on that day, and the service is not away. */
  const isFree = (day: number) =>
    !taken.has(day) &&
    !merchant.acts.some((one) => {
      if (one.what === 'jump') return day >= dayOf(one.at) && day <= dayOf(one.to);
      return ['distrust', 'trust', 'respond'].includes(one.what) && dayOf(one.at) === day;
    });
  const from = (day: number) => {
    let free = Math.min(day, last);
    while (!isFree(free)) free += 1;
    taken.add(free);
    return free;
  };
  const acts: Act[] = [];
  const add = (day: number, deed: Deed) => {
    acts.push({ n: (numbers.acts += 1), at: dayAt(plan, day, ACT_HOUR), ...deed });
    return day;
  };
  const count = random.between(ACTS_OF_CUSTOMER.least, ACTS_OF_CUSTOMER.most);
  for (let i = 0; i < count; i++) {
    const { n: subscription, kobo } = random.one(own);
    const dues = duesBy.get(subscription) ?? [];
    const which = random.between(0, Math.max(0, dues.length - 1));
    const day = from(dayOf(dues[which] ?? plan.startAt) - random.between(0, 4));
    const later = () => from(day + random.between(2, 40));
    const limits = drawLimits(random);
    const what = random.weighted(ACTS);
    switch (what) {
      case 'limit': {
        const perCharge = kobo + BigInt(random.between(-20, 20)) * 5n;
        add(day, { what, customer, limits: random.next() < 0.4 ? { ...limits, perCharge } : limits });
        add(later(), { what, customer, limits: drawLimits(random) });
        break;
      }
      case 'renew':
        add(day, { what, customer, asked: limits, limits: drawLimits(random) });
        break;
      case 'expire': {
        const validUntil = dayAt(plan, day + random.between(1, 30), END_HOUR);
        add(day, { what: 'limit', customer, limits: { ...limits, validUntil } });
        const renewed = { customer, limits: drawLimits(random) };
        add(
          later(),
          random.next() < 0.5 ? { what: 'limit', ...renewed } : { what: 'renew', asked: {}, ...renewed },
        );
        break;
      }
      case 'pauseConsent': {
        const until = random.next() < 0.4 ? dayAt(plan, day + random.between(1, 30), END_HOUR) : undefined;
        add(day, { what, customer, until });
        if (until === undefined || random.next() < 0.3) add(later(), { what: 'resumeConsent', customer });
        break;
      }
      case 'skip': {
        const billing = which + random.between(0, 2);
        add(day, { what, subscription, billing });
        if (random.next() < 0.3) add(later(), { what: 'unskip', subscription, billing });
      }
    }
  }
  if (random.next() < 0.3) {
    const day = from(last - random.between(0, 300));
    add(day, { what: random.next() < 0.5 ? 'release' : 'deny', customer });
  }
  return whileTrusted(byTime([...merchant.acts, ...acts]));
}

/** A merchant that is not trusted gets no standing approval. */
function whileTrusted(acts: Act[]): Act[] {
  let trusted = true;
  return acts.filter(({ what }) => {
    if (what === 'trust' || what === 'distrust') trusted = what === 'trust';
    return what !== 'renew' || trusted;
  });
}
