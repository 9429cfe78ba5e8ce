import type { Metadata } from '../../domain/metadata';
import { hasEnded } from '../../domain/recurring/recurring';
import type { WebhookItem } from '../../domain/webhook/webhook-item';
import type { Signal } from '../../domain/workflow/signal';
import type { Cause } from '../../domain/words/timeline';
import { workflowIds } from '../../domain/workflow/workflow-id';
import { summaryAgain, workflowSummary } from '../../domain/workflow/workflow-summary';
import type { Executor } from '../pool/connection';
import { recordsOf } from '../pool/json';
import { raw, sql } from '../pool/statement';
import { enqueueStarts, signalWaiting } from '../outbox';
import type { EventType, TransitionOf } from '../transition/transition';
import { writeTransitions } from '../transition/write-transition';
import { holdOrFree } from './hold-schedules';
import type { ScheduleRow } from './lock-schedules';

/**
 * Every change of a schedule's status or terms is written here. The caller names the next state;
 * the writer makes the row, the events, the spans without charges, the webhooks and the signal.
 */

/** A step before the change of status or terms. */
export type ScheduleStep = { cause: Cause; details: Record<string, unknown>; at: Date } & (
  | { event: 'schedule.changed' | Extract<EventType, `schedule.billing_${string}`> }
  | {
      event: 'schedule.notice_given';
      upcoming: Omit<WebhookItem<'recurring.upcoming'>, 'scheduleId' | 'sequence'>;
    }
);

/** The writer counts events and webhooks itself. */
interface NextState extends ScheduleRow {
  /** The schedule has something to do then; left out, now. Null: never again. */
  actsAt?: Date | null;
  /** Comes with new terms; without it the terms stay. */
  metadata?: Metadata;
}

export interface ScheduleChange {
  /** The schedule as it is locked. */
  before: ScheduleRow;
  after: NextState;
  /** The cause of the change of status or terms. */
  cause: Cause;
  /** The change's event, where the new status does not name it. */
  event?: `schedule.${'paused' | 'resumed' | 'changed' | 'skipped' | 'unskipped'}`;
  /** The first due date of new terms. */
  effectiveFrom?: Date | null;
  /** The billing that is skipped, or is not after all. */
  billing?: { n: number; dueAt: Date };
  /** For the record, beside the new and the former status. */
  details?: Record<string, unknown>;
  steps?: readonly ScheduleStep[];
}

type ScheduleTransition = TransitionOf<Extract<EventType, `schedule.${string}`>>;

interface Written {
  before: ScheduleRow;
  after: NextState;
  transitions: ScheduleTransition[];
}

/** Writes changes of locked schedules, as many at once as there are. */
export async function writeSchedules(trx: Executor, changes: ScheduleChange[]): Promise<Written[]> {
  if (changes.length === 0) return [];
  const all = changes.map(toWritten);
  await Promise.all([
    updateRows(
      trx,
      all.filter(({ after }) => after.metadata),
      TERMS,
    ),
    updateRows(
      trx,
      all.filter(({ after }) => !after.metadata),
    ),
    holdOrFree(trx, all.filter(hasMoved)),
    writeTransitions(
      trx,
      all.flatMap(({ transitions }) => transitions),
    ),
    startResumed(trx, all.filter(isResumed)),
  ]);
  return all;
}

export async function writeSchedule(trx: Executor, change: ScheduleChange): Promise<Written> {
  const [written] = await writeSchedules(trx, [change]);
  if (!written) throw new Error(`${change.before.id} was not written`);
  return written;
}

/** Another reason to be suspended is no change that a party is told of, or a workflow waits for. */
export async function writeReasons(trx: Executor, stay: ScheduleChange[]): Promise<void> {
  const changed = stay.filter(({ before, after }) => after.suspendedReason !== before.suspendedReason);
  if (changed.length === 0) return;
  const ids = changed.map(({ before }) => before.id);
  const reasons = changed.map(({ after }) => after.suspendedReason);
  await trx.rows`
    UPDATE schedules s SET suspended_reason = c.reason
    FROM unnest(${ids}::text[], ${reasons}::text[]) AS c (id, reason) WHERE s.id = c.id`;
}

type BeforeAndAfter = Pick<ScheduleChange, 'before' | 'after'>;

const hasMoved = ({ before, after }: BeforeAndAfter) =>
  before.status !== after.status || before.paused !== after.paused;

const isResumed = ({ before, after }: BeforeAndAfter) => before.paused && !after.paused;

function toWritten(change: ScheduleChange): Written {
  const { before, event, steps = [] } = change;
  const { sequence, announced } = before;
  const { status } = change.after;
  const nextDueAt = hasEnded(status) ? null : change.after.nextDueAt;
  const suspendedReason = status === 'suspended' ? change.after.suspendedReason : null;
  const after = { ...change.after, suspendedReason, nextDueAt, sequence, announced };
  const transitions = steps.map((step) => stepOf(after, step));
  if (event || status !== before.status) transitions.push(changeOf({ ...change, after }));
  return { before, after, transitions };
}

/** Counts the event. */
const rowOf = (after: ScheduleRow, at: Date) => ({ id: after.id, sequence: ++after.sequence, at });

