import type { BillingRules } from '../../domain/billing-rules';
import { hasEnded, statusOf } from '../../domain/recurring/recurring';
import { nextBilling, nextStep, type RecurringRules, type Step } from '../../domain/recurring/recurring-step';
import { recordAct } from '../audit';
import { closeExpiredRequests } from '../billing-request/outcome';
import { row, type Database, type Transaction } from '../connection';
import { recordEvents } from '../event';
import type { Keyring } from '../keys/keyring';
import { announceStatus } from './announce';
import { lockAligned, transition, type ScheduleRow } from './schedule';
import { isAsked, readBillingsSeen, type BillingInHand, type BillingsSeen } from './billings';
import { takeStep, type StepTaken, type Work } from './steps';
import { unreportedSteps, type ReportedUntil } from './unreported';
import { announce } from '../webhook/webhook';

/**
 * A schedule takes the steps of one kind that the rule names, in one transaction.
 *
 * The agreement and the schedule are locked throughout. Of any number that run at once, each finds
 * done what the one before it did, so running it twice, or far too often, does nothing twice.
 */

/** What its workflow does, by the steps of the rule that each activity takes. */
const STEPS_OF = {
  /** None: it brings the schedule in line with its agreement, and says what comes. */
  readSchedule: [],
  chargeBilling: ['charge'],
  /** Where no billing is left, the schedule ends in the same transaction. */
  settleBilling: ['succeed', 'retry', 'fail', 'end'],
  skipBillings: ['skip'],
  giveNotice: ['notify'],
  endSchedule: ['end'],
  /** None, but it cancels. */
  cancelSchedule: [],
} as const satisfies Record<string, readonly Step['do'][]>;

export type ScheduleActivity = keyof typeof STEPS_OF;

const ACTIVITY_OF = {
  charge: 'chargeBilling',
  succeed: 'settleBilling',
  retry: 'settleBilling',
  fail: 'settleBilling',
  skip: 'skipBillings',
  notify: 'giveNotice',
  end: 'endSchedule',
} as const satisfies Record<Exclude<Step['do'], 'wait' | 'nothing'>, ScheduleActivity>;

/**
 * Most steps that one transaction takes, so that none holds its locks for long. Only skipping makes
 * more of them (ten years of daily billing that were paused); the next run of the activity goes on
 * from there.
 */
const MAX_STEPS = 100;

/**
 * Longest that a workflow wakes after a due moment, however many are due at it: where `DUE_RATE`
 * asks for more, it is exceeded. What is due before 18:00 is so charged on its day.
 */
const DELAY_MAX_MS = 6 * 3_600_000;

/** Where a schedule has come to, and what its workflow does next. */
export interface Advanced {
  schedule: ScheduleRow;
  open: BillingInHand | undefined;
  taken: StepTaken[];
  /** Steps of before that the history does not have. */
  unreported: StepTaken[];
  /** Of the schedule's last event: with these, the history has all up to it. */
  sequence: number;
  /** Null once there is nothing more. */
  next: ScheduleActivity | null;
  /** In how many milliseconds of real time; 0 is at once. */
  inMs: number;
  /** The part of `inMs` that keeps it behind other schedules of the same moment. */
  delayMs: number;
}

/**
 * @param reportedUntil null where no history tells of it
 * @throws Error where there is no such schedule
 */
export async function advanceSchedule(
  db: Database,
  keyring: Keyring,
  rules: BillingRules & RecurringRules,
  scheduleId: string,
  activity: ScheduleActivity,
  reportedUntil: ReportedUntil | null = null,
): Promise<Advanced> {
  return db.transaction(async (trx) => {
    const isCancelled = activity === 'cancelSchedule' && (await cancelByOperator(trx, keyring, scheduleId));
    const { schedule: before, agreement } = await lockAligned(trx, keyring, scheduleId);
    // Nearly always the history has all of it; a schedule begins with its first event.
    const unreported =
      reportedUntil !== null && before.sequence > (reportedUntil.sequence ?? 1)
        ? await unreportedSteps(trx, scheduleId, reportedUntil)
        : [];
    const schedule = { ...before };
    const taken: StepTaken[] = isCancelled ? [{ do: 'cancel' }] : [];
    const work = { trx, keyring, rules, before, agreement, schedule, taken, events: [], webhooks: [] };
    return {
      ...(await takeSteps(work, activity)),
      // A schedule is cancelled once: where this activity did it, no other had.
      unreported: isCancelled ? unreported.filter((step) => step.do !== 'cancel') : unreported,
    };
  });
}

