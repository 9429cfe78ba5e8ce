import type { ChargeAnswer, RefundAnswer } from '../storm/plan';
import { Random } from '../storm/random';
import { DAY_MS, type Frequency, type Zone } from './oracle/calendar';

/**
 * Years of billing, all of it drawn from the seed before anything starts: who subscribes to what,
 * what customers allow, what merchants, banks and the provider do in between, and how a bank
 * answers each charge. Whatever runs does so by test clocks that all begin on the same day, so the
 * same seed makes the same years, whenever it is run.
 */

export type Amount = bigint;

export interface Customer {
  n: number;
  bank: number;
  /** Answered to the first intent. */
  limits: Limits;
}

export const WINDOWS = ['daily', 'weekly', 'monthly', 'yearly', 'total'] as const;
export type Window = (typeof WINDOWS)[number];
/** In the order in which they refuse. */
export const LIMITS = [
  'perCharge',
  ...WINDOWS,
  ...WINDOWS.map((window): `count.${Window}` => `count.${window}`),
] as const;
export type Limit = (typeof LIMITS)[number];

/** In kobo, or charges; absent where there is none. */
export type Limits = Partial<Record<Limit, bigint>> & { validUntil?: number };

export interface Subscription {
  n: number;
  customer: number;
  frequency: Frequency;
  interval: number;
  startAt: number;
  endAt: number | undefined;
  maxBillings: number | undefined;
  kobo: Amount;
}

export type Resolution = 'no_money_moved' | 'reversed' | 'confirmed';

export type Deed =
  | { what: 'pause' | 'resume' | 'cancel'; subscription: number }
  | { what: 'amend'; subscription: number; kobo: Amount; maxBillings: number | undefined }
  | { what: 'limit'; customer: number; limits: Limits }
  /** The merchant asks for new terms, and the customer agrees to tighter ones. */
  | { what: 'renew'; customer: number; asked: Limits; limits: Limits }
  /** `ask`: the customer is asked each time. */
  | { what: 'suspend' | 'ask' | 'approve' | 'deny'; customer: number }
  /** The merchant gives up. */
  | { what: 'release'; customer: number }
  /** Until it is resumed, where no end is given. */
  | { what: 'pauseConsent'; customer: number; until: number | undefined }
  | { what: 'resumeConsent'; customer: number }
  | { what: 'skip' | 'unskip'; subscription: number; billing: number }
  | { what: 'distrust' | 'trust' }
  /** The bank says what became of the money, of the first exception that is open. */
  | { what: 'respond'; resolution: Resolution }
  /** The service is away until then, and nothing that is due meanwhile is done. */
  | { what: 'jump'; to: number }
  /** By `lookupID` the customer is asked, whatever it has approved. */
  | { what: 'bill'; customer: number; kobo: Amount; answer: ChargeAnswer; by: 'paymentID' | 'lookupID' }
  | {
      what: 'refund';
      subscription: number;
      billing: number;
      /** All that is left, if undefined. */
      kobo: Amount | undefined;
      answer: RefundAnswer;
    }
  /** The bank says what became of a refund that it has contradicted itself about. */
  | { what: 'settle'; refund: number; resolution: Resolution };

/** At a moment at which nothing else is due. */
export type Act = { n: number; at: number } & Deed;

/** A merchant has a test clock of its own, and customers whom nobody else bills. */
export interface MerchantPlan {
  n: number;
  customers: Customer[];
  subscriptions: Subscription[];
  acts: Act[];
  /** Charges made at these moments are not answered in time. */
  silentAt: Set<number>;
  jumps: boolean;
}

/** A customer who pays others, and is paid by them; no merchant bills it. */
export interface Account {
  n: number;
  /** Which of the banks. */
  bank: number;
}

/**
 * From one customer to another, as the payee's bank has asked for it: that bank has a test clock of
 * its own for these.
 */
export interface Payment {
  n: number;
  at: number;
  payer: Account;
  payee: Account;
  kobo: Amount;
  answer: ChargeAnswer;
  /**
   * Its later word on the exception that came of it, before anything else is paid to the payee's
   * bank.
   */
  response: { at: number; resolution: Resolution } | undefined;
}

export interface Plan {
  seed: number;
  zone: Zone;
  startAt: number;
  endAt: number;
  merchants: MerchantPlan[];
  accounts: Account[];
  /** By the payee's bank, and by time. */
  payments: Payment[];
}

export const BANKS = 2;
/** A bank has so long to confirm a charge that its customer has approved once and for all. */
export const SETTLEMENT_WINDOW_MS = DAY_MS;
export const ACT_HOUR = 15.5;

/** In time. The others are where `silentAt` has them. */
export const ANSWERS = {
  pay: 62,
  payTwice: 4,
  payAgain: 3,
  payThenDecline: 2,
  declineThenPay: 2,
  noFunds: 16,
  unavailable: 5,
  closedAccount: 3,
} as const satisfies Partial<Record<ChargeAnswer, number>>;
export const REFUND_ANSWERS = {
  complete: 6,
  completeTwice: 2,
  reject: 3,
  rejectThenComplete: 1,
  completeThenReject: 2,
} as const satisfies Partial<Record<RefundAnswer, number>>;

export function drawLimits(random: Random): Limits {
  const daily = random.next() < 0.2 ? BigInt(random.between(40, 150)) * 1_000n : undefined;
  const monthly = random.next() < 0.25 ? BigInt(random.between(80, 800)) * 1_000n : undefined;
  return { ...(daily !== undefined && { daily }), ...(monthly !== undefined && { monthly }) };
}

/** As a bank or a merchant sends them; null ends what held before. */
export function limitsSent(limits: Limits): Record<string, unknown> {
  const amounts = (['perCharge', ...WINDOWS] as const).map((name) => {
    const kobo = limits[name];
    return [name, kobo === undefined ? null : Number(kobo) / 100];
  });
  const counts = WINDOWS.map((window) => {
    const count = limits[`count.${window}`];
    return [window, count === undefined ? null : Number(count)];
  });
  const { validUntil } = limits;
  return {
    ...Object.fromEntries(amounts),
    count: Object.fromEntries(counts) as unknown,
    validUntil: validUntil === undefined ? null : new Date(validUntil).toISOString(),
  };
}

/**
 * Missed billings are made up for at once: chance decides then which of a customer's subscriptions
 * meets a limit first.
 */
export const mayBeLimited = ({ jumps }: MerchantPlan, subscriptions: number): boolean =>
  !jumps || subscriptions <= 1;

/** @param day of the plan's first year, 1 January being 1 */
export function dayAt({ zone, startAt }: Plan, day: number, hour: number): number {
  const year = Number(zone.dayOf(startAt).slice(0, 4));
  return zone.at(year, 1, day, hour);
}

/** After its moment a charge is made at once; so late it would be another one. */
const SILENT_FOR_MS = 15 * 60_000;

/**
 * The bank's answer to the n-th question for a charge of a subscription, n = 1, 2, …
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
