import type { ChargeAnswer, RefundAnswer } from '../storm/plan';
import { Random } from '../storm/random';
import { DAY_MS, isLeapYear, Zone, type Frequency } from './oracle/calendar';

/**
 * Years of billing, all of it drawn from the seed before anything starts: who subscribes to what,
 * what customers allow, what merchants, banks and the provider do in between, and how a bank
 * answers each charge. Whatever runs does so by test clocks that all begin on the same day, so the
 * same seed makes the same years, whenever it is run.
 */

export type Amount = bigint;

export interface Customer {
  n: number;
  /** Which of the banks. */
  bank: number;
  /** In kobo; undefined where there is none. */
  limits: Limits;
}

export interface Limits {
  daily: Amount | undefined;
  monthly: Amount | undefined;
}

export interface Subscription {
  n: number;
  /** Its number. */
  customer: number;
  frequency: Frequency;
  interval: number;
  startAt: number;
  endAt: number | undefined;
  maxBillings: number | undefined;
  kobo: Amount;
}

type Resolution = 'no_money_moved' | 'reversed' | 'confirmed';

/** What people do. */
type Deed =
  | { what: 'pause' | 'resume' | 'cancel'; subscription: number }
  | { what: 'amend'; subscription: number; kobo: Amount; maxBillings: number | undefined }
  | { what: 'limit'; customer: number; limits: Limits }
  | { what: 'suspend' | 'approve' | 'deny'; customer: number }
  | { what: 'distrust' | 'trust' }
  /** The bank says what became of the money, of the first exception that is open. */
  | { what: 'respond'; resolution: Resolution }
  | { what: 'bill'; customer: number; kobo: Amount; answer: ChargeAnswer }
  | {
      what: 'refund';
      subscription: number;
      billing: number;
      /** What is left, where undefined. */
      kobo: Amount | undefined;
      answer: RefundAnswer;
    };

/** At a moment at which nothing else is due. */
export type Act = { n: number; at: number } & Deed;

/** A merchant has a test clock of its own, and customers whom nobody else bills. */
export interface MerchantPlan {
  n: number;
  customers: Customer[];
  subscriptions: Subscription[];
  /** By time. */
  acts: Act[];
  /** Charges made at these moments are not answered in time. */
  silentAt: Set<number>;
}

export interface Plan {
  seed: number;
  zone: Zone;
  /** When all test clocks begin. */
  startAt: number;
  /** And where they stop. */
  endAt: number;
  merchants: MerchantPlan[];
}

export const BANKS = 2;
/** A bank has so long to confirm a charge that its customer has approved once and for all. */
export const SETTLEMENT_WINDOW_MS = DAY_MS;
/** Due dates of one customer's subscriptions are apart: which charge meets a limit is no chance. */
const DUE_HOURS = [2.5, 7.25, 11.75, 20] as const;
/** Of acts. */
const ACT_HOUR = 15.5;

/**
 * Where the network is at home. Two of them change their clocks twice a year, at the time of the
 * first due hour or near it.
 */
const ZONES = ['Africa/Lagos', 'Europe/Berlin', 'America/New_York'] as const;

const FREQUENCIES = { daily: 3, weekly: 4, monthly: 5, yearly: 1 } as const;
/** How many years it is in each case, at most. */
const YEARS = 3;

/** In time. The others are where `silentAt` has them. */
const ANSWERS = {
  pay: 62,
  payTwice: 4,
  payAgain: 3,
  payThenDecline: 2,
  declineThenPay: 2,
  noFunds: 16,
  unavailable: 5,
  closedAccount: 3,
} as const satisfies Partial<Record<ChargeAnswer, number>>;
const REFUND_ANSWERS = {
  complete: 6,
  completeTwice: 2,
  reject: 3,
  rejectThenComplete: 1,
} as const satisfies Partial<Record<RefundAnswer, number>>;

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
  };
  const merchants = Math.max(1, Math.min(MERCHANTS_MAX, Math.round(billings / BILLINGS_OF_MERCHANT)));
  const numbers = { customers: 0, subscriptions: 0, acts: 0 };
  for (let n = 1; n <= merchants; n++) {
    plan.merchants.push(merchantPlan(random, plan, n, billings / merchants, numbers));
  }
  return plan;
}

