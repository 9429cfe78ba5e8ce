import { formatAmount } from '../domain/money';
import type { ScheduleStatus } from '../domain/recurring';
import type { OpenBilling } from '../domain/recurring-step';
import type { Charge } from './billing-request';
import type { ScheduleRow } from './recurring';

/** How a schedule stands after a look, for the workflow that waits for it and for who watches that. */
export interface ScheduleState {
  status: ScheduleStatus;
  /** RFC 3339; null when no further billing comes. */
  nextBillingDate: string | null;
  /** Milliseconds after which its workflow looks again; null once it never will have anything to do. */
  sleepMs: number | null;
  /** In plain words, for operators: what it is waiting for. Ids, dates and amounts only. */
  waitingFor: string;
}

/** The billing in hand, and what it charges: that was settled by its first attempt, whatever is agreed since. */
export type BillingInHand = OpenBilling & Pick<Charge, 'amount' | 'description'>;

/**
 * How long after its due moment a schedule's own workflow looks, at least; and over how long the workflows of one moment
 * spread. Any worker has done the work by then (`advanceDueSchedule`): the look confirms it, and does what was left. Of
 * thousands that were due at once not so many wake at a time that others would notice.
 */
const OWN_LOOK_AFTER_MS = 60_000;
const OWN_LOOKS_SPREAD_MS = 240_000;
/** Within this time from when something was due, its workflow will have looked. */
export const OWN_LOOK_WITHIN_MS = OWN_LOOK_AFTER_MS + OWN_LOOKS_SPREAD_MS;

/** Where a test clock is in play, the workflow is exactly on time, for no worker looks ahead of it. */
export function ownSleepMs(actsAt: Date, { now, inRealTime }: ScheduleRow): number {
  const untilDueMs = Math.max(0, actsAt.getTime() - now.getTime());
  return inRealTime ? untilDueMs + OWN_LOOK_AFTER_MS + Math.random() * OWN_LOOKS_SPREAD_MS : untilDueMs;
}

/** What it is waiting for. People count billings from 1; the API's `n` begins at 0. */
export function inWords(schedule: ScheduleRow, open: BillingInHand | undefined): string {
  const sum = `${formatAmount((open ?? schedule).amount, schedule.currency)} ${schedule.currency}`;
  const ran = `${schedule.ran}${schedule.maxBillings === null ? '' : ` of ${schedule.maxBillings}`} billings have run`;
  if (open?.status === 'pending' && open.charge.status === 'pending') {
    const until = open.charge.expiresAt.toISOString();
    return `Billing ${open.n + 1}, attempt ${open.attempts}: asked the bank for ${sum}, which it may confirm until ${until}. ${ran}.`;
  }
  if (open?.status === 'retrying') {
    const at = open.retryAt.toISOString();
    return `Billing ${open.n + 1} was declined (${open.reason}); attempt ${open.attempts + 1} for ${sum} comes at ${at}. ${ran}.`;
  }
  if (schedule.nextDueAt === null) return `The schedule is ${schedule.status}. ${ran}.`;
  const next = `billing ${schedule.nextN + 1} for ${sum} is due at ${schedule.nextDueAt.toISOString()}`;
  return schedule.status === 'active'
    ? `Next charge: ${next}. ${ran}.`
    : `The schedule is ${schedule.status}, so nothing is charged; ${next}. ${ran}.`;
}
