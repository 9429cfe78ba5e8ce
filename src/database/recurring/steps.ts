import type { BillingRules } from '../../domain/billing-rules';
import { reasonForAudit } from '../../domain/charge';
import type { BillingStatus } from '../../domain/lifecycle';
import { formatAmount } from '../../domain/money';
import type { RecurringRules, Step } from '../../domain/recurring/recurring-step';
import { workflowIds } from '../../domain/workflow/workflow-id';
import type { Agreement } from '../agreement/agreement';
import { openScheduledCharge, type Charge } from '../billing-request/billing-request';
import { row, rows, type Transaction } from '../connection';
import type { AuditEvent } from '../event';
import type { Keyring } from '../keys/keyring';
import { toBothSides } from './announce';
import type { ScheduleRow } from './schedule';
import type { BillingInHand } from './billings';
import type { Announcement } from '../webhook/webhook';

/** What each step of the rule does to a schedule. */

/** What the customer's bank shows for a charge of a schedule without a description. */
const DESCRIPTION = 'Recurring charge';

/** A step of the rule, and what became of it. */
export type StepTaken =
  | (StepNamed<'charge'> & Pick<Charge, 'amount'> & { reference: string })
  /** Of those that settle: how long the bank took, in seconds of business time. */
  | (StepNamed<'succeed' | 'retry' | 'fail'> & { afterS: number })
  | StepNamed<'skip' | 'notify' | 'end'>
  /** By an operator, and not by the rule. */
  | { do: 'cancel' };

type StepNamed<Name extends Step['do']> = Extract<Step, { do: Name }>;

/**
 * A schedule on its way through one transaction. What it does to `schedule` is written when it is
 * saved.
 */
export interface Work {
  trx: Transaction;
  keyring: Keyring;
  rules: BillingRules & RecurringRules;
  /** As it was locked. */
  before: ScheduleRow;
  agreement: Agreement;
  /** As it is by now; its `now` is that of the latest reading. */
  schedule: ScheduleRow;
  taken: StepTaken[];
  events: AuditEvent[];
  webhooks: Announcement[];
}

/**
 * Does what the step says. What follows for the schedule's own row is in `work.schedule`, and not
 * yet written.
 */
export async function takeStep(
  work: Work,
  step: Exclude<Step, { do: 'wait' | 'nothing' }>,
  open: BillingInHand | undefined,
): Promise<StepTaken> {
  const { schedule } = work;
  const afterS = open?.afterS ?? 0;
  switch (step.do) {
    case 'charge':
      return { ...step, ...(await charge(work, step, open)) };
    case 'succeed':
      await closeBilling(work, step.n, 'successful', null);
      schedule.failedInARow = 0;
      return { ...step, afterS };
    case 'fail':
      await closeBilling(work, step.n, 'failed', step.reason);
      schedule.failedInARow += 1;
      return { ...step, afterS };
    case 'retry':
      await moveBilling(work, step.n, 'retrying', { retryAt: step.retryAt, reason: step.reason });
      note(work, 'schedule.billing_retrying', { n: step.n, retryAt: step.retryAt, reason: step.reason });
      return { ...step, afterS };
    case 'skip':
      await skip(work, step);
      return step;
    case 'notify':
      giveNotice(work, step);
      return step;
    case 'end':
  }
  schedule.status = step.as;
  return step;
}

async function skip(work: Work, { n, dueAt, reason }: StepNamed<'skip'>): Promise<void> {
  const { trx, schedule } = work;
  await rows(
    trx,
    `INSERT INTO billings (schedule_id, n, due_at, status, reason, attempts, closed_at)
     VALUES (:id, :n, :dueAt, 'skipped', :reason, 0, :now)`,
    { id: schedule.id, n, dueAt, reason, now: schedule.now },
  );
  schedule.nextN = n + 1;
  note(work, 'schedule.billing_skipped', { n, dueAt, reason });
}