/** So many clocks keep two cores busy, and no more. */
const MERCHANTS_MAX = 8;
const BILLINGS_OF_MERCHANT = 40;
/** So that a small run, too, has something of everything. */
const ACTS_MIN = 8;
const BILLINGS_OF_ACT = 25;
const BILLINGS_OF_SILENCE = 400;

type Numbers = Record<'customers' | 'subscriptions' | 'acts', number>;

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
  };
  const dues: number[] = [];
  while (dues.length < billings) {
    const customer = drawCustomer(random, (numbers.customers += 1));
    merchant.customers.push(customer);
    const hours = random.several(random.between(1, 3), DUE_HOURS.length);
    for (const hour of hours) {
      const subscription = drawSubscription(random, plan, customer, DUE_HOURS[hour] ?? 0, {
        n: (numbers.subscriptions += 1),
        most: Math.max(12, Math.floor(billings / 12)),
      });
      merchant.subscriptions.push(subscription);
      // To the kobo: what is charged is all that is allowed.
      if (hours.length === 1 && random.next() < 0.4) customer.limits.daily = subscription.kobo;
      dues.push(...duesOf(plan, subscription));
    }
  }
  const silences = Math.max(1, Math.floor(billings / BILLINGS_OF_SILENCE));
  for (let i = 0; i < silences; i++) {
    const at = dues[random.between(0, dues.length - 1)];
    // What is silent at the very end would still be open.
    if (at !== undefined && at < plan.endAt - 2 * DAY_MS) merchant.silentAt.add(at);
  }
  drawActs(random, plan, merchant, Math.max(ACTS_MIN, Math.floor(billings / BILLINGS_OF_ACT)), numbers);
  return merchant;
}

function drawCustomer(random: Random, n: number): Customer {
  const daily = random.next() < 0.2 ? BigInt(random.between(40, 150)) * 1_000n : undefined;
  const monthly = random.next() < 0.25 ? BigInt(random.between(80, 800)) * 1_000n : undefined;
  return { n, bank: n % BANKS, limits: { daily, monthly } };
}

function drawSubscription(
  random: Random,
  plan: Plan,
  { n: customer }: Customer,
  hour: number,
  { n, most }: { n: number; most: number },
): Subscription {
  const frequency = random.weighted(FREQUENCIES);
  const drawn = Number(random.weighted({ 1: 6, 2: 2, 3: 1, 5: 1 }));
  const interval = frequency === 'yearly' ? 1 : drawn;
  // Half of them begin where months differ in length.
  const day =
    random.next() < 0.5 ? random.one([29, 30, 31, 60, 91] as const) : random.between(2, DAYS_OF_STARTS);
  const startAt = dayAt(plan, day, hour);
  const [count, end] = [random.between(3, most), random.next()];
  const last = plan.zone.due(startAt, frequency, interval, count - 1);
  // Also where it could go on for ever: a charge a day for three years would be all that there is.
  const bounded = frequency === 'daily' || end < 0.6;
  return {
    n,
    customer,
    frequency,
    interval,
    startAt,
    maxBillings: bounded && end < 0.7 ? count : undefined,
    // At the very moment of its last due date, or a while after it.
    endAt: bounded && end >= 0.2 ? last + (random.next() < 0.5 ? 0 : DAY_MS / 2) : undefined,
    kobo: BigInt(random.between(100, 9_999)) * 5n,
  };
}

/** Beginnings within a quarter of a year, so that many fall due together. */
const DAYS_OF_STARTS = 95;

