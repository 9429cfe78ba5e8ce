import { Random } from '../storm/random';
import { drawActs, type Numbers } from './acts';
import { drawConsents } from './draw-consents';
import { drawPayments } from './make-payments';
import { DAY_MS, isLeapYear, Zone } from './oracle/calendar';
import {
  ACT_HOUR,
  BANKS,
  dayAt,
  drawLimits,
  mayBeLimited,
  type Customer,
  type MerchantPlan,
  type Plan,
  type Subscription,
} from './plan';

/** Due dates of one customer's subscriptions are apart: which charge meets a limit is no chance. */
const DUE_HOURS = [2.5, 7.25, 11.75, 20] as const;

/**
 * Zones of the network. Two of them change their clocks twice a year, at the time of the
 * first due hour or near it.
 */
const ZONES = ['Africa/Lagos', 'Europe/Berlin', 'America/New_York'] as const;

const FREQUENCIES = { daily: 5, weekly: 4, monthly: 4, yearly: 1 } as const;
const YEARS = 3;

/** @param billings about so many, before anything is paused or refused */
export function makePlan(seed: number, billings: number, startYear: number): Plan {
  const random = new Random(seed);
  const zone = new Zone(ZONES[seed % ZONES.length] ?? ZONES[0]);
  const plan: Plan = {
    seed,
    zone,
    startAt: zone.at(startYear, 1, 1, 9),
    endAt: zone.at(startYear + YEARS, 1, 1, ACT_HOUR),
    merchants: [],
    accounts: [],
    payments: [],
  };
  const few = Math.min(MERCHANTS_OF_FEW, Math.round(billings / BILLINGS_OF_FEW));
  const merchants = Math.max(1, few, Math.round(billings / BILLINGS_OF_MERCHANT));
  const numbers = { customers: 0, subscriptions: 0, acts: 0 };
  for (let n = 1; n <= merchants; n++) {
    plan.merchants.push(merchantPlan(random, plan, n, billings / merchants, numbers));
  }
  return { ...plan, ...drawPayments(plan, billings) };
}

/** Few billings are spread over merchants, so that many clocks move at once. */
const BILLINGS_OF_FEW = 40;
const MERCHANTS_OF_FEW = 8;
/** Each stop of a clock is work: a merchant with many has many fall due at one stop. */
const BILLINGS_OF_MERCHANT = 800;
/** So that a small run, too, has something of everything. */
const ACTS_MIN = 8;
const BILLINGS_OF_ACT = 25;
const BILLINGS_OF_SILENCE = 400;
const MERCHANTS_OF_JUMP = 3;

function merchantPlan(
  random: Random,
  plan: Plan,
  n: number,
  billings: number,
  numbers: Numbers,
): MerchantPlan {
  const merchant: MerchantPlan = {
    n,
    customers: [],
    subscriptions: [],
    acts: [],
    silentAt: new Set(),
    jumps: n % MERCHANTS_OF_JUMP === 1,
  };
  const dues: number[] = [];
  const duesBy = new Map<number, number[]>();
  // Half of them are where months differ in length.
  const days = [random.one(ENDS_OF_MONTHS), random.between(2, LAST_DAY_OF_STARTS)];
  while (dues.length < billings) {
    const customer = drawCustomer(random, (numbers.customers += 1));
    merchant.customers.push(customer);
    const hours = drawHours(random);
    if (!mayBeLimited(merchant, hours.length)) customer.limits = {};
    for (const hour of hours) {
      const subscription = drawSubscription(random, plan, customer, {
        n: (numbers.subscriptions += 1),
        startAt: dayAt(plan, random.one(days), DUE_HOURS[hour] ?? 0),
        most: Math.max(12, Math.floor(billings / 12)),
      });
      merchant.subscriptions.push(subscription);
      // To the kobo: what is charged is all that is allowed.
      if (hours.length === 1 && random.next() < 0.4) customer.limits.daily = subscription.kobo;
      const own = duesOf(plan, subscription);
      duesBy.set(subscription.n, own);
      dues.push(...own);
    }
  }
  const silences = Math.max(1, Math.floor(billings / BILLINGS_OF_SILENCE));
  for (let i = 0; i < silences; i++) {
    const at = dues[random.between(0, dues.length - 1)];
    // Silence at the very end would still be open.
    if (at !== undefined && at < plan.endAt - 2 * DAY_MS) merchant.silentAt.add(at);
  }
  const acts = Math.max(ACTS_MIN, Math.floor(billings / BILLINGS_OF_ACT));
  merchant.acts = drawActs(random, plan, merchant, duesBy, acts, numbers);
  addConsents(plan, merchant, numbers);
  return merchant;
}

