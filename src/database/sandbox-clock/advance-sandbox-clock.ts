import { workflowIds } from '../../domain/workflow/workflow-id';
import type { Database, Executor } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { enqueueBulkSignals } from '../outbox';
import { CREDIT_WAITS } from '../credit/follow-credit';

/**
 * The test clock of a merchant or a bank, which runs ahead of real time.
 *
 * Business time is real time plus an offset that only grows: the clock ticks between advances, and
 * never goes back. A `target` marks an advance in progress, and refuses a second one.
 */
export interface Clock {
  /** Business time. */
  now: Date;
  realNow: Date;
  /** The end of the advance in progress, or null. */
  target: Date | null;
}

export function readClock(db: Executor, billerId: string): Promise<Clock> {
  return db.oneRow<Clock>`
    SELECT business_now(id) AS now, clock_timestamp() AS real_now, clock_target AS target FROM entities
    WHERE id = ${billerId}`;
}

/** @returns false if an advance is in progress; one statement decides between two that race */
export async function beginAdvance(db: Executor, billerId: string, target: Date): Promise<boolean> {
  const begun = await db.row`
    UPDATE entities SET clock_target = ${target}, clock_moved_at = clock_timestamp()
    WHERE id = ${billerId} AND clock_target IS NULL RETURNING id`;
  return begun !== undefined;
}

/** Moves the clock at once. @returns false if an advance is in progress */
export async function jump(db: Executor, billerId: string, target: Date): Promise<boolean> {
  const jumped = await db.row`
    UPDATE entities SET clock_offset = greatest(clock_offset, ${target} - clock_timestamp()),
      clock_moved_at = clock_timestamp()
    WHERE id = ${billerId} AND clock_target IS NULL RETURNING id`;
  return jumped !== undefined;
}

/** Moves the clock of an advance in progress; a clock that is there already stays. */
export async function moveTo(db: Executor, billerId: string, moment: Date): Promise<void> {
  await db.rows`
    UPDATE entities SET clock_offset = greatest(clock_offset, ${moment} - clock_timestamp()),
      clock_moved_at = clock_timestamp()
    WHERE id = ${billerId} AND clock_target IS NOT NULL`;
}

/** Compares the target, since another worker may have ended this advance and begun the next. */
export async function endAdvance(db: Executor, billerId: string, target: Date): Promise<void> {
  await db.rows`
    UPDATE entities SET clock_target = NULL, clock_moved_at = clock_timestamp()
    WHERE id = ${billerId} AND clock_target = ${target}`;
}

/**
 * The biller's next due moment: a schedule's charge, retry or notice, a refund's reminder, the end
 * of a pause or of a permission, an overdue credit, or the end of a window. Null if nothing is due.
 *
 * @param after exclusive; `-infinity` for no bound
 */
export async function nextMoment(
  db: Executor,
  billerId: string,
  after: Date | '-infinity',
): Promise<Date | null> {
  const { moment } = await db.oneRow<{ moment: Date | null }>`
    SELECT least(
    (SELECT min(acts_at) FROM schedules WHERE merchant_id = ${billerId} AND acts_at > ${after}),
    (SELECT min(acts_at) FROM refunds WHERE merchant_id = ${billerId} AND acts_at > ${after}),
    (SELECT min(acts_at) FROM agreements WHERE merchant_id = ${billerId} AND acts_at > ${after}),
    (SELECT min(expires_at) FROM billing_requests
     WHERE biller_id = ${billerId} AND status = 'pending' AND expires_at > ${after}),
    (SELECT min(credit_due_at) FROM billing_requests b
     WHERE biller_id = ${billerId} AND NOT credit_overdue AND credit_due_at > ${after}
       AND ${raw(CREDIT_WAITS)}),
    (SELECT min(expires_at) FROM intents
     WHERE merchant_id = ${billerId} AND status = 'pending' AND expires_at > ${after})) AS moment`;
  return moment;
}

