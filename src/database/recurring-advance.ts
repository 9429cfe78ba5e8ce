import type { BillingRules } from '../domain/billing-rules';
import { reasonForAudit } from '../domain/charge';
import { BILLING, statesBefore, type BillingStatus } from '../domain/lifecycle';
import { formatAmount } from '../domain/money';
import { hasEnded, statusOf } from '../domain/recurring';
import {
  nextBilling,
  nextStep,
  type Billings,
  type ChargeOutcome,
  type RecurringRules,
  type Step,
} from '../domain/recurring-step';
import { workflowId } from '../domain/workflow-id';
import { openScheduledCharge } from './billing-request';
import { closeExpired } from './billing-request-outcome';
import { row, rows, type Database, type Transaction } from './connection';
import { recordEvents, type AuditEvent } from './event';
import type { Keyring } from './keyring';
import { lockAligned, tellOfStatus, toBothSides, type ScheduleRow } from './recurring';
import { inWords, ownSleepMs, type BillingInHand, type ScheduleState } from './recurring-state';
import { announce, type Announcement } from './webhook';

/**
 * A schedule goes as far as it can, in one transaction: it takes note of how its last charge ended, then does
 * what the rule says, until the rule says to wait.
 *
 * The agreement and the schedule are locked throughout. Of any number that run at once, each finds done what the
 * one before it did, so running it twice, or far too often, does nothing twice.
 */

/**
 * Most steps that one transaction takes, so that none holds its locks for long. Only skipping makes more of
 * them (ten years of daily billing that were paused); the next look goes on from there.
 */
const MAX_STEPS = 100;

/** What the customer's bank shows for a charge of a schedule without a description. */
const DESCRIPTION = 'Recurring charge';

/** A schedule on its way through one transaction. What it does to `schedule` is written when it is saved. */
interface Work {
  trx: Transaction;
  keyring: Keyring;
  rules: BillingRules & RecurringRules;
  by: Looker;
  /** As it was locked. */
  before: ScheduleRow;
  /** As it is by now; its `now` is that of the latest look. */
  schedule: ScheduleRow;
  events: AuditEvent[];
  webhooks: Announcement[];
}

/** Who looks: the schedule's own workflow, which will sleep as long as it is told to, or a worker ahead of it. */
export type Looker = 'workflow' | 'worker';

/** A look of the schedule's own workflow. */
export async function advanceSchedule(
  db: Database,
  keyring: Keyring,
  rules: BillingRules & RecurringRules,
  scheduleId: string,
): Promise<ScheduleState> {
  return db.transaction(async (trx) => {
    const found = await row<{ agreementId: string }>(
      trx,
      `SELECT agreement_id AS "agreementId" FROM schedules WHERE id = :scheduleId`,
      { scheduleId },
    );
    if (!found) throw new Error(`there is no schedule ${scheduleId}`);
    const { state } = await advance(trx, keyring, rules, 'workflow', { id: scheduleId, ...found });
    return state;
  });
}

export interface Advanced {
  state: ScheduleState;
  /** The bank has been asked and has not answered. */
  asked: boolean;
}

export async function advance(
  trx: Transaction,
  keyring: Keyring,
  rules: BillingRules & RecurringRules,
  by: Looker,
  { id, agreementId }: { id: string; agreementId: string },
): Promise<Advanced> {
  const before = await lockAligned(trx, keyring, agreementId, id);
  const work: Work = { trx, keyring, rules, by, before, schedule: { ...before }, events: [], webhooks: [] };
  for (let steps = 0; steps < MAX_STEPS; steps++) {
    const billings = await look(work);
    const step = nextStep(work.schedule, billings, work.schedule.now, rules);
    if (step.do === 'wait') return save(work, billings.open, step.until);
    if (step.do === 'nothing') return save(work, billings.open, null);
    await take(work, step, billings.open);
  }
  const { open } = await look(work);
  return save(work, open, work.schedule.now);
}

/** What the rule asks to know, and the time. A charge whose window has passed is closed before it is reported. */
async function look(work: Work): Promise<BillingsSeen> {
  const seen = await read(work);
  if (seen.open?.status !== 'pending' || seen.open.charge.status !== 'pending') return seen;
  if (work.schedule.now < seen.open.charge.expiresAt) return seen;
  await closeExpired(work.trx, work.keyring, workflowId.recurring(work.schedule.id));
  return read(work);
}

type BillingsSeen = Billings & { open: BillingInHand | undefined };

