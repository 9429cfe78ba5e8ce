import { dueDate, type Frequency } from '../calendar';
import { billingRetryAt, isRetryable } from './billing-retry';
import type { Limit } from '../spending-limit';
import { hasEnded, type ScheduleStatus } from './recurring';
import { isHeld, type ChargeOutcome, type Facts, type HeldFor, type NextBilling } from './recurring-step';

/** The moments that `nextStep` compares, computed from the calendar and the network's settings. */

export interface RecurringRules {
  /** IANA zone of due dates. */
  timeZone: string;
  /** Days after the first attempt at which a declined billing is tried again, in rising order. */
  retryDays: readonly number[];
  /** Most billings of one schedule that are begun within 24 h. */
  catchUpPerDay: number;
  /** A due date this many days late is still charged; a later one is skipped. */
  arrearsDays: number;
  /** Both sides are told of a charge this long before. */
  noticeHours: number;
  /** Schedules of one due moment whose workflows wake in one second. */
  dueRate: number;
}

/** A schedule as agreed, and how far it has come. */
export interface Schedule {
  startAt: Date;
  frequency: Frequency;
  interval: number;
  /** A billing due at this very moment is still charged. */
  endAt: Date | null;
  maxBillings: number | null;
  createdAt: Date;
  status: ScheduleStatus;
  /** The first billing neither charged nor skipped yet. */
  nextN: number;
  /** The last billing that both sides were told of beforehand. */
  noticedN: number | null;
  /** Billings that succeeded or failed; skipped ones did not run. */
  ran: number;
  failedInARow: number;
}

/** The billing in hand, from its rows. */
export interface InHand {
  n: number;
  attempts: number;
  firstAttemptAt: Date;
  lastAttemptAt: Date;
  maybeDebited: boolean;
  isBooked: boolean;
  lapsed: boolean;
  status: 'pending' | 'retrying';
  /** Set only while the billing is retrying. */
  retryAt: Date | null;
  chargeStatus: 'pending' | 'successful' | 'declined';
  /** The latest attempt's, in the bank's words. */
  declineReason: string | null;
  declinedLimit: Limit | null;
  expiresAt: Date;
}

export interface Billings {
  open: InHand | undefined;
  /**
   * When the latest billings were first charged, newest first; `catchUpPerDay` of them are enough.
   */
  starts: readonly Date[];
  /** Reason why the schedule's next billing is not charged; null where it is. */
  heldFor: HeldFor | null;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The span in which `catchUpPerDay` billings may be begun. */
const CATCH_UP_SPAN_MS = DAY_MS;

export function factsOf(schedule: Schedule, billings: Billings, now: Date, rules: RecurringRules): Facts {
  const { status, failedInARow } = schedule;
  const { open } = billings;
  const next = nextBilling(schedule, open !== undefined, rules);
  return {
    now: now.getTime(),
    status,
    failedInARow,
    next: next ? nextOf(schedule, next, billings, rules) : null,
    open: open ? openOf(schedule, open, rules) : null,
  };
}

/**
 * @param later a billing after the next, and how many billings before it will be skipped
 * @returns undefined where the schedule has ended, or `maxBillings` or `endAt` excludes it
 */
export function nextBilling(
  schedule: Schedule,
  hasOpen: boolean,
  rules: RecurringRules,
  { n, skipped } = { n: schedule.nextN, skipped: 0 },
): { n: number; dueAt: Date } | undefined {
  if (hasEnded(schedule.status)) return undefined;
  // The open billing will run, however it ends.
  const used = schedule.ran + (hasOpen ? 1 : 0) + n - schedule.nextN - skipped;
  if (schedule.maxBillings !== null && used >= schedule.maxBillings) return undefined;
  const dueAt = due(schedule, n, rules);
  return schedule.endAt !== null && dueAt > schedule.endAt ? undefined : { n, dueAt };
}

function nextOf(
  schedule: Schedule,
  next: { n: number; dueAt: Date },
  { starts, heldFor }: Billings,
  rules: RecurringRules,
): NextBilling {
  const dueAt = next.dueAt.getTime();
  const oldest = starts[rules.catchUpPerDay - 1];
  const previous = next.n === 0 ? 0 : due(schedule, next.n - 1, rules).getTime();
  const noticeAt = Math.max(dueAt - rules.noticeHours * HOUR_MS, previous);
  return {
    n: next.n,
    dueAt,
    noticeAt: heldFor !== 'customer_skipped' && isNoticed(schedule, next.n, noticeAt) ? noticeAt : null,
    chargeFrom: Math.max(dueAt, oldest ? oldest.getTime() + CATCH_UP_SPAN_MS : dueAt),
    arrearsFrom: dueAt + rules.arrearsDays * DAY_MS + 1,
    heldFor,
  };
}

/**
 * Daily and held schedules get no notice, nor does a billing that was announced, or whose notice
 * was due before the schedule was created.
 */
function isNoticed({ frequency, noticedN, createdAt, status }: Schedule, n: number, noticeAt: number) {
  return frequency !== 'daily' && noticedN !== n && noticeAt >= createdAt.getTime() && !isHeld(status);
}

function openOf(schedule: Schedule, open: InHand, rules: RecurringRules): Facts['open'] {
  const { n, attempts, maybeDebited, isBooked, lapsed, retryAt } = open;
  const nextDueDate = due(schedule, n + 1, rules);
  const billing = { n, attempts, overAt: nextDueDate.getTime(), maybeDebited, isBooked, lapsed };
  return open.status === 'retrying' && retryAt
    ? { ...billing, status: 'retrying', retryAt: retryAt.getTime() }
    : { ...billing, status: 'pending', charge: outcomeOf({ ...open, nextDueDate }, rules) };
}

function outcomeOf(
  open: InHand & { nextDueDate: Date },
  { retryDays, timeZone }: RecurringRules,
): ChargeOutcome {
  if (open.chargeStatus === 'pending') return { status: 'pending', expiresAt: open.expiresAt.getTime() };
  if (open.chargeStatus === 'successful') return { status: 'successful' };
  const isTriedAgain = open.declineReason !== null && isRetryable(open.declineReason, open.declinedLimit);
  const retryAt = isTriedAgain ? billingRetryAt(open, retryDays, timeZone) : undefined;
  return { status: 'declined', retryAt: retryAt?.getTime() ?? null };
}

function due({ startAt, frequency, interval }: Schedule, n: number, { timeZone }: RecurringRules): Date {
  return dueDate({ startAt, frequency, interval, timeZone }, n);
}

/** The amount of a schedule's next billing: a raise after its notice is for the one after it. */
export const nextAmount = (of: { amount: bigint; noticedAmount: bigint | null }): bigint =>
  of.noticedAmount !== null && of.noticedAmount < of.amount ? of.noticedAmount : of.amount;
