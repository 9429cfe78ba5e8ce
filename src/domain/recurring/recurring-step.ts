import { dueDate, type Frequency } from '../calendar';
import { hasEnded, type ScheduleStatus } from './recurring';
import { billingRetryAt, isRetryable } from '../retry';

/**
 * The next step of a recurring schedule.
 *
 * `nextStep` is the whole rule: from the history and the time, it names one step. The caller does
 * the step, records it, and asks again, until the answer is to wait. The rule has no memory, so its
 * answer after an outage of a month is as right as after a second.
 */

export interface RecurringRules {
  /** IANA zone of due dates. */
  timeZone: string;
  /** Days after the first attempt at which a declined billing is tried again, in rising order. */
  retryDays: readonly number[];
  /** Most billings of one schedule that are begun within 24 h. */
  catchUpPerDay: number;
  /** A due date this many days late is still charged; a later one is skipped. */
  arrearsDays: number;
  /** Schedules of one due moment whose workflows wake in one second. */
  dueRate: number;
}

/** A schedule as agreed, with its progress. */
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

/** The billing in hand: a schedule has at most one. */
export type OpenBilling = {
  n: number;
  attempts: number;
  firstAttemptAt: Date;
  lastAttemptAt: Date;
  /**
   * The bank also approved an attempt and was refused, or booked it with another amount. It may
   * have debited, and the exception is not resolved yet.
   */
  maybeDebited: boolean;
} & ({ status: 'pending'; charge: ChargeOutcome } | { status: 'retrying'; retryAt: Date; reason: string });

export type ChargeOutcome =
  { status: 'pending'; expiresAt: Date } | { status: 'successful' } | { status: 'declined'; reason: string };

export interface Billings {
  open: OpenBilling | undefined;
  /** When the latest billings were first charged, newest first, up to `catchUpPerDay`. */
  starts: readonly Date[];
  /** Whether the due date of the schedule's next billing lies in a span without charges. */
  heldFor: 'paused' | 'suspended' | undefined;
}

export type SkipReason = 'arrears' | 'paused' | 'suspended';

export type Step =
  /** Ask the bank for the money; attempts count from 1. */
  | { do: 'charge'; n: number; attempt: number; dueAt: Date }
  | { do: 'succeed'; n: number }
  /** The latest attempt was declined; another comes at `retryAt`. */
  | { do: 'retry'; n: number; retryAt: Date; reason: string }
  /** The latest attempt was declined, and no other will be made. */
  | { do: 'fail'; n: number; reason: string }
  | { do: 'skip'; n: number; dueAt: Date; reason: SkipReason }
  /** Tell both sides that a charge is coming. */
  | { do: 'notify'; n: number; dueAt: Date }
  | { do: 'end'; as: 'completed' | 'failed' }
  | { do: 'wait'; until: Date }
  /** The schedule has ended, and nothing of it is open. */
  | { do: 'nothing' };

/** Failed billings in a row that end a schedule. */
const FAILURES_THAT_END = 3;
const DAY_MS = 86_400_000;
/** The time between the notice of a charge and the charge. */
const NOTICE_MS = DAY_MS;
const CATCH_UP_SPAN_MS = DAY_MS;

export function nextStep(schedule: Schedule, billings: Billings, now: Date, rules: RecurringRules): Step {
  const { open } = billings;
  if (open?.status === 'pending' && open.charge.status !== 'pending') {
    return settled(schedule, open, open.charge, rules);
  }
  if (hasEnded(schedule.status)) return afterTheEnd(open);
  if (schedule.failedInARow >= FAILURES_THAT_END) return { do: 'end', as: 'failed' };
  if (open?.status === 'retrying') {
    // Another attempt could take the money twice, as it could after silence.
    const over = open.maybeDebited || now >= due(schedule, open.n + 1, rules);
    if (over) return { do: 'fail', n: open.n, reason: open.reason };
    if (!isHeld(schedule) && now >= open.retryAt) {
      return { do: 'charge', n: open.n, attempt: open.attempts + 1, dueAt: due(schedule, open.n, rules) };
    }
  }
  const next = nextBilling(schedule, open !== undefined, rules);
  if (!next) return open ? waitFor(schedule, open, rules) : { do: 'end', as: 'completed' };
  const step =
    now < next.dueAt ? beforeDue(schedule, next, now) : whenDue(schedule, next, billings, now, rules);
  if (step.do !== 'wait' || !open) return step;
  const inHand = waitFor(schedule, open, rules);
  return inHand.until < step.until ? inHand : step;
}

