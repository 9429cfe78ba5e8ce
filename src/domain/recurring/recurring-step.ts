import { windowPassed } from '../window-passed';
import { hasEnded, type ScheduleStatus } from './recurring';

/**
 * The next step of a recurring schedule.
 *
 * `nextStep` is the whole order: from the facts, it names a step. The workflow takes the step and
 * asks again, until the answer is to wait. The rule has no memory, so its answer after an outage of
 * a month is as right as after a second.
 *
 * Facts are moments, never calendar rules: a workflow replayed years later, with newer time zone
 * data, decides as it did.
 */

/**
 * A schedule's state, as plain JSON without personal data. Moments are milliseconds since 1970, by
 * the merchant's clock.
 */
export interface Facts {
  now: number;
  status: ScheduleStatus;
  failedInARow: number;
  /** Null where no further billing comes. */
  next: NextBilling | null;
  /** The billing in hand: a schedule has at most one. */
  open: OpenBilling | null;
}

/** The first billing neither charged nor skipped. */
export interface NextBilling {
  n: number;
  dueAt: number;
  /** When both sides are told of the billing; null where they are not, or have been. */
  noticeAt: number | null;
  /** First moment to charge: later than `dueAt` where too many billings were begun within a day. */
  chargeFrom: number;
  /** First moment at which a charge is too late. */
  arrearsFrom: number;
  /** The customer has it skipped, or the due date lies in a span without charges. */
  heldFor: HeldFor | null;
}

type OpenBilling = {
  n: number;
  attempts: number;
  /** The next regular due date, charged or not. From this moment on no retry is made. */
  overAt: number;
  /**
   * The bank has also called an attempt approved, and was refused, or has booked it. The bank may
   * have debited: that is unresolved, or nothing says that the money came back.
   */
  maybeDebited: boolean;
  /** A file of the bank has booked an attempt that it declined, which is unresolved. */
  isBooked: boolean;
  /** The customer's consent has not held all the time since the latest attempt. */
  lapsed: boolean;
} & ({ status: 'pending'; charge: ChargeOutcome } | { status: 'retrying'; retryAt: number });

export type ChargeOutcome =
  | { status: 'pending'; expiresAt: number }
  | { status: 'successful' }
  /** When another attempt may come; null where this decline allows none. */
  | { status: 'declined'; retryAt: number | null };

export type HeldFor = 'paused' | 'suspended' | 'customer_skipped';

type SkipReason = HeldFor | 'arrears';

export type Step =
  /** Ask the bank for the money; attempts count from 1. */
  | { do: 'charge'; n: number; attempt: number }
  /** The bank has not answered the latest attempt in time. */
  | { do: 'expire'; n: number }
  | { do: 'succeed'; n: number }
  /** The latest attempt was declined; another comes at `retryAt`. */
  | { do: 'retry'; n: number; retryAt: number }
  /**
   * The latest attempt was declined, and no further attempt will be made. Counted are failures that
   * end a schedule.
   */
  | { do: 'fail'; n: number; counted: boolean }
  | { do: 'skip'; n: number; dueAt: number; reason: SkipReason }
  /** Tell both sides that a charge is coming. */
  | { do: 'notify'; n: number; dueAt: number }
  | { do: 'end'; as: 'completed' | 'failed' }
  | { do: 'wait'; until: number }
  /** The schedule has ended, and no charge is open. */
  | { do: 'nothing' };

type Wait = Extract<Step, { do: 'wait' }>;

/** Failed billings, with none that succeeded between them, that end a schedule. */
const FAILURES_THAT_END = 3;