/** SQL: what a biller's workflows act on at `due_at`; the workflow `sleeps` until then. */
const dueOf = (billerId: string) => sql`(
  SELECT acts_at AS due_at, '${raw(workflowIds.recurring(''))}' || id AS workflow_id, waiting AS sleeps
  FROM schedules WHERE merchant_id = ${billerId}
  UNION ALL
  SELECT acts_at, '${raw(workflowIds.consent(''))}' || id, true FROM agreements WHERE merchant_id = ${billerId}
  UNION ALL
  SELECT acts_at, '${raw(workflowIds.refund(''))}' || id, waiting FROM refunds WHERE merchant_id = ${billerId}
  UNION ALL
  SELECT expires_at, workflow_id, waiting FROM billing_requests
  WHERE biller_id = ${billerId} AND status = 'pending'
  UNION ALL
  SELECT credit_due_at, workflow_id, true FROM billing_requests b
  WHERE biller_id = ${billerId} AND NOT credit_overdue AND ${raw(CREDIT_WAITS)}
  UNION ALL
  SELECT expires_at, workflow_id, waiting FROM intents
  WHERE merchant_id = ${billerId} AND status = 'pending') AS due`;

/**
 * Signals the biller's workflows that have something due by `until`. `infinity` signals all that
 * wait: their timers run in real time, and must restart once the clock has moved.
 */
export async function signalDue(db: Executor, billerId: string, until: Date | 'infinity'): Promise<void> {
  await enqueueBulkSignals(
    db,
    until === 'infinity' ? 'clockMoved' : 'fellDue',
    billerId,
    sql`SELECT DISTINCT workflow_id FROM ${dueOf(billerId)} WHERE sleeps AND due_at <= ${until}`,
  );
}

/**
 * Signals all waiting workflows after a jump has committed. A workflow that begins to wait before
 * the commit reads the old clock, and a signal within the jump would miss it. A schedule reads the
 * clock and begins to wait in one transaction, as an agreement does: this waits for those at it.
 */
export async function signalJumped(db: Database, billerId: string): Promise<void> {
  await db.transaction(async (trx) => {
    await trx.rows`
      SELECT count(*) FROM (SELECT FROM agreements
        WHERE merchant_id = ${billerId} AND acts_at IS NOT NULL ORDER BY id FOR SHARE) AS waiting`;
    await trx.rows`
      SELECT FROM schedules WHERE merchant_id = ${billerId} AND NOT waiting AND acts_at IS NOT NULL
      ORDER BY id FOR SHARE`;
    await signalDue(trx, billerId, 'infinity');
  });
}

export interface WorkInHand {
  /** Business time, by which things are due. */
  now: Date;
  /** Work left for the engine: things that are due, and answers that it has not noted. */
  undone: number;
  unattempted: number;
  /** The part of `unattempted` that was written by the given moment. */
  unattemptedOfMoment: number;
  /** Charges and intents that a bank was asked of lately, and has not answered. */
  asked: number;
  /** The latest of them: a change shows that work goes on. */
  lastAsked: string | null;
  /** Real time, to the microsecond. */
  at: string;
}

/**
 * @param askedSince real time; earlier questions to banks are not counted
 * @param moment real time, or `infinity`: bound of `unattemptedOfMoment`
 */
export async function workInHand(
  db: Executor,
  billerId: string,
  askedSince: Date,
  moment: string,
): Promise<WorkInHand> {
  return db.oneRow<WorkInHand>`
    WITH clock AS MATERIALIZED (SELECT business_now(${billerId}) AS now), open AS (
      SELECT id, recorded_at FROM billing_requests WHERE biller_id = ${billerId} AND status = 'pending'
      UNION ALL
      SELECT id, recorded_at FROM intents WHERE merchant_id = ${billerId} AND status = 'pending')
    SELECT (SELECT now FROM clock) AS now,
      (SELECT count(*)::int FROM ${dueOf(billerId)} WHERE due_at <= (SELECT now FROM clock)) AS undone,
      webhooks.unattempted, webhooks.of_moment AS unattempted_of_moment, clock_timestamp()::text AS at,
      (SELECT count(*) FROM open WHERE recorded_at >= ${askedSince})::int AS asked,
      (SELECT max(id) FROM open WHERE recorded_at >= ${askedSince}) AS last_asked
    FROM (
      SELECT count(*)::int AS unattempted,
             (count(*) FILTER (WHERE d.created_at <= ${moment}::timestamptz))::int AS of_moment
      FROM webhook_deliveries d
      WHERE d.status = 'pending' AND d.attempts = 0
        AND d.workflow_id NOT LIKE '${raw(workflowIds.webhookDelivery('%'))}'
        AND (d.entity_id = ${billerId}
          OR d.workflow_id IN (SELECT '${raw(workflowIds.recurring(''))}' || id FROM schedules
          WHERE merchant_id = ${billerId}))
    ) AS webhooks`;
}