/** Counts the webhook. */
function toBothSides<Item extends object>(after: ScheduleRow, item: Item) {
  const workflowId = workflowIds.recurring(after.id);
  const webhook = { workflowId, item: { scheduleId: after.id, sequence: ++after.announced, ...item } };
  return [
    { entityId: after.merchantId, ...webhook },
    { entityId: after.bankId, ...webhook },
  ] as const;
}

function stepOf(after: ScheduleRow, step: ScheduleStep): ScheduleTransition {
  const { cause, details, at } = step;
  const shared = { cause, details, row: rowOf(after, at) };
  return step.event === 'schedule.notice_given'
    ? {
        ...shared,
        event: step.event,
        announces: { 'recurring.upcoming': toBothSides(after, step.upcoming) },
      }
    : { ...shared, event: step.event, announces: {}, wakes: null };
}

/** The change of the status or the terms. */
function changeOf(change: ScheduleChange): ScheduleTransition {
  const { before, after, cause, event, details, billing, effectiveFrom } = change;
  const { id, status, merchantId, amount, currency, nextDueAt } = after;
  const previousStatus = before.status;
  const ofTerms = event === 'schedule.changed';
  const ofBilling = billing && { n: billing.n, dueDate: billing.dueAt };
  const item = {
    status,
    previousStatus,
    suspendedReason: after.suspendedReason,
    nextBillingDate: nextDueAt,
    billingsCompleted: after.ran,
    amount,
    currency,
    previousAmount: ofTerms ? before.amount : undefined,
    effectiveFrom,
    skipped: event === 'schedule.skipped' ? ofBilling : undefined,
    unskipped: event === 'schedule.unskipped' ? ofBilling : undefined,
  };
  const { waiting } = before;
  const signal = signalOf({ before, after });
  return {
    event: event ?? `schedule.${status}`,
    cause,
    row: rowOf(after, after.now),
    details: { status, previousStatus, suspendedReason: after.suspendedReason, ...billing, ...details },
    announces: { 'recurring.updated': toBothSides(after, item) },
    wakes: signal ? { workflowId: workflowIds.recurring(id), merchantId, waiting, signal } : null,
  };
}

/** A resumed schedule's workflow is started instead. */
function signalOf(change: BeforeAndAfter): Signal | null {
  const { status } = change.after;
  if (isResumed(change)) return null;
  if (!hasMoved(change) || status === 'completed') return 'termsChanged';
  return status === 'paused' || status === 'suspended' || status === 'cancelled' ? status : 'resumed';
}

const TERMS = `amount = c.amount, end_at = c.end_at, max_billings = c.max_billings,
  description = c.description, metadata = c.metadata,`;

/**
 * The rows are locked: a column that stays is written with its own value. A trigger asks for an
 * event of each row whose terms are written.
 */
async function updateRows(trx: Executor, all: Written[], terms = ''): Promise<void> {
  if (all.length === 0) return;
  const rows = all.map(({ after }) => ({ actsAt: after.now, ...after, updatedAt: after.now }));
  const records = recordsOf(rows);
  // Postgres plans any set for a hundred rows, and would read all schedules to change one.
  const changed =
    rows.length === 1
      ? sql`jsonb_populate_record(NULL::schedules, ${records}::jsonb -> 0)`
      : sql`jsonb_populate_recordset(NULL::schedules, ${records}::jsonb)`;
  await trx.rows`
    UPDATE schedules s SET ${raw(terms)} status = c.status, suspended_reason = c.suspended_reason, paused = c.paused, next_n = c.next_n,
      next_due_at = c.next_due_at, noticed_n = c.noticed_n, noticed_amount = c.noticed_amount, ran = c.ran,
      failed_in_a_row = c.failed_in_a_row, acts_at = c.acts_at, waiting = c.waiting, delay_ms = c.delay_ms,
      sequence = c.sequence, announced = c.announced,
      updated_at = CASE WHEN s.sequence = c.sequence THEN s.updated_at ELSE c.updated_at END
    FROM ${changed} AS c WHERE s.id = c.id`;
}

/** Nothing else restarts a paused schedule's terminated workflow. */
async function startResumed(trx: Executor, resumed: Written[]): Promise<void> {
  await enqueueStarts(
    trx,
    resumed.map(({ before, after: { status } }) => ({
      workflowId: workflowIds.recurring(before.id),
      again: 'resumed' as const,
      attributes: { status, merchantId: before.merchantId, bankId: before.bankId },
      summary: summaryAgain.resumed(workflowSummary.recurring(before)),
    })),
  );
}

/** The bank has answered a charge of this schedule, whose agreement the caller holds locked. */
export async function signalAnswered(trx: Executor, scheduleId: string): Promise<void> {
  const answered = await trx.row<Pick<ScheduleRow, 'waiting' | 'merchantId'>>`
    UPDATE schedules s SET acts_at = business_now(s.merchant_id), waiting = false
    FROM (SELECT id, waiting FROM schedules WHERE id = ${scheduleId} FOR UPDATE) AS before
    WHERE s.id = before.id RETURNING before.waiting, s.merchant_id`;
  if (!answered) return;
  await signalWaiting(trx, 'bankAnswered', [{ workflowId: workflowIds.recurring(scheduleId), ...answered }]);
}
