import type { Frequency } from '../../domain/calendar';
import { groupBy } from '../../domain/group';
import { isId } from '../../domain/identifier/ids';
import { hasEnded, permitted, statusOf, type ScheduleStatus } from '../../domain/recurring/recurring';
import type { Signal } from '../../domain/workflow/signal';
import { workflowIds } from '../../domain/workflow/workflow-id';
import { summaryAgain, workflowSummary } from '../../domain/workflow/workflow-summary';
import { lockAgreementsWhere, type Agreement } from '../agreement/agreement';
import { shownName } from '../shown-name';
import type { Executor } from '../pool/connection';
import { raw } from '../pool/statement';
import type { AuditEvent } from '../record/event';
import { enqueueBulkSignals, enqueueStarts, signalWaiting } from '../outbox';
import { announceStatus } from './announce-schedules';
import { holdOrFree, holdOrFreeEntity, NOT_ENDED } from './hold-schedules';

/**
 * Recurring schedules, and what the agreement behind one does to it.
 *
 * A schedule keeps no copy of the decision or of the merchant's trust. A caller that changes either
 * calls the matching `syncSchedules…` in the same transaction. A schedule reads both again before
 * it charges. Both ways apply `permitted`.
 */
export interface ScheduleRow {
  id: string;
  agreementId: string;
  merchantId: string;
  customerId: string;
  bankId: string;
  bankName: string;
  amount: bigint;
  currency: string;
  description: string | null;
  frequency: Frequency;
  interval: number;
  startAt: Date;
  endAt: Date | null;
  maxBillings: number | null;
  status: ScheduleStatus;
  paused: boolean;
  nextN: number;
  nextDueAt: Date | null;
  noticedN: number | null;
  ran: number;
  failedInARow: number;
  sequence: number;
  /** Announcements to both sides so far. */
  told: number;
  createdAt: Date;
  /** A billing has been declined at least once and has not ended yet. */
  overdue: boolean;
  agreement: Parameters<typeof permitted>[0];
  /**
   * The schedule is in a span of its own, from its customer's decision; spans of its merchant and
   * bank are stored elsewhere.
   */
  heldByAgreement: boolean;
  /** Business time of the merchant. */
  now: Date;
  /**
   * Whether business time is real time: the merchant's test clock is neither ahead nor about to be.
   */
  inRealTime: boolean;
  /** The workflow waits, and needs a signal. */
  waiting: boolean;
  /**
   * Milliseconds after the next due moment at which the workflow wakes; null until that is known.
   */
  delayMs: number | null;
}

/** Business time of the merchant `m` is real time. */
const IN_REAL_TIME = `(m.clock_offset = '0' AND m.clock_target IS NULL)`;

/**
 * The facts that `permitted` asks for, of a schedule `s`, its agreement `a` and its merchant `m`.
 */
export const AGREEMENT_OF_SCHEDULE = `jsonb_build_object('decision', a.decision, 'blocked', a.blocked,
  'currency', a.currency, 'merchantTrusted', m.trust_level = 'trusted', 'merchantActive', m.status = 'active',
  'bankActive', (SELECT status = 'active' FROM entities WHERE id = s.bank_id))`;

const COLUMNS = `s.id, s.agreement_id, s.merchant_id,
  s.customer_id, s.bank_id, ${shownName('s.bank_id')} AS bank_name,
  s.amount::bigint, s.currency, s.description, s.frequency, s.every AS "interval", s.start_at, s.end_at,
  s.max_billings, s.status, s.paused, s.next_n, s.next_due_at, s.noticed_n, s.ran, s.failed_in_a_row,
  s.sequence, s.told, s.created_at,
  EXISTS (SELECT FROM billings b WHERE b.schedule_id = s.id
          AND (b.status = 'retrying' OR b.status = 'pending' AND b.attempts > 1)) AS overdue,
  ${AGREEMENT_OF_SCHEDULE} AS agreement,
  EXISTS (SELECT FROM schedule_holds h
          WHERE h.schedule_id = s.id AND h.reason = 'suspended' AND h.to_at IS NULL) AS held_by_agreement,
  business_now(s.merchant_id) AS now, ${IN_REAL_TIME} AS in_real_time, s.waiting, s.delay_ms`;