interface Seen {
  now: Date;
  starts: Date[];
  heldFor: 'paused' | 'suspended' | null;
  n: number | null;
  attempts: number;
  status: 'pending' | 'retrying';
  firstAttemptAt: Date;
  lastAttemptAt: Date;
  maybeDebited: boolean;
  retryAt: Date;
  reason: string;
  chargeStatus: 'pending' | 'successful' | 'declined';
  declineReason: string;
  expiresAt: Date;
  amount: bigint;
  description: string;
}

async function read({ trx, rules, schedule }: Work): Promise<BillingsSeen> {
  const seen = await row<Seen>(
    trx,
    `SELECT business_now(s.merchant_id) AS now,
       ARRAY(SELECT first_attempt_at FROM billings WHERE schedule_id = s.id AND first_attempt_at IS NOT NULL
             ORDER BY n DESC LIMIT :starts) AS starts,
       -- A suspension outranks a pause, as it does in the status.
       (SELECT max(reason) FROM (
          SELECT reason, from_at, to_at FROM schedule_holds WHERE schedule_id = s.id
          UNION ALL
          SELECT 'suspended', from_at, to_at FROM entity_holds
          WHERE entity_id IN (s.merchant_id, s.bank_id) AND merchant_id = s.merchant_id) AS held
        WHERE from_at <= :dueAt AND (to_at IS NULL OR to_at > :dueAt)) AS "heldFor",
       -- As the attempt itself has it, from which its caller counts the days to a retry.
       b.n, b.attempts, b.status, first.created_at AS "firstAttemptAt", r.created_at AS "lastAttemptAt",
       b.retry_at AS "retryAt", b.reason, r.status AS "chargeStatus", r.decline_reason AS "declineReason",
       r.expires_at AS "expiresAt", r.amount::bigint, r.description,
       EXISTS (SELECT FROM billing_requests a JOIN reconciliation_exceptions x ON x.billing_request_id = a.id
               WHERE a.schedule_id = b.schedule_id AND a.billing_n = b.n
                 AND x.outcome = 'approved' AND x.state <> 'resolved') AS "maybeDebited"
     FROM schedules s
       LEFT JOIN billings b ON b.schedule_id = s.id AND b.status IN ('pending', 'retrying')
       LEFT JOIN billing_requests r ON r.schedule_id = b.schedule_id AND r.billing_n = b.n AND r.attempt = b.attempts
       LEFT JOIN billing_requests first
         ON first.schedule_id = b.schedule_id AND first.billing_n = b.n AND first.attempt = 1
     WHERE s.id = :id`,
    {
      id: schedule.id,
      starts: rules.catchUpPerDay,
      dueAt: nextBilling(schedule, false, rules)?.dueAt ?? null,
    },
  );
  if (!seen) throw new Error(`there is no schedule ${schedule.id}`);
  schedule.now = seen.now;
  return { open: openBilling(seen), starts: seen.starts, heldFor: seen.heldFor ?? undefined };
}

function openBilling(seen: Seen): BillingInHand | undefined {
  if (seen.n === null) return undefined;
  const { n, attempts, firstAttemptAt, lastAttemptAt, maybeDebited, amount, description } = seen;
  const billing = { n, attempts, firstAttemptAt, lastAttemptAt, maybeDebited, amount, description };
  return seen.status === 'retrying'
    ? { ...billing, status: 'retrying', retryAt: seen.retryAt, reason: seen.reason }
    : { ...billing, status: 'pending', charge: outcomeOf(seen) };
}

function outcomeOf(seen: Seen): ChargeOutcome {
  if (seen.chargeStatus === 'successful') return { status: 'successful' };
  return seen.chargeStatus === 'declined'
    ? { status: 'declined', reason: seen.declineReason }
    : { status: 'pending', expiresAt: seen.expiresAt };
}