/**
 * Whoever may request a cancellation of the workflow is an operator. What has ended stays as it is.
 *
 * @returns whether it had not
 */
async function cancelByOperator(trx: Transaction, keyring: Keyring, scheduleId: string): Promise<boolean> {
  const { schedule: before } = await lockAligned(trx, keyring, scheduleId);
  if (hasEnded(before.status)) return false;
  const { paused, merchantId, status } = before;
  await transition(
    trx,
    keyring,
    // Its workflow is what does this.
    [{ before: { ...before, asleep: false }, status: 'cancelled', paused, event: 'schedule.cancelled' }],
    'operator',
  );
  await recordAct(
    trx,
    { actor: 'operator:temporal', cause: 'operator', requestId: null, reason: null },
    {
      action: 'schedule.cancelled',
      entityId: merchantId,
      before: { scheduleId, status },
      after: { scheduleId, status: 'cancelled' },
    },
  );
  return true;
}

type Stepped = Omit<Advanced, 'unreported'>;

async function takeSteps(work: Work, activity: ScheduleActivity): Promise<Stepped> {
  const own: readonly Step['do'][] = STEPS_OF[activity];
  for (;;) {
    const billings = await readBillings(work, activity);
    const step = nextStep(work.schedule, billings, work.schedule.now, work.rules);
    const waits = step.do === 'wait' || step.do === 'nothing';
    if (waits || !own.includes(step.do) || work.taken.length === MAX_STEPS) {
      return save(work, billings, planAfter(work, activity, billings, step));
    }
    work.taken.push(await takeStep(work, step, billings.open));
  }
}

/**
 * What the rule asks to know, and the time. A charge whose window has passed is closed before it is
 * settled.
 */
async function readBillings(work: Work, activity: ScheduleActivity): Promise<BillingsSeen> {
  const read = () => readBillingsSeen(work.trx, work.schedule, work.rules);
  const seen = await read();
  if (activity !== 'settleBilling' || !isAsked(seen.open)) return seen;
  if (work.schedule.now < seen.open.charge.expiresAt) return seen;
  await closeExpiredRequests(work.trx, work.keyring, [seen.open.billingRequestId]);
  return read();
}

/** Writes down where the schedule has come to, and tells of it. */
async function save(work: Work, { open }: BillingsSeen, plan: Plan | undefined): Promise<Stepped> {
  const { trx, keyring, rules, before, schedule, events, webhooks, taken } = work;
  const status = statusOf({
    ended: hasEnded(schedule.status) ? schedule.status : null,
    suspended: schedule.status === 'suspended',
    paused: schedule.paused,
    overdue: open !== undefined && (open.status === 'retrying' || open.attempts > 1),
  });
  const moved = status !== before.status;
  const sequence = schedule.sequence + (moved ? 1 : 0);
  const told = schedule.told + (moved ? 1 : 0);
  const nextDueAt = nextBilling({ ...schedule, status }, open !== undefined, rules)?.dueAt ?? null;
  const untilMs = plan === undefined ? 0 : Math.max(0, plan.at.getTime() - schedule.now.getTime());
  const asleep = plan !== undefined && !plan.atOnce && untilMs > 0;
  // Nothing of it is charged then, and others need not wait for its place.
  const held = status === 'paused' || status === 'suspended';
  const [, written] = await Promise.all([
    held ? undefined : oneAtATime(trx, schedule.id, nextDueAt),
    row<{ delayMs: number | null }>(
      trx,
      `UPDATE schedules SET status = :status, next_n = :nextN, next_due_at = :nextDueAt, noticed_n = :noticedN,
         ran = :ran, failed_in_a_row = :failedInARow, acts_at = :actsAt, asleep = :asleep, sequence = :sequence,
         told = :told, updated_at = CASE WHEN sequence = :sequence THEN updated_at ELSE :now END,
         -- Kept for as long as it waits for this moment; behind all that wait for it already.
         delay_ms = CASE
           WHEN :held THEN NULL
           WHEN delay_ms IS NOT NULL AND next_due_at IS NOT DISTINCT FROM :nextDueAt THEN delay_ms
           ELSE (SELECT CASE WHEN behind < ${DELAY_MAX_MS} THEN behind ELSE floor(random() * ${DELAY_MAX_MS}) END
                 FROM (SELECT coalesce(max(o.delay_ms) + :apartMs, 0) AS behind FROM schedules o
                       WHERE o.next_due_at = :nextDueAt) AS last) END
       WHERE id = :id RETURNING delay_ms`,
      {
        ...fieldsOf(schedule),
        status,
        held,
        nextDueAt,
        actsAt: plan?.at ?? null,
        asleep,
        sequence,
        told,
        apartMs: Math.ceil(1000 / rules.dueRate),
      },
    ),
    recordEvents(trx, events),
    announce(trx, keyring, webhooks),
  ]);
  if (moved) {
    const event = `schedule.${status}`;
    const change = { ...schedule, event, status, previousStatus: before.status, sequence, told, nextDueAt };
    await announceStatus(trx, keyring, [change], 'network');
  }
  // A test clock shows every charge at its very moment.
  const delayMs =
    asleep && plan.spread && schedule.inRealTime
      ? Math.min(written?.delayMs ?? 0, delayMaxMs(plan, open, nextDueAt))
      : 0;
  return {
    schedule: { ...schedule, status, nextDueAt },
    open,
    taken,
    sequence,
    next: plan?.activity ?? null,
    inMs: asleep ? untilMs + delayMs : 0,
    delayMs,
  };
}