/**
 * Most schedules that a change of an agreement or a merchant moves at once. The rest are signalled,
 * and read the change for themselves.
 */
const SYNC_AT_ONCE = 1_000;

/** Locks schedules until the transaction ends. The caller holds their agreements locked. */
async function lockSchedules(trx: Executor, scheduleIds: string[]): Promise<ScheduleRow[]> {
  return trx.rows<ScheduleRow>`
    SELECT ${raw(COLUMNS)} FROM schedules s JOIN agreements a ON a.id = s.agreement_id
      JOIN entities m ON m.id = s.merchant_id
    WHERE s.id = ANY(${scheduleIds}) ORDER BY s.id FOR UPDATE OF s`;
}

/** A schedule and its agreement, both locked. */
interface Locked {
  schedule: ScheduleRow;
  agreement: Agreement;
}

/**
 * Locks a schedule, its agreement first, and brings the schedule in line. A change of the decision
 * or the merchant does the same for its first `SYNC_AT_ONCE` schedules. The rest must not be acted
 * on as if nothing had changed.
 *
 * @throws Error where there is no such schedule
 */
export async function lockAlignedSchedule(trx: Executor, scheduleId: string): Promise<Locked> {
  const ofSchedule = 'a.id = (SELECT agreement_id FROM schedules WHERE id = :scheduleId)';
  // Sent together, done one after the other: the schedule is read once the agreement is locked.
  const [[agreement], locked] = await Promise.all([
    lockAgreementsWhere(trx, ofSchedule, { scheduleId }),
    lockSchedules(trx, [scheduleId]),
  ]);
  const changed = await align(trx, locked, 'network');
  const [schedule] = changed ? await lockSchedules(trx, [scheduleId]) : locked;
  if (!schedule || !agreement) throw new Error(`there is no schedule ${scheduleId}`);
  return { schedule, agreement };
}

/**
 * Suspends, resumes or cancels the schedules of an agreement, by its new decision and currency. The
 * caller has changed the agreement, and holds it locked.
 */
export async function syncSchedulesWithAgreement(
  trx: Executor,
  agreementId: string,
  cause: AuditEvent['cause'],
): Promise<void> {
  await syncSchedules(trx, 's.agreement_id = :of', agreementId, cause);
}

/**
 * Suspends or resumes the schedules of a merchant, or of a bank's customers, after a change of its
 * trust or status. The span keeps the moment of the change for schedules that are read later.
 */
export async function syncSchedulesOf(
  trx: Executor,
  entityId: string,
  cause: AuditEvent['cause'],
): Promise<void> {
  const whose = isId('bank', entityId) ? 's.bank_id = :of' : 's.merchant_id = :of';
  await syncSchedules(trx, whose, entityId, cause);
  // Last: a transaction that reads before this commits must not find the moment in its past.
  await holdOrFreeEntity(trx, entityId, whose);
}

async function syncSchedules(
  trx: Executor,
  whose: string,
  of: string,
  cause: AuditEvent['cause'],
): Promise<void> {
  const atOnce = await trx.rows<{ id: string; agreementId: string }>`
    SELECT s.id, s.agreement_id FROM schedules s
    WHERE ${raw(whose, { of })} AND ${raw(NOT_ENDED)} ORDER BY s.id LIMIT ${SYNC_AT_ONCE}`;
  if (atOnce.length === 0) return;
  await trx.rows`
    SELECT id FROM agreements WHERE id = ANY(${atOnce.map((schedule) => schedule.agreementId)}) ORDER BY id
    FOR UPDATE`;
  await align(
    trx,
    await lockSchedules(
      trx,
      atOnce.map(({ id }) => id),
    ),
    cause,
  );
  const last = atOnce[SYNC_AT_ONCE - 1];
  if (!last) return;
  // Waiting or not: these schedules are not locked, and one about to wait has read its old state.
  await enqueueBulkSignals(
    trx,
    'termsChanged',
    of,
    `SELECT '${workflowIds.recurring('')}' || s.id FROM schedules s
     WHERE ${whose} AND ${NOT_ENDED} AND s.id > :last`,
    { of, last: last.id },
  );
}