async function take(
  work: Work,
  step: Exclude<Step, { do: 'wait' | 'nothing' }>,
  open: BillingInHand | undefined,
): Promise<void> {
  const { schedule } = work;
  switch (step.do) {
    case 'charge':
      await charge(work, step, open);
      break;
    case 'succeed':
      await closeBilling(work, step.n, 'successful', null);
      schedule.failedInARow = 0;
      break;
    case 'fail':
      await closeBilling(work, step.n, 'failed', step.reason);
      schedule.failedInARow += 1;
      break;
    case 'retry':
      await moveBilling(work, step.n, 'retrying', { retryAt: step.retryAt, reason: step.reason });
      note(work, 'schedule.billing_retrying', { n: step.n, retryAt: step.retryAt, reason: step.reason });
      break;
    case 'skip':
      await rows(
        work.trx,
        `INSERT INTO billings (schedule_id, n, due_at, status, reason, attempts, closed_at)
         VALUES (:id, :n, :dueAt, 'skipped', :reason, 0, :now)`,
        { id: schedule.id, n: step.n, dueAt: step.dueAt, reason: step.reason, now: schedule.now },
      );
      schedule.nextN = step.n + 1;
      note(work, 'schedule.billing_skipped', { n: step.n, dueAt: step.dueAt, reason: step.reason });
      break;
    case 'notify':
      schedule.noticedN = step.n;
      note(work, 'schedule.notice_given', { n: step.n, dueAt: step.dueAt });
      schedule.told += 1;
      work.webhooks.push(
        ...toBothSides(schedule, 'recurring.upcoming', {
          scheduleId: schedule.id,
          sequence: schedule.told,
          customerId: schedule.customerId,
          amount: formatAmount(schedule.amount, schedule.currency),
          currency: schedule.currency,
          description: schedule.description,
          dueDate: step.dueAt.toISOString(),
        }),
      );
      break;
    case 'end':
      schedule.status = step.as;
  }
}

/** One more attempt. The billing's row comes first: its UNIQUE key is what no second charge gets past. */
async function charge(
  work: Work,
  step: Extract<Step, { do: 'charge' }>,
  open: BillingInHand | undefined,
): Promise<void> {
  const { trx, keyring, rules, schedule } = work;
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
  const charged = openScheduledCharge(trx, keyring, rules, schedule.agreementId, {
    scheduleId: schedule.id,
    n,
    attempt,
    amount,
    currency: schedule.currency,
    description: description ?? DESCRIPTION,
    workflowId: workflowId.recurring(schedule.id),
  });
  const [, { billingRequestId, reference }] = await Promise.all([billing, charged]);
  if (attempt === 1) schedule.nextN = n + 1;
  note(work, 'schedule.billing_charged', { n, attempt, billingRequestId, reference });
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

/** Moves the billing in hand to another state; what `to` does not name is emptied, but for the attempts. */
async function moveBilling(
  { trx, schedule }: Work,
  n: number,
  status: Exclude<BillingStatus, 'scheduled' | 'skipped'>,
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
      from: statesBefore(BILLING, status),
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

/** Writes down where the schedule has come to, and tells of it. */
async function save(
  { trx, keyring, rules, by, before, schedule, events, webhooks }: Work,
  open: BillingInHand | undefined,
  actsAt: Date | null,
): Promise<Advanced> {
  const status = statusOf({
    ended: hasEnded(schedule.status) ? schedule.status : null,
    suspended: schedule.status === 'suspended',
    paused: schedule.paused,
    overdue: open !== undefined && (open.status === 'retrying' || open.attempts > 1),
  });
  const turned = status !== before.status;
  const sequence = schedule.sequence + (turned ? 1 : 0);
  const told = schedule.told + (turned ? 1 : 0);
  const next = nextBilling({ ...schedule, status }, open !== undefined, rules);
  const nextDueAt = next?.dueAt ?? null;
  const sleepMs = actsAt && ownSleepMs(actsAt, schedule);
  const written = rows(
    trx,
    `UPDATE schedules SET status = :status, next_n = :nextN, next_due_at = :nextDueAt, noticed_n = :noticedN,
       ran = :ran, failed_in_a_row = :failedInARow, acts_at = :actsAt, sequence = :sequence, told = :told,
       looks_at = coalesce(clock_timestamp() + :ownSleepMs * interval '1 millisecond', looks_at),
       updated_at = CASE WHEN sequence = :sequence THEN updated_at ELSE :now END
     WHERE id = :id`,
    {
      ...fieldsOf(schedule),
      status,
      nextDueAt,
      actsAt,
      sequence,
      told,
      ownSleepMs: by === 'workflow' ? sleepMs : null,
    },
  );
  await Promise.all([written, recordEvents(trx, events), announce(trx, keyring, webhooks)]);
  if (turned) {
    const event = `schedule.${status}`;
    const change = { ...schedule, event, status, previousStatus: before.status, sequence, told, nextDueAt };
    await tellOfStatus(trx, keyring, [change], 'network');
  }
  return {
    state: {
      status,
      nextBillingDate: nextDueAt?.toISOString() ?? null,
      sleepMs,
      waitingFor: inWords({ ...schedule, status, nextDueAt }, open),
    },
    asked: open?.status === 'pending' && open.charge.status === 'pending',
  };
}

function fieldsOf({ id, nextN, noticedN, ran, failedInARow, now }: ScheduleRow): Record<string, unknown> {
  return { id, nextN, noticedN, ran, failedInARow, now };
}
