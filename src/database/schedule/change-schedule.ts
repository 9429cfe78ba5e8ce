import { isDeepStrictEqual } from 'node:util';
import { formatInstant } from '../../domain/calendar';
import { requireChargeable } from '../../domain/charge';
import { Failure, invalidRequest, type Problem } from '../../domain/failures';
import type { Metadata } from '../../domain/metadata';
import { parseAmount } from '../../domain/money';
import { accept } from '../../domain/parsed';
import { hasEnded, statusOf } from '../../domain/recurring/recurring';
import { nextAmount, nextBilling, type RecurringRules } from '../../domain/recurring/schedule-facts';
import { limitsOf } from '../agreement/spending-limit';
import type { Transaction } from '../pool/connection';
import { ownedBy, type Party } from '../query/party';
import { lockAlignedSchedule } from './align-schedules';
import type { ScheduleRow } from './lock-schedules';
import { writeSchedule } from './write-schedules';

/**
 * Actions of people on a schedule: its merchant, or the merchant's provider, pauses, resumes,
 * changes or cancels it; the customer's bank cancels it.
 *
 * Each action is a transaction with the locks of `withLockedSchedule`, so an action and a charge
 * come one after the other. An action that changes nothing announces nothing. A charge already sent
 * to the bank runs to its end.
 */

/** New terms; a field left out stays, and null removes it. */
export interface ScheduleChange {
  /** In major units of the schedule's currency. */
  amount?: number | undefined;
  endAt?: Date | null | undefined;
  maxBillings?: number | null | undefined;
  description?: string | null | undefined;
  /** Replaces all metadata. */
  metadata?: Metadata | undefined;
}

/**
 * Records that the merchant wants no charges. A suspended schedule stays suspended, and is paused
 * after that.
 *
 * @throws Failure not_found; schedule_ended
 */
export async function pauseSchedule(trx: Transaction, caller: Party, scheduleId: string): Promise<void> {
  const before = await lockScheduleOfParty(trx, caller, scheduleId);
  refuseEnded(before);
  if (before.paused) return;
  const status = before.status === 'suspended' ? 'suspended' : 'paused';
  const after = { ...before, status, paused: true } as const;
  await writeSchedule(trx, { before, after, cause: caller.role, event: 'schedule.paused' });
}

/**
 * Ends the merchant's own pause. A suspension is not the merchant's to end.
 *
 * @throws Failure not_found; schedule_ended; schedule_suspended
 */
export async function resumeSchedule(trx: Transaction, caller: Party, scheduleId: string): Promise<void> {
  const before = await lockScheduleOfParty(trx, caller, scheduleId);
  refuseEnded(before);
  if (before.status === 'suspended') {
    throw new Failure(
      'schedule_suspended',
      'The schedule is suspended: it goes on once the customer approves again and the network trusts the merchant.',
      { data: { status: before.status } },
    );
  }
  if (!before.paused) return;
  const status = statusOf({ ended: null, suspended: false, paused: false, overdue: before.overdue });
  const after = { ...before, status, paused: false };
  await writeSchedule(trx, { before, after, cause: caller.role, event: 'schedule.resumed' });
}

/** @throws Failure not_found; schedule_ended (otherwise) */
export async function cancelSchedule(trx: Transaction, caller: Party, scheduleId: string): Promise<void> {
  const before = await lockScheduleOfParty(trx, caller, scheduleId);
  if (before.status === 'cancelled') return;
  refuseEnded(before);
  await writeSchedule(trx, { before, after: { ...before, status: 'cancelled' }, cause: caller.role });
}

/**
 * Changes the terms from the next billing on. A schedule with nothing left to charge under them is
 * completed with the change.
 *
 * @throws Failure not_found; schedule_ended; invalid_request; limit_reached
 */
