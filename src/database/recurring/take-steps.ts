import { reasonForAudit } from '../../domain/charge';
import { hasEnded } from '../../domain/recurring/recurring';
import { isAsked, nextStep, type Step } from '../../domain/recurring/recurring-step';
import { nextAmount } from '../../domain/recurring/schedule-facts';
import { judgeAt } from '../agreement/spending-limit';
import { recordAuditEvent } from '../record/audit-event';
import { openScheduledCharge } from '../billing-request/accept-billing-requests';
import { beginAttempt } from './charged-once';
import { deriveFacts, lookAgain, type LockedSchedule } from './locked-schedule';
import { closeExpiredRequests } from '../billing-request/close-expired-requests';

/**
 * Steps that a workflow takes on its schedule in a transaction; a step that is not due does
 * nothing.
 */

type StepNamed<Name extends Step['do']> = Extract<Step, { do: Name }>;

/** Shown by the customer's bank for a charge of a schedule without a description. */
const DESCRIPTION = 'Recurring charge';

/**
 * Most billings that one transaction skips, so that no transaction holds its locks for long. Ten
 * paused years of daily billing take several.
 */
const SKIPPED_MAX = 100;

/** Makes the next attempt. The billing's row is written first: it refuses a second charge. */
export async function chargeBilling(locked: LockedSchedule): Promise<void> {
  const step = nextStep(locked.facts);
  if (step.do === 'charge') {
    await charge(locked, step);
    await lookAgain(locked);
  }
  // The workflow waits a moment for the answer before it sleeps.
  locked.awake = isAsked(locked.facts.open);
}

async function charge(locked: LockedSchedule, { n, attempt }: StepNamed<'charge'>): Promise<void> {
  const { trx, rules, schedule, agreement, open, facts } = locked;
  const { id, currency } = schedule;
  const { amount, description } = (attempt > 1 && open) || { ...schedule, amount: nextAmount(schedule) };
  const dueAt = facts.next && new Date(facts.next.dueAt);
  const begun = beginAttempt(trx, schedule, { n, attempt, dueAt });
  const charged = openScheduledCharge(trx, rules, agreement, {
    scheduleId: id,
    n,
    attempt,
    amount,
    currency,
    description: description ?? DESCRIPTION,
  });
  const [, { billingRequestId, reference }] = await Promise.all([begun, charged]);
  note(locked, 'charged', {
    n,
    attempt,
    amount,
    billingRequestId,
    reference,
    // The billing keeps its first attempt's.
    ...(attempt === 1 && { dueAt }),
  });
  if (attempt === 1) Object.assign(schedule, { nextN: n + 1, noticedAmount: null });
}

/**
 * Settles the billing in hand after its bank's answer, or its time-out. The schedule ends with its
 * last billing.
 */
export async function settleBilling(locked: LockedSchedule): Promise<void> {
  const { trx, schedule } = locked;
  for (;;) {
    const step = nextStep(locked.facts);
    const { open } = locked;
    switch (step.do) {
      case 'expire':
        if (open) await closeExpiredRequests(trx, [open.billingRequestId]);
        await lookAgain(locked);
        break;
      case 'succeed':
        await closeBilling(locked, step.n, 'successful');
        schedule.failedInARow = 0;
        break;
      case 'fail':
        await closeBilling(locked, step.n, 'failed');
        if (step.counted) schedule.failedInARow += 1;
        break;
      case 'retry':
        await retryLater(locked, step);
        break;
      case 'end':
        schedule.status = step.as;
        break;
      default:
        return;
    }
    deriveFacts(locked);
  }
}

async function retryLater(locked: LockedSchedule, step: StepNamed<'retry'>): Promise<void> {
  const { n } = step;
  const { open } = locked;
  const retryAt = new Date(step.retryAt);
  const reason = open?.declineReason ?? null;
  await moveBilling(locked, n, 'retrying', { retryAt, reason });
  note(locked, 'retrying', { n, retryAt, reason, afterS: open?.afterS });
  locked.open = open && { ...open, status: 'retrying', retryAt };
}

