import type { Advanced } from '../database/recurring/advance';
import type { StepTaken } from '../database/recurring/steps';
import type { ScheduleRow } from '../database/recurring/schedule';
import { reasonForAudit } from '../domain/charge';
import { inMoney } from '../domain/money';

/**
 * A schedule in plain words, for who reads its workflow: references, dates and amounts only. People
 * count billings from 1; the API's `n` begins at 0.
 */

/** What a step did. */
export function stepInWords(step: StepTaken, schedule: ScheduleRow): string {
  switch (step.do) {
    case 'charge':
      return (
        `${billing(step.n, schedule)}, attempt ${step.attempt}: ` +
        `${inMoney({ ...schedule, amount: step.amount })} asked for, reference ${step.reference}.`
      );
    case 'succeed':
      return `${billing(step.n, schedule)} was approved by the bank after ${step.afterS} s.`;
    case 'retry':
      return (
        `${billing(step.n, schedule)} was declined (${reasonForAudit(step.reason)}) after ${step.afterS} s; ` +
        `it is tried again at ${step.retryAt.toISOString()}.`
      );
    case 'fail':
      return (
        `${billing(step.n, schedule)} was declined (${reasonForAudit(step.reason)}) after ${step.afterS} s, ` +
        `and is not tried again.`
      );
    case 'skip':
      return `${billing(step.n, schedule)}, due at ${step.dueAt.toISOString()}, was skipped (${step.reason}).`;
    case 'notify':
      return `Both sides are told of billing ${step.n + 1}, due at ${step.dueAt.toISOString()}.`;
    case 'cancel':
      return 'Cancelled by an operator.';
    case 'end':
  }
  return `Ended as ${step.as}.`;
}

/** What it is waiting for; where it has ended, how. */
export function waitingInWords({
  schedule,
  open,
  delayMs,
}: Pick<Advanced, 'schedule' | 'open' | 'delayMs'>): string {
  const ran = ranInWords(schedule);
  const amount = inMoney({ ...schedule, amount: (open ?? schedule).amount });
  if (open?.status === 'pending' && open.charge.status === 'pending') {
    const until = open.charge.expiresAt.toISOString();
    return `Billing ${open.n + 1}, attempt ${open.attempts}: asked the bank for ${amount}, which it may confirm until ${until}. ${ran}.`;
  }
  if (open?.status === 'retrying') {
    const at = open.retryAt.toISOString();
    return `Billing ${open.n + 1} was declined (${reasonForAudit(open.reason)}); attempt ${open.attempts + 1} for ${amount} comes at ${at}. ${ran}.`;
  }
  if (schedule.nextDueAt === null) {
    return `The schedule ${schedule.status === 'failed' ? 'has failed' : `is ${schedule.status}`}. ${ran}.`;
  }
  const next = `billing ${schedule.nextN + 1} for ${amount} is due at ${schedule.nextDueAt.toISOString()}`;
  if (schedule.status !== 'active') {
    return `The schedule is ${schedule.status}, so nothing is charged; ${next}. ${ran}.`;
  }
  const delayS = Math.round(delayMs / 1000);
  const later = delayS === 0 ? '' : `, and comes ${delayS} s later, for others are due at the same moment`;
  return `Next charge: ${next}${later}. ${ran}.`;
}

function ranInWords({ ran, maxBillings }: ScheduleRow): string {
  const of = maxBillings === null ? '' : ` of ${maxBillings}`;
  return `${ran}${of} billing${(maxBillings ?? ran) === 1 ? '' : 's'} ${ran === 1 ? 'has' : 'have'} run`;
}

/** Skipped ones do not count towards the most, so the last may have a higher number. */
function billing(n: number, { maxBillings }: ScheduleRow): string {
  return `Billing ${n + 1}${maxBillings === null || n >= maxBillings ? '' : ` of ${maxBillings}`}`;
}