export async function changeSchedule(
  trx: Transaction,
  rules: RecurringRules,
  { caller, scheduleId }: { caller: Party; scheduleId: string },
  change: ScheduleChange,
): Promise<void> {
  const before = await lockScheduleOfParty(trx, caller, scheduleId);
  const { metadata, hasOpen } = await readRest(trx, scheduleId);
  const parsed =
    change.amount === undefined ? accept(before.amount) : parseAmount(change.amount, before.currency);
  // Problems of the amount itself are reported before that the schedule has ended.
  if (parsed.ok) refuseEnded(before);
  const amount = parsed.ok ? parsed.value : before.amount;
  const after = {
    ...before,
    amount,
    endAt: change.endAt === undefined ? before.endAt : change.endAt,
    maxBillings: change.maxBillings === undefined ? before.maxBillings : change.maxBillings,
    description: change.description === undefined ? before.description : change.description,
    metadata: change.metadata ?? metadata,
  };
  const changed = changedFields({ ...before, metadata }, after);
  const problems = problemsOf(after, changed, hasOpen);
  if (!parsed.ok) problems.unshift({ path: 'amount', message: parsed.reason });
  if (problems.length > 0) throw invalidRequest(problems);
  if (changed.length === 0) return;
  if (changed.includes('amount')) {
    const { limits } = await limitsOf(trx, before.agreementId);
    requireChargeable({ ...limits, validUntil: null }, { amount, startAt: before.startAt });
  }
  const nextDueAt = nextBilling(after, hasOpen, rules)?.dueAt ?? null;
  // A charge that both sides were told of is not raised; they are told again once it is lowered.
  const terms = {
    ...after,
    nextDueAt,
    noticedN: amount < nextAmount(before) ? null : before.noticedN,
    noticedAmount: before.noticedAmount && nextAmount(after),
  };
  const from = amount === nextAmount(terms) ? undefined : { n: before.nextN + 1, skipped: 0 };
  const effectiveFrom = nextBilling(after, hasOpen, rules, from)?.dueAt ?? null;
  const { status, now } = before;
  const details = {
    changed,
    ...(changed.includes('amount') && { amount, previousAmount: before.amount }),
    ...(changed.includes('endDate') && { endDate: after.endAt && formatInstant(after.endAt) }),
    ...(changed.includes('maxBillings') && { maxBillings: after.maxBillings }),
  };
  const { role: cause } = caller;
  const event = 'schedule.changed';
  if (nextDueAt !== null || hasOpen) {
    await writeSchedule(trx, { before, after: terms, cause, event, details, effectiveFrom });
    return;
  }
  // Both sides hear of the end alone.
  const recorded = { status, previousStatus: status, ...details };
  await writeSchedule(trx, {
    before,
    after: { ...terms, status: 'completed' },
    cause: 'network',
    steps: [{ event, cause, details: recorded, at: now }],
  });
}

/** Locks a schedule of the caller's, in line with its agreement. @throws Failure not_found */
export async function lockScheduleOfParty(
  trx: Transaction,
  party: Party,
  scheduleId: string,
): Promise<ScheduleRow> {
  const found = await trx.row`
    SELECT FROM schedules s WHERE s.id = ${scheduleId} AND s.${ownedBy(party)}`;
  if (!found) throw new Failure('not_found', 'There is no such schedule.');
  return (await lockAlignedSchedule(trx, scheduleId)).schedule;
}

function refuseEnded({ status }: ScheduleRow): void {
  if (!hasEnded(status)) return;
  throw new Failure('schedule_ended', `The schedule is ${status}, and stays so.`, { data: { status } });
}

function readRest(trx: Transaction, scheduleId: string): Promise<{ metadata: Metadata; hasOpen: boolean }> {
  return trx.oneRow<{ metadata: Metadata; hasOpen: boolean }>`
    SELECT metadata, EXISTS (SELECT FROM billings b
                             WHERE b.schedule_id = s.id AND b.status IN ('pending', 'retrying')) AS has_open
    FROM schedules s WHERE s.id = ${scheduleId}`;
}

type Terms = Pick<ScheduleRow, 'amount' | 'endAt' | 'maxBillings' | 'description'> & { metadata: object };

/** The fields, as the API names them, in which the two differ. */
function changedFields(before: Terms, after: Terms): string[] {
  const pairs = {
    amount: [before.amount, after.amount],
    endDate: [before.endAt?.getTime(), after.endAt?.getTime()],
    maxBillings: [before.maxBillings, after.maxBillings],
    description: [before.description, after.description],
    metadata: [before.metadata, after.metadata],
  };
  return Object.entries(pairs).flatMap(([name, [was, is]]) => (isDeepStrictEqual(was, is) ? [] : [name]));
}

/** The problems of new terms that do not fit the schedule's past. */
function problemsOf(after: ScheduleRow, changed: string[], hasOpen: boolean): Problem[] {
  const problems: Problem[] = [];
  if (changed.includes('endDate') && after.endAt !== null) {
    if (after.endAt <= after.startAt) {
      problems.push({ path: 'endDate', message: 'must be after the start date' });
    } else if (after.endAt < after.now) {
      problems.push({
        path: 'endDate',
        message: 'must not be in the past; cancel the schedule to end it at once',
      });
    }
  }
  const used = after.ran + (hasOpen ? 1 : 0);
  if (after.maxBillings !== null && after.maxBillings < used) {
    const message = `must be at least ${used}, for so many billings have run or are in hand`;
    problems.push({ path: 'maxBillings', message });
  }
  return problems;
}
