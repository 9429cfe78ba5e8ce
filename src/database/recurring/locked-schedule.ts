import type { BillingRules } from '../../domain/billing-rules';
import { hasEnded, statusOf } from '../../domain/recurring/recurring';
import { nextStep, type Facts, isHeld } from '../../domain/recurring/recurring-step';
import { factsOf, nextBilling, type RecurringRules } from '../../domain/recurring/schedule-facts';
import type { Agreement } from '../agreement/agreement';
import type { Database, Transaction } from '../pool/connection';
import { raw } from '../pool/statement';
import type { Cause } from '../../domain/words/timeline';
import { lockAlignedSchedule } from '../schedule/align-schedules';
import type { ScheduleRow } from '../schedule/lock-schedules';
import { writeSchedule, type ScheduleStep } from '../schedule/write-schedules';
import { readBillingsSeen, type BillingInHand, type BillingsSeen } from './read-billings';

/**
 * Longest delay of a workflow after a due moment; beyond it `DUE_RATE` is exceeded. Billings due
 * before 18:00 are so charged on their day.
 */
const DELAY_MAX_MS = 6 * 3_600_000;

/**
 * The delay with which a schedule's workflow wakes after its due moment: behind all others of that
 * moment. The schedule keeps its place until then. A held schedule has no place, so that others do
 * not wait behind it.
 */
async function placeOf(
  trx: Transaction,
  before: ScheduleRow,
  { status, nextDueAt }: ScheduleRow,
  { dueRate }: RecurringRules,
): Promise<number | null> {
  if (isHeld(status)) return null;
  if (before.delayMs !== null && before.nextDueAt?.getTime() === nextDueAt?.getTime()) return before.delayMs;
  if (!nextDueAt) return 0;
  const [, { last }] = await Promise.all([
    // One transaction at a time: two that cannot see each other's place would choose the same.
    trx.row`
      SELECT pg_advisory_xact_lock(hashtextextended('due_moment ' || ${nextDueAt.getTime()}, 0))`,
    trx.oneRow<{ last: number | null }>`
      SELECT max(delay_ms) AS last FROM schedules WHERE next_due_at = ${nextDueAt}`,
  ]);
  const behind = last === null ? 0 : last + Math.ceil(1000 / dueRate);
  return behind < DELAY_MAX_MS ? behind : Math.floor(Math.random() * DELAY_MAX_MS);
}

/** A schedule's change, as its audit event records it. */
export type ScheduleEvent = { type: string; cause: Cause; details?: Record<string, unknown> };

/**
 * A locked schedule: a transaction in which its workflow takes one step.
 *
 * The agreement and the schedule stay locked, and the schedule is in line with its agreement. Such
 * transactions wait for each other, and each sees the work of the one before. A transaction that
 * comes too late, or twice, finds nothing due, and reports the schedule's state.
 */
export interface LockedSchedule extends BillingsSeen {
  readonly trx: Transaction;
  readonly rules: BillingRules & RecurringRules;
  readonly agreement: Agreement;
  /** The schedule after the steps so far; the end of the transaction writes it. */
  readonly schedule: ScheduleRow;
  facts: Facts;
  readonly steps: ScheduleStep[];
  /** The party whose action ends or moves the schedule. */
  cause: Cause;
  /** The workflow goes on at once, and is not signalled. */
  awake: boolean;
}

/** The schedule after a transaction. */
export interface ScheduleResult {
  schedule: ScheduleRow;
  open: BillingInHand | undefined;
  facts: Facts;
  /** Events of this transaction. */
  events: ScheduleEvent[];
  /** Earlier events that the workflow's history lacks. */
  unreported: ScheduleEvent[];
  /**
   * Milliseconds after the due moment at which the workflow wakes, behind others of the same
   * moment.
   */
  delayMs: number;
}

/**
 * @param reportedUntil sequence of the last event that the workflow's history has
 * @throws Error where there is no such schedule
 */
