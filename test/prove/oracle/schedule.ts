import type { ChargeAnswer } from '../../storm/plan';
import type { Amount, Limit, Subscription } from '../plan';
import { DAY_MS, type Zone } from './calendar';

export interface Attempt {
  at: number;
  /** Undefined of a single charge. */
  subscription: number | undefined;
  customer: number;
  bank: number;
  kobo: Amount;
  /** The customer is asked, and the bank has a quarter of an hour. */
  approvalRequired: boolean;
  answer: ChargeAnswer;
  /** Over a limit the bank is not asked. */
  asked: boolean;
  status: 'pending' | 'successful' | 'declined';
  declineReason: string | null;
  /** Sent back of it. */
  refunded: Amount;
  /** Kept from being sent back by an exception. */
  held: Amount;
  /** The part that did not stay. */
  reversed: Amount;
  /** The limit that refused it. */
  limit: Limit | undefined;
  /** The terms in whose total it counts; undefined while it counts in no window. */
  countedUnder: number | undefined;
}

export interface Billing {
  n: number;
  dueAt: number;
  status: 'pending' | 'retrying' | 'successful' | 'failed' | 'skipped';
  /** Only if it failed or was skipped. */
  reason: string | undefined;
  /** Settled by its first attempt. */
  kobo: Amount;
  attempts: Attempt[];
}

interface Hold {
  reason: 'paused' | 'suspended';
  from: number;
  to: number | undefined;
}

export interface Schedule {
  terms: Subscription;
  kobo: Amount;
  maxBillings: number | undefined;
  nextN: number;
  ran: number;
  failedInARow: number;
  paused: boolean;
  /** Billings to come that the customer skips. */
  skips: Set<number>;
  holds: Hold[];
  ended: 'completed' | 'cancelled' | 'failed' | undefined;
  open:
    | {
        billing: Billing;
        reason: string;
        /** Only if the bank is silent. */
        closesAt: number | undefined;
        retryAt: number | undefined;
      }
    | undefined;
  billings: Billing[];
  asked: number;
  noticed: number | undefined;
  /** What both sides were told of the next billing. */
  told: Amount | undefined;
  notices: { n: number; dueAt: number; kobo: Amount }[];
}

export function newSchedule(terms: Subscription): Schedule {
  return {
    terms,
    kobo: terms.kobo,
    maxBillings: terms.maxBillings,
    nextN: 0,
    ran: 0,
    failedInARow: 0,
    paused: false,
    skips: new Set(),
    holds: [],
    ended: undefined,
    open: undefined,
    billings: [],
    asked: 0,
    noticed: undefined,
    told: undefined,
    notices: [],
  };
}

/** A raise after the notice is for the billing after. */
export const nextKobo = ({ kobo, told }: Schedule): Amount =>
  told !== undefined && told < kobo ? told : kobo;

export const attemptsOf = ({ billings }: Schedule): Attempt[] => billings.flatMap(({ attempts }) => attempts);

/** The next regular due date, unless there is none any more. */
export function nextOf(schedule: Schedule, zone: Zone): { n: number; at: number } | undefined {
  const { terms, nextN, ran, open, maxBillings, ended } = schedule;
  if (ended !== undefined) return undefined;
  if (maxBillings !== undefined && ran + (open ? 1 : 0) >= maxBillings) return undefined;
  const at = zone.due(terms.startAt, terms.frequency, terms.interval, nextN);
  // A charge due at the very end is made.
  return terms.endAt !== undefined && at > terms.endAt ? undefined : { n: nextN, at };
}

export function startHold({ holds }: Schedule, reason: Hold['reason'], from: number): void {
  if (!holds.some((one) => one.reason === reason && one.to === undefined))
    holds.push({ reason, from, to: undefined });
}

export function stopHold({ holds }: Schedule, reason: Hold['reason'], to: number): void {
  for (const one of holds) if (one.reason === reason) one.to ??= to;
}

/** Why nothing is charged that is due then. The customer's and the network's word comes first. */
export function wasHeld({ holds }: Schedule, at: number): Hold['reason'] | undefined {
  const reasons = holds
    .filter(({ from, to }) => from <= at && (to === undefined || at < to))
    .map((one) => one.reason);
  return reasons.includes('suspended') ? 'suspended' : reasons[0];
}

const RETRY_DAYS = [1, 3, 5];

/** The first of them that is after the last attempt, and before the next due date. */
export function firstRetry({ attempts }: Billing, nextDueAt: number, zone: Zone): number | undefined {
  const [first, last] = [attempts[0], attempts.at(-1)];
  if (!first || !last) return undefined;
  return RETRY_DAYS.map((days) => zone.plusDays(first.at, days)).find((at) => at > last.at && at < nextDueAt);
}

/** @param isOff the customer's permission does not hold */
export function statusOf(schedule: Schedule, endAt: number, isOff: boolean): string {
  const { ended, paused, open } = schedule;
  if (ended !== undefined) return ended;
  if (isOff || wasHeld(schedule, endAt) === 'suspended') return 'suspended';
  if (paused) return 'paused';
  const overdue = open && (open.retryAt !== undefined || open.billing.attempts.length > 1);
  return overdue ? 'past_due' : 'active';
}

/** So many billings of one schedule are begun within a day. */
const CATCH_UP = 3;

export function freeToCatchUp({ billings }: Schedule): number {
  const begun = billings.flatMap(({ attempts }) => attempts.slice(0, 1)).at(-CATCH_UP);
  return begun === undefined ? -Infinity : begun.at + DAY_MS;
}