export function nextStep(facts: Facts): Step {
  const { now, status, next, open } = facts;
  if (open?.status === 'pending') {
    if (open.charge.status !== 'pending') return settled(open, open.charge, status);
    if (windowPassed(open.charge.expiresAt, now)) return { do: 'expire', n: open.n };
  }
  if (hasEnded(status)) return afterTheEnd(open);
  if (facts.failedInARow >= FAILURES_THAT_END) return { do: 'end', as: 'failed' };
  if (open?.status === 'retrying') {
    if (open.lapsed) return { do: 'fail', n: open.n, counted: false };
    // Another attempt could take the money twice, as it could after silence.
    if (open.maybeDebited || now >= open.overAt) return { do: 'fail', n: open.n, counted: true };
    const attempt = attemptNow(open.attempts, open.retryAt, now);
    if (!isHeld(status) && !open.isBooked && attempt !== undefined)
      return { do: 'charge', n: open.n, attempt };
  }
  if (!next) return open ? waitFor(open, status) : { do: 'end', as: 'completed' };
  const step = now < next.dueAt ? beforeDue(next, now) : whenDue(next, facts);
  if (step.do !== 'wait' || !open) return step;
  const inHand = waitFor(open, status);
  return inHand.until < step.until ? inHand : step;
}

/** The bank has been asked, and has not answered. */
export function isAsked(open: OpenBilling | null): boolean {
  return open?.status === 'pending' && open.charge.status === 'pending';
}

/** The step for a billing whose attempt has an outcome. */
function settled(
  { n, maybeDebited, lapsed }: OpenBilling,
  charge: Exclude<ChargeOutcome, { status: 'pending' }>,
  status: ScheduleStatus,
): Step {
  if (charge.status === 'successful') return { do: 'succeed', n };
  const { retryAt } = charge;
  if (retryAt === null || maybeDebited || hasEnded(status)) return { do: 'fail', n, counted: true };
  return lapsed ? { do: 'fail', n, counted: false } : { do: 'retry', n, retryAt };
}

/**
 * At the end of its schedule, an open charge runs to its own end; a billing that waits for a retry
 * fails.
 */
function afterTheEnd(open: OpenBilling | null): Step {
  if (!open) return { do: 'nothing' };
  return open.status === 'retrying' ? { do: 'fail', n: open.n, counted: true } : waitFor(open, 'active');
}

/** A notice comes late rather than never. */
function beforeDue({ n, dueAt, noticeAt }: NextBilling, now: number): Step {
  if (noticeAt === null) return { do: 'wait', until: dueAt };
  return now < noticeAt ? { do: 'wait', until: noticeAt } : { do: 'notify', n, dueAt };
}

function whenDue(next: NextBilling, { now, status, open }: Facts): Step {
  const { n, dueAt, chargeFrom, arrearsFrom } = next;
  const reason = next.heldFor ?? (now >= arrearsFrom ? 'arrears' : null);
  if (reason) return { do: 'skip', n, dueAt, reason };
  // Missed before the hold began: it is charged when the hold is over, unless that comes too late.
  if (isHeld(status)) return { do: 'wait', until: arrearsFrom };
  if (open) return waitFor(open, status);
  const attempt = attemptNow(0, chargeFrom, now);
  return attempt === undefined ? { do: 'wait', until: chargeFrom } : { do: 'charge', n, attempt };
}

/** The moment at which the billing in hand changes by itself. */
function waitFor(open: OpenBilling, status: ScheduleStatus): Wait {
  if (open.status === 'retrying') {
    return { do: 'wait', until: isHeld(status) || open.isBooked ? open.overAt : open.retryAt };
  }
  if (open.charge.status !== 'pending') throw new Error('an attempt with an outcome is settled first');
  return { do: 'wait', until: open.charge.expiresAt };
}

export function isHeld(status: ScheduleStatus): boolean {
  return status === 'paused' || status === 'suspended';
}

/**
 * The attempt at a billing that begins now, if any; each begins once. Workflows race, so SQL
 * decides, in `database/recurring/charged-once.ts`.
 */
const attemptNow = (attempts: number, from: number, now: number): number | undefined =>
  now >= from ? attempts + 1 : undefined;