export async function withLockedSchedule(
  db: Database,
  rules: BillingRules & RecurringRules,
  { scheduleId, reportedUntil }: { scheduleId: string; reportedUntil: number },
  act: (locked: LockedSchedule) => Promise<void> | void,
): Promise<ScheduleResult> {
  return db.transaction(async (trx) => {
    const { schedule: before, agreement } = await lockAlignedSchedule(trx, scheduleId);
    const unreported = await unreportedEvents(trx, before, reportedUntil);
    const schedule = { ...before };
    const seen = await readBillingsSeen(trx, schedule, rules);
    const locked: LockedSchedule = {
      trx,
      rules,
      agreement,
      schedule,
      ...seen,
      facts: factsOf(schedule, seen, schedule.now, rules),
      steps: [],
      cause: 'network',
      awake: false,
    };
    await act(locked);
    return { ...(await endLocked(locked, before)), unreported };
  });
}

/** The newest events: more are unreported only where a workflow was started again. */
const UNREPORTED_MAX = 20;

/**
 * Events that a workflow's history lacks: its worker died before its report, its task ran again
 * after a signal, or another workflow reported them.
 */
async function unreportedEvents(
  trx: Transaction,
  { id, sequence }: ScheduleRow,
  reportedUntil: number,
): Promise<ScheduleEvent[]> {
  if (sequence <= reportedUntil) return [];
  const newest = await trx.rows<ScheduleEvent>`
    SELECT type, cause, details FROM events WHERE resource_id = ${id} AND sequence > ${reportedUntil}
    ORDER BY sequence DESC LIMIT ${raw(UNREPORTED_MAX)}`;
  return newest.toReversed();
}

/** Reads the schedule's billings, and the time, again. */
export async function lookAgain(locked: LockedSchedule): Promise<void> {
  Object.assign(locked, await readBillingsSeen(locked.trx, locked.schedule, locked.rules));
  deriveFacts(locked);
}

/** Finds the facts again after a step whose outcome the transaction knows without reading. */
export function deriveFacts(locked: LockedSchedule): void {
  locked.facts = factsOf(locked.schedule, locked, locked.schedule.now, locked.rules);
}

/** Writes the schedule's new state, and announces it. */
async function endLocked(
  locked: LockedSchedule,
  before: ScheduleRow,
): Promise<Omit<ScheduleResult, 'unreported'>> {
  const { trx, rules, open, cause, steps } = locked;
  const status = statusOf({
    ended: hasEnded(locked.schedule.status) ? locked.schedule.status : null,
    suspended: locked.schedule.status === 'suspended',
    paused: locked.schedule.paused,
    overdue: open !== undefined && (open.status === 'retrying' || open.attempts > 1),
  });
  const nextDueAt = nextBilling({ ...locked.schedule, status }, open !== undefined, rules)?.dueAt ?? null;
  const facts = { ...locked.facts, status };
  const step = nextStep(facts);
  const waiting = step.do === 'wait' && !locked.awake;
  const actsAt = step.do === 'nothing' ? null : new Date(step.do === 'wait' ? step.until : facts.now);
  const moved = { ...locked.schedule, status, nextDueAt, actsAt, waiting };
  const delayMs = await placeOf(trx, before, moved, rules);
  const { after: schedule, transitions } = await writeSchedule(trx, {
    // Its own workflow has called, and needs no signal.
    before: { ...before, waiting: false },
    after: { ...moved, delayMs },
    cause,
    steps,
  });
  return {
    schedule,
    open,
    facts,
    events: transitions.map(({ event: type, ...one }) => ({ type, ...one })),
    // A test clock shows every charge at its very moment.
    delayMs: waiting && schedule.inRealTime ? Math.min(delayMs ?? 0, longestDelay(facts, step.until)) : 0,
  };
}

/**
 * Charges and notices of the same moment are spread, and so are retries: after an outage the first
 * attempts were made all at once. A retry later than the next due date is never made.
 */
function longestDelay(facts: Facts, until: number): number {
  const then = nextStep({ ...facts, now: until });
  if (then.do !== 'charge' && then.do !== 'notify') return 0;
  if (!facts.open || !facts.next) return DELAY_MAX_MS;
  return Math.max(0, Math.floor((facts.next.dueAt - until) / 2));
}