export function nextBilling(
  schedule: Schedule,
  hasOpen: boolean,
  rules: RecurringRules,
): { n: number; dueAt: Date } | undefined {
  if (hasEnded(schedule.status)) return undefined;
  // The open billing will run, whichever way it ends.
  const used = schedule.ran + (hasOpen ? 1 : 0);
  if (schedule.maxBillings !== null && used >= schedule.maxBillings) return undefined;
  const dueAt = due(schedule, schedule.nextN, rules);
  return schedule.endAt !== null && dueAt > schedule.endAt ? undefined : { n: schedule.nextN, dueAt };
}

function settled(
  schedule: Schedule,
  open: OpenBilling,
  charge: Exclude<ChargeOutcome, { status: 'pending' }>,
  rules: RecurringRules,
): Step {
  if (charge.status === 'successful') return { do: 'succeed', n: open.n };
  const { reason } = charge;
  if (isRetryable(reason) && !open.maybeDebited && !hasEnded(schedule.status)) {
    const billing = { ...open, nextDueDate: due(schedule, open.n + 1, rules) };
    const retryAt = billingRetryAt(billing, rules.retryDays, rules.timeZone);
    if (retryAt) return { do: 'retry', n: open.n, retryAt, reason };
  }
  return { do: 'fail', n: open.n, reason };
}

/**
 * A charge that is still open when its schedule ends runs to its own end. A billing that waits for
 * a retry fails at once.
 */
function afterTheEnd(open: OpenBilling | undefined): Step {
  if (!open) return { do: 'nothing' };
  if (open.status === 'retrying') return { do: 'fail', n: open.n, reason: open.reason };
  return { do: 'wait', until: expiryOf(open.charge) };
}

function whenDue(
  schedule: Schedule,
  { n, dueAt }: { n: number; dueAt: Date },
  { open, starts, heldFor }: Billings,
  now: Date,
  rules: RecurringRules,
): Step {
  const arrearsFrom = new Date(dueAt.getTime() + rules.arrearsDays * DAY_MS + 1);
  const reason = heldFor ?? (now >= arrearsFrom ? 'arrears' : undefined);
  if (reason) return { do: 'skip', n, dueAt, reason };
  // Missed before the hold began: charged after the hold, unless that is too late.
  if (isHeld(schedule)) return { do: 'wait', until: arrearsFrom };
  if (open) return waitFor(schedule, open, rules);
  const oldest = starts[rules.catchUpPerDay - 1];
  const freeAt = oldest && new Date(oldest.getTime() + CATCH_UP_SPAN_MS);
  return freeAt && now < freeAt ? { do: 'wait', until: freeAt } : { do: 'charge', n, attempt: 1, dueAt };
}

/**
 * The notice comes a day ahead, late rather than never. There is none if the schedule is too young
 * for a day's notice, if it charges daily, or while it is held.
 */
function beforeDue(
  schedule: Schedule,
  { n, dueAt }: { n: number; dueAt: Date },
  now: Date,
): Extract<Step, { do: 'wait' | 'notify' }> {
  const noticeAt = new Date(dueAt.getTime() - NOTICE_MS);
  const wanted =
    schedule.frequency !== 'daily' &&
    schedule.noticedN !== n &&
    noticeAt >= schedule.createdAt &&
    !isHeld(schedule);
  if (!wanted) return { do: 'wait', until: dueAt };
  return now < noticeAt ? { do: 'wait', until: noticeAt } : { do: 'notify', n, dueAt };
}

function waitFor(
  schedule: Schedule,
  open: OpenBilling,
  rules: RecurringRules,
): Extract<Step, { do: 'wait' }> {
  if (open.status === 'pending') return { do: 'wait', until: expiryOf(open.charge) };
  return { do: 'wait', until: isHeld(schedule) ? due(schedule, open.n + 1, rules) : open.retryAt };
}

function expiryOf(charge: ChargeOutcome): Date {
  if (charge.status !== 'pending')
    throw new Error('an attempt with an outcome is settled before anything else');
  return charge.expiresAt;
}

function isHeld({ status }: Schedule): boolean {
  return status === 'paused' || status === 'suspended';
}

function due({ startAt, frequency, interval }: Schedule, n: number, { timeZone }: RecurringRules): Date {
  return dueDate({ startAt, frequency, interval, timeZone }, n);
}
