import { isId } from '../../domain/identifier/ids';
import { hasEnded, LIVE_STATUSES, permitted, statusOf } from '../../domain/recurring/recurring';
import { workflowIds } from '../../domain/workflow/workflow-id';
import { lockAgreementsWhere, type Agreement } from '../agreement/agreement';
import type { Executor } from '../pool/connection';
import { joined, raw, sql, type Fragment } from '../pool/statement';
import type { Cause } from '../../domain/words/timeline';
import { enqueueBulkSignals } from '../outbox';
import { holdOrFree, holdOrFreeEntity, IS_LIVE } from './hold-schedules';
import { lockSchedules, type ScheduleRow } from './lock-schedules';
import { writeReasons, writeSchedules, type ScheduleChange } from './write-schedules';

/**
 * Recurring schedules, and what the agreement behind one does to it.
 *
 * A schedule keeps no copy of the decision or of the merchant's trust. A caller that changes either
 * calls the matching `syncSchedules…` in the same transaction. A schedule reads both again before
 * it charges. Both ways apply `permitted`.
 */

/**
 * Most schedules that a change of an agreement or a merchant moves at once. The rest are signalled,
 * and read the change for themselves.
 */
const SYNC_AT_ONCE = 1_000;

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
  const ofSchedule = sql`a.id = (SELECT agreement_id FROM schedules WHERE id = ${scheduleId})`;
  // Sent together, done one after the other: the schedule is read once the agreement is locked.
  const [[agreement], locked] = await Promise.all([
    lockAgreementsWhere(trx, ofSchedule),
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
  cause: Cause,
): Promise<void> {
  await syncSchedules(trx, sql`s.agreement_id = ${agreementId}`, agreementId, cause);
}

/**
 * Suspends or resumes the schedules of a merchant, or of a bank's customers, after a change of its
 * trust or status. The span keeps the moment of the change for schedules that are read later.
 */
export async function syncSchedulesOf(trx: Executor, entityId: string, cause: Cause): Promise<void> {
  const whose = isId('bank', entityId) ? sql`s.bank_id = ${entityId}` : sql`s.merchant_id = ${entityId}`;
  await syncSchedules(trx, whose, entityId, cause);
  // Last: a transaction that reads before this commits must not find the moment in its past.
  await holdOrFreeEntity(trx, entityId);
}

async function syncSchedules(trx: Executor, whose: Fragment, of: string, cause: Cause): Promise<void> {
  // Each status has an index in the order of ids, and gives its first rows.
  const first = LIVE_STATUSES.map(
    (status) => sql`(SELECT s.id, s.agreement_id FROM schedules s
    WHERE ${whose} AND s.status = '${raw(status)}' ORDER BY s.id LIMIT ${SYNC_AT_ONCE})`,
  );
  const atOnce = await trx.rows<{ id: string; agreementId: string }>`
    ${joined(first, ' UNION ALL ')} ORDER BY id LIMIT ${SYNC_AT_ONCE}`;
  if (atOnce.length === 0) return;
  const agreementIds = atOnce.map((schedule) => schedule.agreementId);
  await trx.rows`SELECT id FROM agreements WHERE id = ANY(${agreementIds}) ORDER BY id FOR UPDATE`;
  const locked = await lockSchedules(
    trx,
    atOnce.map(({ id }) => id),
  );
  await align(trx, locked, cause);
  const last = atOnce[SYNC_AT_ONCE - 1];
  if (!last) return;
  // Waiting or not: the schedules are not locked, and a schedule about to wait has read its old
  // state.
  await enqueueBulkSignals(
    trx,
    'termsChanged',
    of,
    sql`SELECT ${workflowIds.recurring('')} || s.id FROM schedules s
        WHERE ${whose} AND ${raw(IS_LIVE)} AND s.id > ${last.id}`,
  );
}

/**
 * Brings locked schedules in line with their agreements and their merchant. Changes are announced
 * to both sides, and their workflows signalled.
 *
 * @returns whether any changed, so that the rows given are out of date
 */
async function align(trx: Executor, schedules: ScheduleRow[], cause: Cause): Promise<boolean> {
  const live = schedules.filter((schedule) => !hasEnded(schedule.status));
  const aligned = live.map((before): ScheduleChange => {
    const may = permitted(before.agreement, before.currency);
    const suspendedReason = may === 'charge' || may === 'cancel' ? null : may;
    const status = statusOf({
      ended: may === 'cancel' ? 'cancelled' : null,
      suspended: suspendedReason !== null,
      paused: before.paused,
      overdue: before.overdue,
    });
    return { before, after: { ...before, status, suspendedReason }, cause };
  });
  const written = await writeSchedules(trx, aligned.filter(isMoved));
  // The customer's decision may change while the merchant's standing suspends the schedule all the
  // same.
  const stay = aligned.filter((one) => !isMoved(one));
  await holdOrFree(trx, stay);
  await writeReasons(trx, stay);
  return written.length > 0;
}

const isMoved = ({ before, after }: ScheduleChange) => after.status !== before.status;