/** A retry that has not come by the next due date is not made at all. */
function delayMaxMs(plan: Plan, open: BillingsSeen['open'], nextDueAt: Date | null): number {
  if (!open || !nextDueAt) return DELAY_MAX_MS;
  return Math.max(0, Math.floor((nextDueAt.getTime() - plan.at.getTime()) / 2));
}

/**
 * One transaction at a time chooses its delay within a due moment: two that cannot see each other's
 * `delay_ms` would choose the same.
 */
async function oneAtATime(trx: Transaction, scheduleId: string, nextDueAt: Date | null): Promise<void> {
  await row(
    trx,
    `SELECT pg_advisory_xact_lock(hashtextextended('due_moment ' || extract(epoch FROM :nextDueAt::timestamptz), 0))
     FROM schedules WHERE id = :scheduleId AND :nextDueAt::timestamptz IS NOT NULL
       AND (delay_ms IS NULL OR next_due_at IS DISTINCT FROM :nextDueAt::timestamptz)`,
    { scheduleId, nextDueAt },
  );
}

interface Plan {
  activity: ScheduleActivity;
  /** In business time. */
  at: Date;
  /** Whatever the time is. */
  atOnce: boolean;
  /** Others are due at the same moment, for the same reason. */
  spread: boolean;
}

/** What comes after this; undefined where nothing does. */
function planAfter(
  { schedule, rules }: Work,
  activity: ScheduleActivity,
  billings: BillingsSeen,
  step: Step,
): Plan | undefined {
  if (step.do === 'nothing') return undefined;
  if (step.do !== 'wait') {
    return { activity: ACTIVITY_OF[step.do], at: schedule.now, atOnce: true, spread: false };
  }
  const { open } = billings;
  const at = step.until;
  // Its bank has just been asked, and may answer in a moment.
  if (activity === 'chargeBilling' && isAsked(open)) {
    return { activity: 'settleBilling', at, atOnce: true, spread: false };
  }
  if (isAsked(open) && at >= open.charge.expiresAt) {
    return { activity: 'settleBilling', at, atOnce: false, spread: false };
  }
  const then = nextStep(schedule, billings, at, rules);
  if (then.do === 'wait' || then.do === 'nothing') {
    return { activity: 'readSchedule', at, atOnce: false, spread: false };
  }
  // A retry too: after an outage of the workers the first attempts were made all at once.
  const spread = then.do === 'charge' || then.do === 'notify';
  return { activity: ACTIVITY_OF[then.do], at, atOnce: false, spread };
}

function fieldsOf({ id, nextN, noticedN, ran, failedInARow, now }: ScheduleRow): Record<string, unknown> {
  return { id, nextN, noticedN, ran, failedInARow, now };
}