/** For so many other customers there is one whose permission changes. */
const CUSTOMERS_OF_CONSENT = 4;

/** From a stream of its own: whatever else is drawn does not depend on it. */
function addConsents(plan: Plan, merchant: MerchantPlan, numbers: Numbers): void {
  const random = new Random(plan.seed ^ Math.imul(merchant.n, 0x27d4eb2f));
  for (let left = Math.ceil(merchant.customers.length / CUSTOMERS_OF_CONSENT); left > 0; left--) {
    const customer = drawCustomer(random, (numbers.customers += 1));
    // Of two, chance decides after a jump which one meets a limit first.
    const own = random.several(merchant.jumps ? 1 : random.between(1, 2), 2).map((hour) =>
      drawSubscription(random, plan, customer, {
        n: (numbers.subscriptions += 1),
        startAt: dayAt(plan, random.between(2, LAST_DAY_OF_STARTS), DUE_HOURS[hour] ?? 0),
        most: 60,
      }),
    );
    merchant.customers.push(customer);
    merchant.subscriptions.push(...own);
    const duesBy = new Map(own.map((one) => [one.n, duesOf(plan, one)]));
    merchant.acts = drawConsents(random, plan, merchant, { customer, own, duesBy }, numbers);
  }
}

const drawCustomer = (random: Random, n: number): Customer => ({
  n,
  bank: n % BANKS,
  limits: drawLimits(random),
});

function drawSubscription(
  random: Random,
  plan: Plan,
  { n: customer }: Customer,
  { n, startAt, most }: { n: number; startAt: number; most: number },
): Subscription {
  const frequency = random.weighted(FREQUENCIES);
  const drawn = Number(random.weighted({ 1: 8, 2: 2, 3: 1, 5: 1 }));
  const interval = frequency === 'yearly' ? 1 : drawn;
  const short = frequency === 'daily' ? SHORT_DAILY : SHORT;
  const [count, end] = [random.between(3, random.next() < 0.8 ? Math.min(short, most) : most), random.next()];
  const last = plan.zone.due(startAt, frequency, interval, count - 1);
  // Also where it could go on for ever: a charge a day for three years would be all that there is.
  const bounded = frequency === 'daily' || end < 0.9;
  return {
    n,
    customer,
    frequency,
    interval,
    startAt,
    maxBillings: bounded && end < 0.6 ? count : undefined,
    // At the very moment of its last due date, or a while after it.
    endAt:
      frequency === 'daily' || (bounded && end >= 0.2)
        ? last + (random.next() < 0.5 ? 0 : DAY_MS / 2)
        : undefined,
    kobo: BigInt(random.between(100, 9_999)) * 5n,
  };
}

/** Most subscriptions have so few billings, so that many are under way at once; others go on. */
const SHORT = 9;
const SHORT_DAILY = 30;
/** A merchant's begin on one of two days of the first quarter, so that many fall due together. */
const ENDS_OF_MONTHS = [29, 30, 31, 60, 91] as const;
const LAST_DAY_OF_STARTS = 95;

/** Which of them; most are due at the first two. */
function drawHours(random: Random): number[] {
  const count = random.weighted({ 1: 5, 2: 4, 3: 1 });
  if (count !== '3' && random.next() < 0.8) return count === '1' ? [1] : [0, 1];
  return random.several(Number(count), DUE_HOURS.length);
}

/** As long as nothing comes in between. */
function duesOf(plan: Plan, { startAt, frequency, interval, endAt, maxBillings }: Subscription): number[] {
  const dues: number[] = [];
  for (let n = 0; n < (maxBillings ?? Infinity); n++) {
    const at = plan.zone.due(startAt, frequency, interval, n);
    if (at > Math.min(plan.endAt, endAt ?? Infinity)) break;
    dues.push(at);
  }
  return dues;
}

/** The first leap year that has not begun: nobody's clock is beyond its beginning. */
export function startYearFrom(now: Date): number {
  let year = now.getUTCFullYear() + 1;
  while (!isLeapYear(year)) year += 1;
  return year;
}
