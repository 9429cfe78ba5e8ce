import { Failure } from '../../domain/failures';
import { hasEnded, statusOf } from '../../domain/recurring/recurring';
import { nextBilling, type RecurringRules } from '../../domain/recurring/schedule-facts';
import type { Transaction } from '../pool/connection';
import type { Party } from '../query/party';
import { lockScheduleOfParty } from './change-schedule';
import type { BillingRecord } from './list-schedules';
import type { ScheduleRow } from './lock-schedules';
import { writeSchedule } from './write-schedules';

/**
 * A customer skips one billing, until the bank is asked for it.
 *
 * A future skip is only a row, because the customer may undo it; the billing is skipped when due. A
 * billing between two attempts is skipped at once.
 */

/** How far ahead a customer may skip: more than a life of monthly billings. */
const AHEAD_MAX = 1_000;

/** `skips`: false undoes a skip. */
interface Skip {
  n: number;
  skips: boolean;
}

/**
 * @throws Failure not_found (also of a billing that the schedule will not have, or too far ahead);
 *   too_late_to_skip
 */
export async function skipBilling(
  trx: Transaction,
  rules: RecurringRules,
  { caller, scheduleId }: { caller: Party; scheduleId: string },
  { n, skips }: Skip,
): Promise<void> {
  const before = await lockScheduleOfParty(trx, caller, scheduleId);
  if (n < before.nextN) return skipBegun(trx, rules, before, { n, skips });
  const notFound = new Failure('not_found', `The schedule will have no billing ${n}, or none so far ahead.`);
  if (n > before.nextN + AHEAD_MAX) throw notFound;
  const { hasOpen, skipped } = await trx.oneRow<{ hasOpen: boolean; skipped: number }>`
    SELECT EXISTS (
        SELECT FROM billings WHERE schedule_id = ${scheduleId} AND status IN ('pending', 'retrying')) AS has_open,
      (SELECT count(*)::int FROM billing_skips
       WHERE schedule_id = ${scheduleId} AND n >= ${before.nextN} AND n < ${n}) AS skipped`;
  const billing = nextBilling(before, hasOpen, rules, { n, skipped });
  if (!billing) throw notFound;
  const changed = skips
    ? trx.row`
        INSERT INTO billing_skips (schedule_id, n, due_at) VALUES (${scheduleId}, ${n}, ${billing.dueAt})
        ON CONFLICT DO NOTHING RETURNING n`
    : trx.row`DELETE FROM billing_skips WHERE schedule_id = ${scheduleId} AND n = ${n} RETURNING n`;
  if (!(await changed)) return;
  const event = skips ? 'schedule.skipped' : 'schedule.unskipped';
  await writeSchedule(trx, { before, after: before, cause: 'bank', event, billing });
}

/** Ends a billing between two attempts, by the state in which its row is found. */
async function skipBegun(
  trx: Transaction,
  rules: RecurringRules,
  before: ScheduleRow,
  { n, skips }: Skip,
): Promise<void> {
  const { id, now, paused } = before;
  const { status, reason, dueAt } = await trx.oneRow<Pick<BillingRecord, 'status' | 'reason' | 'dueAt'>>`
    SELECT status, reason, due_at FROM billings WHERE schedule_id = ${id} AND n = ${n}`;
  if (skips ? reason === 'customer_skipped' : status === 'retrying') return;
  if (status !== 'retrying')
    throw new Failure('too_late_to_skip', `The billing is ${status}, and stays so.`, { data: { status } });
  await trx.rows`
    UPDATE billings SET status = 'skipped', reason = 'customer_skipped', retry_at = NULL, closed_at = ${now}
    WHERE schedule_id = ${id} AND n = ${n}`;
  const ended = hasEnded(before.status) ? before.status : null;
  const suspended = before.status === 'suspended';
  const next = statusOf({ ended, suspended, paused, overdue: false });
  const after = { ...before, status: next, nextDueAt: nextBilling(before, false, rules)?.dueAt ?? null };
  const billing = { n, dueAt };
  const by = { cause: 'bank', details: { ...billing, reason: 'customer_skipped' } } as const;
  const steps = [{ event: 'schedule.billing_skipped', ...by, at: now }] as const;
  await writeSchedule(trx, { before, after, ...by, event: 'schedule.skipped', billing, steps });
}
