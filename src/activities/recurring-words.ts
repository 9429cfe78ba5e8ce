import type { ScheduleRow } from '../database/schedule/lock-schedules';
import type { ScheduleEvent, ScheduleResult } from '../database/recurring/locked-schedule';
import { reasonForAudit } from '../domain/charge';
import { inMoney } from '../domain/money';
import { spanInWords } from '../domain/words/span';

/**
 * A schedule in plain words, for readers of its workflow: references, dates, amounts, and the names
 * of merchant and bank. People count billings from 1; the API's `n` begins at 0.
 */

/** Events of a schedule that its workflow caused; people's actions arrive as signals. */
export function eventsInWords(events: ScheduleEvent[], schedule: ScheduleRow): string[] {
  return events.flatMap((event) => inWords(event, schedule) ?? []);
}

/** Details of billings' events; JSON has dates and amounts as text. */
interface Details {
  n: number;
  attempt: number;
  amount: bigint | string;
  reference: string;
  dueAt: Date | string;
  retryAt: Date | string;
  reason: string;
  afterS: number;
}

function inWords({ type, cause, details }: ScheduleEvent, schedule: ScheduleRow): string | undefined {
  const { n, attempt, amount, reference, dueAt, retryAt, reason, afterS } = details as unknown as Details;
  const billing = billingInWords(n, schedule);
  const declined = () =>
    `${billing} was declined (${reasonForAudit(reason)}) after ${spanInWords(afterS * 1000)}`;
  switch (type) {
    case 'schedule.billing_charged': {
      const sum = inMoney({ ...schedule, amount: BigInt(amount) });
      return `${billing}, attempt ${attempt}: ${sum}, reference ${reference}.`;
    }
    case 'schedule.billing_successful':
      return `${billing} was approved by ${schedule.bankName} after ${spanInWords(afterS * 1000)}.`;
    case 'schedule.billing_retrying':
      return `${declined()}; it is tried again at ${moment(retryAt)}.`;
    case 'schedule.billing_failed':
      return `${declined()}, and is not tried again.`;
    case 'schedule.billing_skipped':
      return `${billing}, due at ${moment(dueAt)}, was skipped (${reason}).`;
    case 'schedule.notice_given':
      return `Both sides are told of billing ${n + 1}, due at ${moment(dueAt)}.`;
    case 'schedule.completed':
      return 'Ended as completed.';
    case 'schedule.failed':
      return 'Ended as failed.';
    case 'schedule.cancelled':
      return cause === 'operator' ? 'Cancelled by an operator.' : undefined;
    default:
      return undefined;
  }
}

const moment = (at: Date | string) => new Date(at).toISOString();

/** The event that the schedule waits for; the outcome where it has ended. */
export function waitingInWords({
  schedule,
  open,
  delayMs,
}: Pick<ScheduleResult, 'schedule' | 'open' | 'delayMs'>): string {
  const ran = ranInWords(schedule);
  const amount = inMoney({ ...schedule, amount: (open ?? schedule).amount });
  if (open?.status === 'pending' && open.chargeStatus === 'pending') {
    const until = open.expiresAt.toISOString();
    return `Billing ${open.n + 1}, attempt ${open.attempts}: asked ${schedule.bankName} for ${amount}, which it may confirm until ${until}. ${ran}.`;
  }
  if (open?.status === 'retrying') {
    const why = reasonForAudit(open.declineReason ?? '');
    return `Billing ${open.n + 1} was declined (${why}); attempt ${open.attempts + 1} for ${amount} comes at ${open.retryAt?.toISOString()}. ${ran}.`;
  }
  if (schedule.nextDueAt === null) {
    return `The schedule ${schedule.status === 'failed' ? 'has failed' : `is ${schedule.status}`}. ${ran}.`;
  }
  const next = `billing ${schedule.nextN + 1} for ${amount} is due at ${schedule.nextDueAt.toISOString()}`;
  if (schedule.status !== 'active') {
    return `The schedule is ${schedule.status}, so nothing is charged; ${next}. ${ran}.`;
  }
  const later =
    delayMs < 1000 ? '' : `, and comes ${spanInWords(delayMs)} later, for others are due at the same moment`;
  return `Next charge: ${next}${later}. ${ran}.`;
}

function ranInWords({ ran, maxBillings }: ScheduleRow): string {
  const of = maxBillings === null ? '' : ` of ${maxBillings}`;
  return `${ran}${of} billing${(maxBillings ?? ran) === 1 ? '' : 's'} ${ran === 1 ? 'has' : 'have'} run`;
}

/** Skipped billings do not count towards `maxBillings`, so the last may have a higher number. */
function billingInWords(n: number, { maxBillings }: ScheduleRow): string {
  return `Billing ${n + 1}${maxBillings === null || n >= maxBillings ? '' : ` of ${maxBillings}`}`;
}