/**
 * Brings locked schedules in line with their agreements and their merchant. Changes are announced
 * to both sides, and their workflows signalled.
 *
 * @returns whether any changed, so that the rows given are out of date
 */
async function align(trx: Executor, schedules: ScheduleRow[], cause: AuditEvent['cause']): Promise<boolean> {
  const live = schedules.filter((schedule) => !hasEnded(schedule.status));
  const aligned = live.map((before): Transition => {
    const may = permitted(before.agreement, before.currency);
    const { paused } = before;
    const status = statusOf({
      ended: may === 'cancel' ? 'cancelled' : null,
      suspended: may === 'suspend',
      paused,
      overdue: before.overdue,
    });
    return { before, status, paused, event: `schedule.${status}` };
  });
  const transitions = aligned.filter(({ before, status }) => status !== before.status);
  await transition(trx, transitions, cause);
  // The customer's decision may change while the merchant's standing suspends the schedule all the
  // same.
  await holdOrFree(
    trx,
    aligned.filter(({ before, status }) => status === before.status),
  );
  return transitions.length > 0;
}

/** A locked schedule, and its next state. */
interface Transition {
  before: ScheduleRow;
  status: ScheduleStatus;
  /** The merchant's wish, which a suspension hides and does not end. */
  paused: boolean;
  /** The event's type, for the record. */
  event: string;
}

/** Moves locked schedules to another state. Both sides are told, and their workflows signalled. */
export async function transition(
  trx: Executor,
  transitions: Transition[],
  cause: AuditEvent['cause'],
): Promise<void> {
  if (transitions.length === 0) return;
  await trx.rows`
    UPDATE schedules s SET status = c.status, paused = c.paused, acts_at = c.at, updated_at = c.at,
      sequence = s.sequence + 1, told = s.told + 1,
      next_due_at = CASE WHEN c.status = 'cancelled' THEN NULL ELSE s.next_due_at END
    FROM unnest(${transitions.map(({ before }) => before.id)}::text[],
      ${transitions.map(({ status }) => status)}::text[],
      ${transitions.map(({ paused }) => paused)}::boolean[],
      ${transitions.map(({ before }) => before.now)}::timestamptz[])
      AS c (id, status, paused, at) WHERE s.id = c.id`;
  await holdOrFree(trx, transitions);
  await announceStatus(
    trx,
    transitions.map(({ before, status, event }) => ({
      ...before,
      event,
      status,
      previousStatus: before.status,
      sequence: before.sequence + 1,
      told: before.told + 1,
      nextDueAt: status === 'cancelled' ? null : before.nextDueAt,
    })),
    cause,
  );
  const resumed = transitions.filter(({ before, paused }) => before.paused && !paused);
  await startResumed(trx, resumed);
  const others = transitions.filter((one) => !resumed.includes(one));
  for (const [signal, those] of groupBy(others, ({ status }) => signalOf(status))) {
    await signalSchedules(
      trx,
      signal,
      those.map(({ before }) => before),
    );
  }
}

function signalOf(status: ScheduleStatus): Signal {
  if (status === 'completed') return 'termsChanged';
  return status === 'paused' || status === 'suspended' || status === 'cancelled' ? status : 'resumed';
}

/**
 * Starts the workflows of resumed schedules: nothing else restarts a paused schedule's terminated
 * workflow.
 */
async function startResumed(trx: Executor, resumed: Transition[]): Promise<void> {
  await enqueueStarts(
    trx,
    resumed.map(({ before, status }) => ({
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
  if (answered) await signalSchedules(trx, 'bankAnswered', [{ id: scheduleId, ...answered }]);
}

/**
 * Signals locked schedules whose workflows wait; the other workflows are about to read for
 * themselves.
 */
export async function signalSchedules(
  trx: Executor,
  signal: Signal,
  schedules: Pick<ScheduleRow, 'id' | 'merchantId' | 'waiting'>[],
): Promise<void> {
  await signalWaiting(
    trx,
    signal,
    schedules.map((schedule) => ({ ...schedule, workflowId: workflowIds.recurring(schedule.id) })),
  );
}
