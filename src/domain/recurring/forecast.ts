import { nextStep } from './recurring-step';
import { factsOf, nextBilling, type InHand, type RecurringRules, type Schedule } from './schedule-facts';

/**
 * Forecasts a schedule's charges by its own rule. `nextStep` is played ahead, as if the bank
 * approved each charge at once and no party changed anything.
 */

/** Days of a forecast by default, and the most that a caller may ask for. */
export const FORECAST_DAYS = 30;
export const FORECAST_DAYS_MAX = 90;

export interface ScheduleAhead {
  schedule: Schedule;
  amount: bigint;
  /** Amount of its next billing. */
  nextAmount: bigint;
  /** The billing in hand keeps the amount of its first attempt. */
  open: (InHand & { amount: bigint }) | undefined;
  /** As `Billings.starts`. */
  starts: readonly Date[];
  /** Spans without charges that reach beyond its next due date. */
  holds: readonly Hold[];
  /** Billings to come that the customer has skipped. */
  skips: readonly number[];
}

interface Hold {
  reason: 'paused' | 'suspended';
  from: Date;
  /** Null for a hold that has not ended. */
  to: Date | null;
}

/** A future charge; a retry counts on its own day. */
interface ChargeAhead {
  at: Date;
  amount: bigint;
}

/**
 * The charges from `now` on and before `until`, in order. A charge that the bank already has is
 * left out; an overdue charge is made now.
 *
 * A step without a charge yields undefined. Years of skipped steps may come first, so the caller
 * can let other work run between steps.
 */
export function* chargesAhead(
  ahead: ScheduleAhead,
  now: Date,
  until: Date,
  rules: RecurringRules,
): Generator<ChargeAhead | undefined, void, void> {
  // A schedule this young gives no notice, and a forecast must give none.
  const schedule = { ...ahead.schedule, createdAt: until };
  let open: InHand | undefined = answered(ahead.open);
  let { starts } = ahead;
  let at = now;
  for (;;) {
    const isSkipped = ahead.skips.includes(schedule.nextN);
    const heldFor = isSkipped ? 'customer_skipped' : heldOn(ahead.holds, schedule, rules);
    const step = nextStep(factsOf(schedule, { open, starts, heldFor }, at, rules));
    switch (step.do) {
      case 'charge':
        yield { at, amount: step.attempt > 1 && ahead.open ? ahead.open.amount : amountOf(ahead, step) };
        if (step.attempt === 1) {
          schedule.nextN = step.n + 1;
          starts = [at, ...starts].slice(0, rules.catchUpPerDay);
        }
        succeed(schedule);
        open = undefined;
        break;
      case 'succeed':
        succeed(schedule);
        open = undefined;
        break;
      case 'fail':
        schedule.ran += 1;
        if (step.counted) schedule.failedInARow += 1;
        open = undefined;
        break;
      case 'retry':
        if (!open) throw new Error('only a billing in hand is tried again');
        open = { ...open, status: 'retrying', retryAt: new Date(step.retryAt) };
        break;
      case 'skip':
        schedule.nextN = step.n + 1;
        yield undefined;
        break;
      case 'wait':
        if (step.until >= until.getTime()) return;
        if (step.until <= at.getTime()) throw new Error('the rule waits for what has passed');
        at = new Date(step.until);
        break;
      case 'notify':
      case 'expire':
        throw new Error(`a forecast gives no notice and waits for no bank: ${step.do}`);
      case 'end':
      case 'nothing':
        return;
    }
  }
}

const amountOf = ({ schedule, nextAmount, amount }: ScheduleAhead, { n }: { n: number }) =>
  n === schedule.nextN ? nextAmount : amount;

function succeed(schedule: Schedule): void {
  schedule.ran += 1;
  schedule.failedInARow = 0;
}

/** A charge without its bank's answer counts as approved. */
function answered(open: InHand | undefined): InHand | undefined {
  return open?.chargeStatus === 'pending' ? { ...open, chargeStatus: 'successful' } : open;
}

/** Whether the next due date lies in a span without charges; a suspension outranks a pause. */
function heldOn(holds: readonly Hold[], schedule: Schedule, rules: RecurringRules): Hold['reason'] | null {
  if (holds.length === 0) return null;
  const dueAt = nextBilling(schedule, false, rules)?.dueAt;
  if (!dueAt) return null;
  const reasons = holds.filter(({ from, to }) => from <= dueAt && (to === null || to > dueAt));
  return reasons.find(({ reason }) => reason === 'suspended')?.reason ?? reasons[0]?.reason ?? null;
}