/** Skips billings that fell due while nothing was to be charged, or too long ago. */
export async function skipBillings(locked: LockedSchedule): Promise<void> {
  const { trx, schedule } = locked;
  for (let skipped = 0; skipped < SKIPPED_MAX; skipped++) {
    const step = nextStep(locked.facts);
    if (step.do !== 'skip') return;
    const { n, reason } = step;
    const dueAt = new Date(step.dueAt);
    await trx.rows`
      INSERT INTO billings (schedule_id, n, due_at, status, reason, attempts, closed_at)
      VALUES (${schedule.id}, ${n}, ${dueAt}, 'skipped', ${reason}, 0, ${schedule.now})`;
    Object.assign(schedule, { nextN: n + 1, noticedAmount: null });
    note(locked, 'skipped', { n, dueAt, reason });
    await lookAgain(locked);
  }
}

/** Tells both sides of the next billing. */
export async function giveNotice(locked: LockedSchedule): Promise<void> {
  const step = nextStep(locked.facts);
  if (step.do !== 'notify') return;
  const { trx, schedule, steps } = locked;
  const { agreementId, customerId, currency, description } = schedule;
  const { n } = step;
  const dueAt = new Date(step.dueAt);
  const amount = nextAmount(schedule);
  const judged = await judgeAt(trx, agreementId, { amount, currency }, dueAt);
  Object.assign(schedule, { noticedN: n, noticedAmount: amount });
  const of = { customerId, n, amount, currency, description };
  const upcoming = { ...of, dueDate: dueAt, ...judged };
  const { now: at } = schedule;
  steps.push({ event: 'schedule.notice_given', cause: 'network', details: { n, dueAt }, at, upcoming });
  deriveFacts(locked);
}

/** Ends a schedule that has no billing left, or failed too often. */
export function endSchedule(locked: LockedSchedule): void {
  const step = nextStep(locked.facts);
  if (step.do !== 'end') return;
  locked.schedule.status = step.as;
  deriveFacts(locked);
}

/**
 * Cancels the schedule for an operator, the only caller who can request its workflow's
 * cancellation. A schedule that has ended stays unchanged.
 */
export async function cancelSchedule(locked: LockedSchedule): Promise<void> {
  const { trx, schedule } = locked;
  const { id: scheduleId, merchantId, status } = schedule;
  if (hasEnded(status)) return;
  schedule.status = 'cancelled';
  locked.cause = 'operator';
  await recordAuditEvent(
    trx,
    { actor: 'operator:temporal', cause: 'operator', requestId: null, reason: null },
    {
      action: 'schedule.cancelled',
      entityId: merchantId,
      before: { scheduleId, status },
      after: { scheduleId, status: 'cancelled' },
    },
  );
  deriveFacts(locked);
}

async function closeBilling(
  locked: LockedSchedule,
  n: number,
  status: 'successful' | 'failed',
): Promise<void> {
  const { schedule, open } = locked;
  const reason = status === 'failed' ? (open?.declineReason ?? null) : null;
  await moveBilling(locked, n, status, { reason, closedAt: schedule.now });
  schedule.ran += 1;
  note(locked, status, {
    n,
    afterS: open?.afterS,
    ...(reason !== null && { reason: reasonForAudit(reason) }),
  });
  locked.open = undefined;
}

/** Moves the billing in hand to another state. Columns that `to` does not name are emptied. */
async function moveBilling(
  { trx, schedule }: LockedSchedule,
  n: number,
  status: 'retrying' | 'successful' | 'failed',
  to: { retryAt?: Date; reason?: string | null; closedAt?: Date },
): Promise<void> {
  const moved = await trx.row`
    UPDATE billings SET status = ${status}, retry_at = ${to.retryAt ?? null},
      reason = ${to.reason ?? null}, closed_at = ${to.closedAt ?? null}
    WHERE schedule_id = ${schedule.id} AND n = ${n} AND status IN ('pending', 'retrying') RETURNING n`;
  if (!moved) throw new Error(`billing ${n + 1} of ${schedule.id} cannot become ${status} now`);
}

function note(
  { schedule, steps }: LockedSchedule,
  what: 'charged' | 'retrying' | 'skipped' | 'successful' | 'failed',
  details: Record<string, unknown>,
): void {
  steps.push({ event: `schedule.billing_${what}`, cause: 'network', details, at: schedule.now });
}
