import type { BillingRules } from '../domain/billing-rules';
import type { RecurringRules } from '../domain/recurring-step';
import { workflowId } from '../domain/workflow-id';
import { row, rows, type Database, type Executor } from './connection';
import type { Keyring } from './keyring';
import { enqueueWakes } from './outbox';
import { IN_REAL_TIME } from './recurring';
import { advance } from './recurring-advance';
import { OWN_LOOK_WITHIN_MS } from './recurring-state';

/**
 * Looks at schedules ahead of their workflows, by any worker.
 *
 * `acts_at` says when a schedule has something to do: a due date, a notice, a retry, a window's end, or at once where a
 * bank has answered. Left to their workflows are schedules that these have not looked at for the first time yet, and those
 * of a merchant whose test clock was moved, which the clock wakes.
 */

const DUE = `s.acts_at <= now()
  AND EXISTS (SELECT FROM entities m WHERE m.id = s.merchant_id AND ${IN_REAL_TIME})`;

/** Of a schedule that a worker may look at: its workflow has looked, and has not been left alone with it since. */
const SHARED = 's.looks_at IS NOT NULL';

/**
 * Schedules that have something to do now: half of the list those that have had it longest, half the latest. In a
 * burst the latter are those whose banks have just answered, and what has been begun is brought to its end first. In no
 * order, so that workers that look at the same time begin with different ones.
 */
export async function dueSchedules(db: Executor, limit: number): Promise<string[]> {
  const found = await rows<{ id: string }>(
    db,
    `SELECT id FROM (
       (SELECT s.id FROM schedules s WHERE ${DUE} AND ${SHARED} ORDER BY s.acts_at LIMIT :half)
       UNION
       (SELECT s.id FROM schedules s WHERE ${DUE} AND ${SHARED} ORDER BY s.acts_at DESC LIMIT :half)) AS due
     ORDER BY random()`,
    { half: Math.floor(limit / 2) },
  );
  return found.map(({ id }) => id);
}

/** Due schedules that a look at the backlog counts at most: more of them would say nothing more, and take longer. */
const BACKLOG_MAX = 10_000;

export interface DueBacklog {
  /** Schedules that have something to do now, whoever is to look at them, up to `BACKLOG_MAX`. */
  schedules: number;
  /** For how long the first of them has had it; 0 where none has. */
  oldestAgeS: number;
}

export async function dueBacklog(db: Executor): Promise<DueBacklog> {
  const backlog = await row<DueBacklog>(
    db,
    `SELECT count(*)::int AS schedules, coalesce(extract(epoch FROM now() - min(acts_at)), 0)::float8 AS "oldestAgeS"
     FROM (SELECT s.acts_at FROM schedules s WHERE ${DUE} ORDER BY s.acts_at LIMIT ${BACKLOG_MAX}) AS due`,
  );
  return backlog ?? { schedules: 0, oldestAgeS: 0 };
}

/**
 * Does what a schedule has to do now, if it still has. Its workflow learns of it at once; or when it looks by itself, where that is in
 * a few minutes and the bank's answer is still to come, or where it is `crowded`.
 *
 * @param crowded many are due, and waking the workflow of each would hold the others up
 * @returns false where nothing was due any more: another worker, or the workflow, came first
 */
export async function advanceDueSchedule(
  db: Database,
  keyring: Keyring,
  rules: BillingRules & RecurringRules,
  scheduleId: string,
  crowded: boolean,
): Promise<boolean> {
  return db.transaction(async (trx) => {
    const due = await row<{ id: string; agreementId: string; looksSoon: boolean }>(
      trx,
      `SELECT id, agreement_id AS "agreementId", looks_at <= now() + :withinMs * interval '1 millisecond' AS "looksSoon"
       FROM schedules s WHERE id = :scheduleId AND acts_at <= now() AND ${SHARED}`,
      { scheduleId, withinMs: OWN_LOOK_WITHIN_MS },
    );
    if (!due) return false;
    const { asked } = await advance(trx, keyring, rules, 'worker', due);
    const looksByItself = due.looksSoon && (asked || crowded);
    if (!looksByItself) await enqueueWakes(trx, [workflowId.recurring(scheduleId)]);
    return true;
  });
}

/**
 * Leaves a schedule to its workflow alone, until that has looked: what workers fail at, it tries again and again, and shows why.
 */
export async function leaveToWorkflow(db: Database, scheduleId: string): Promise<void> {
  await db.transaction(async (trx) => {
    await rows(trx, `UPDATE schedules SET looks_at = NULL WHERE id = :scheduleId`, { scheduleId });
    await enqueueWakes(trx, [workflowId.recurring(scheduleId)]);
  });
}

/** How long a receiver is given, and then some, before a webhook that has not been attempted counts as left behind. */
const UNTOLD_S = 10;

/** Workflows of schedules for which a worker announced something, and died before it had told of it. */
export async function untoldSchedules(db: Executor, limit: number): Promise<string[]> {
  const found = await rows<{ carrier: string }>(
    db,
    `SELECT DISTINCT carrier FROM webhook_deliveries
     WHERE status = 'pending' AND attempts = 0 AND carrier LIKE '${workflowId.recurring('%')}'
       AND created_at < now() - :untoldS * interval '1 second' LIMIT :limit`,
    { limit, untoldS: UNTOLD_S },
  );
  return found.map(({ carrier }) => carrier);
}