/** @param day of the plan's first year, 1 January being 1 */
function dayAt({ zone, startAt }: Plan, day: number, hour: number): number {
  const year = Number(zone.dayOf(startAt).slice(0, 4));
  return zone.at(year, 1, day, hour);
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

/** Each at a moment of its own; what holds something back is followed by what lets it go on. */
function drawActs(random: Random, plan: Plan, merchant: MerchantPlan, count: number, numbers: Numbers): void {
  const days = Math.floor((plan.endAt - plan.startAt) / DAY_MS) - 60;
  const free = random.several(Math.min(days - 10, count * 2), days);
  // Most of it happens in the first year.
  const early = () => 5 + Math.floor((free.pop() ?? 0) * (random.next() < 0.7 ? 0.35 : 1));
  const taken = new Set<number>();
  const momentFrom = (day: number) => {
    let one = day;
    while (taken.has(one)) one += 1;
    taken.add(one);
    return dayAt(plan, one, ACT_HOUR);
  };
  const kinds = Object.keys(ACTS) as (keyof typeof ACTS)[];
  const acts: Act[] = [];
  const add = (when: number, deed: Deed) => void acts.push({ n: (numbers.acts += 1), at: when, ...deed });
  for (let i = 0; i < count; i++) {
    // Each kind in each plan, as far as it goes; then by weight.
    const what = kinds[i + ((merchant.n * 4) % kinds.length)] ?? random.weighted(ACTS);
    const day = early();
    const at = momentFrom(day);
    const until = () => momentFrom(day + random.between(3, 30));
    const { n: subscription, kobo } = pick(random, merchant.subscriptions);
    const { n: customer } = pick(random, merchant.customers);
    switch (what) {
      case 'pause':
        add(at, { what, subscription });
        add(until(), { what: 'resume', subscription });
        break;
      case 'cancel':
        add(at, { what, subscription });
        break;
      case 'amend': {
        const maxBillings = random.next() < 0.3 ? random.between(4, 30) : undefined;
        add(at, { what, subscription, kobo: kobo + BigInt(random.between(1, 500)) * 5n, maxBillings });
        break;
      }
      case 'limit': {
        const limits = drawCustomer(random, customer).limits;
        add(at, { what, customer, limits });
        break;
      }
      case 'suspend':
        add(at, { what, customer });
        add(until(), { what: 'approve', customer });
        break;
      case 'deny':
        add(at, { what, customer });
        break;
      case 'distrust':
        add(at, { what });
        add(until(), { what: 'trust' });
        break;
      case 'respond':
        add(at, { what, resolution: random.one(['no_money_moved', 'reversed', 'confirmed'] as const) });
        break;
      case 'bill': {
        const answer = random.weighted(ANSWERS);
        add(at, { what, customer, kobo: BigInt(random.between(100, 9_999)) * 5n, answer });
        break;
      }
      case 'refund':
        drawRefunds(random, merchant, at, until, add);
        break;
    }
  }
  merchant.acts = acts.toSorted((a, b) => a.at - b.at);
}

/** Some of a charge, then a kobo more than is left of it, then what is left. */
function drawRefunds(
  random: Random,
  { subscriptions }: MerchantPlan,
  at: number,
  until: () => number,
  add: (at: number, deed: Deed) => void,
): void {
  const { n: subscription, kobo } = pick(random, subscriptions);
  const billing = random.between(0, 4);
  const part = (kobo * BigInt(random.between(1, 4))) / 5n;
  const refund = (when: number, amount: Amount | undefined) => {
    const answer = random.weighted(REFUND_ANSWERS);
    add(when, { what: 'refund', subscription, billing, kobo: amount, answer });
  };
  refund(at, part);
  refund(until(), kobo - part + 1n);
  refund(until(), undefined);
}

function pick<Thing>(random: Random, things: readonly Thing[]): Thing {
  return random.one(things as readonly [Thing, ...Thing[]]);
}

/** After its moment a charge is made at once; so late it would be another one. */
const SILENT_FOR_MS = 15 * 60_000;

/**
 * What the bank says when it is asked for a charge of a subscription for the n-th time, n = 1, 2, …
 *
 * @param at when it is asked
 */
export function answerTo(
  { seed }: Plan,
  { silentAt }: MerchantPlan,
  subscription: number,
  n: number,
  at: number,
): ChargeAnswer {
  const random = new Random(
    Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(subscription, 0x85ebca6b) ^ Math.imul(n, 0xc2b2ae35),
  );
  for (const moment of silentAt) {
    if (at >= moment && at < moment + SILENT_FOR_MS) return random.next() < 0.5 ? 'silence' : 'payTooLate';
  }
  return random.weighted(ANSWERS);
}

/** The first leap year that has not begun: nobody's clock is beyond its beginning. */
export function startYearFrom(now: Date): number {
  let year = now.getUTCFullYear() + 1;
  while (!isLeapYear(year)) year += 1;
  return year;
}