function giveNotice(work: Work, { n, dueAt }: StepNamed<'notify'>): void {
  const { schedule, webhooks } = work;
  schedule.noticedN = n;
  note(work, 'schedule.notice_given', { n, dueAt });
  schedule.told += 1;
  webhooks.push(
    ...toBothSides(schedule, 'recurring.upcoming', {
      scheduleId: schedule.id,
      sequence: schedule.told,
      customerId: schedule.customerId,
      amount: formatAmount(schedule.amount, schedule.currency),
      currency: schedule.currency,
      description: schedule.description,
      dueDate: dueAt.toISOString(),
    }),
  );
}

/**
 * One more attempt. The billing's row comes first: its UNIQUE key is what no second charge gets
 * past.
 */
async function charge(
  work: Work,
  step: StepNamed<'charge'>,
  open: BillingInHand | undefined,
): Promise<Pick<Charge, 'amount'> & { reference: string }> {
  const { trx, keyring, rules, schedule, agreement } = work;
  const { n, attempt } = step;
  const { amount, description } = (attempt > 1 && open) || schedule;
  const billing =
    attempt === 1
      ? rows(
          trx,
          `INSERT INTO billings (schedule_id, n, due_at, status, attempts, first_attempt_at)
           VALUES (:id, :n, :dueAt, 'pending', 1, :now)`,
          { id: schedule.id, n, dueAt: step.dueAt, now: schedule.now },
        )
      : moveBilling(work, n, 'pending', { attempt });
  const charged = openScheduledCharge(trx, keyring, rules, agreement, {
    scheduleId: schedule.id,
    n,
    attempt,
    amount,
    currency: schedule.currency,
    description: description ?? DESCRIPTION,
    workflowId: workflowIds.recurring(schedule.id),
  });
  const [, { billingRequestId, reference }] = await Promise.all([billing, charged]);
  if (attempt === 1) schedule.nextN = n + 1;
  note(work, 'schedule.billing_charged', {
    n,
    attempt,
    // The billing has that of its first attempt.
    ...(attempt === 1 && { dueAt: step.dueAt }),
    billingRequestId,
    reference,
  });
  return { amount, reference };
}

async function closeBilling(
  work: Work,
  n: number,
  status: 'successful' | 'failed',
  reason: string | null,
): Promise<void> {
  await moveBilling(work, n, status, { reason, closedAt: work.schedule.now });
  work.schedule.ran += 1;
  note(work, `schedule.billing_${status}`, { n, ...(reason !== null && { reason: reasonForAudit(reason) }) });
}

/** What a billing may be just before it becomes this. What is skipped is made as such. */
const STATUSES_BEFORE = {
  pending: ['retrying'],
  retrying: ['pending'],
  successful: ['pending'],
  failed: ['pending', 'retrying'],
} satisfies Partial<Record<BillingStatus, BillingStatus[]>>;

/**
 * Moves the billing in hand to another state; what `to` does not name is emptied, but for the
 * attempts.
 */
async function moveBilling(
  { trx, schedule }: Work,
  n: number,
  status: keyof typeof STATUSES_BEFORE,
  to: { attempt?: number; retryAt?: Date; reason?: string | null; closedAt?: Date },
): Promise<void> {
  const moved = await row(
    trx,
    `UPDATE billings SET status = :status, attempts = coalesce(:attempt, attempts), retry_at = :retryAt,
       reason = :reason, closed_at = :closedAt
     WHERE schedule_id = :id AND n = :n AND status = ANY(:from) RETURNING n`,
    {
      id: schedule.id,
      n,
      status,
      from: STATUSES_BEFORE[status],
      attempt: to.attempt ?? null,
      retryAt: to.retryAt ?? null,
      reason: to.reason ?? null,
      closedAt: to.closedAt ?? null,
    },
  );
  if (!moved) throw new Error(`billing ${n + 1} of ${schedule.id} cannot become ${status} now`);
}

function note({ schedule, events }: Work, type: string, details: Record<string, unknown>): void {
  schedule.sequence += 1;
  events.push({
    resourceId: schedule.id,
    sequence: schedule.sequence,
    type,
    cause: 'network',
    details,
    at: schedule.now,
  });
}
