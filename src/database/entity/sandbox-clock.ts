import { workflowIds } from '../../domain/workflow/workflow-id';
import { oneRow, row, rows, type Database, type Executor } from '../connection';
import { enqueueBulkSignals } from '../outbox';
import { CREDIT_WAITS } from '../customer/payment-credit';

/**
 * The test clock of a merchant or a bank: how far its business time runs ahead of real time.
 *
 * Business time is real time plus an offset, which only ever grows; so between advances the clock
 * ticks, and it never goes back. `clock_target` is set while an advance is under way, and is what a
 * second one is refused by.
 */
export interface Clock {
  /** Business time. */
  now: Date;
  realNow: Date;
  /** Where an advance goes; null while none is under way. */
  target: Date | null;
}

export async function readClock(db: Executor, ownerId: string): Promise<Clock> {
  const clock = await row<Clock>(
    db,
    `SELECT business_now(id) AS now, clock_timestamp() AS real_now, clock_target AS target FROM entities WHERE id = :ownerId`,
    { ownerId },
  );
  if (!clock) throw new Error(`there is no entity ${ownerId}`);
  return clock;
}

/**
 * Begins an advance; false where one is under way. Of two that race, this statement lets one
 * through.
 */
export async function beginAdvance(db: Executor, ownerId: string, target: Date): Promise<boolean> {
  const begun = await row(
    db,
    `UPDATE entities SET clock_target = :target, clock_moved_at = clock_timestamp() WHERE id = :ownerId AND clock_target IS NULL RETURNING id`,
    { ownerId, target },
  );
  return begun !== undefined;
}

/** Moves the clock at once; false where an advance is under way. */
export async function jump(db: Executor, ownerId: string, target: Date): Promise<boolean> {
  const jumped = await row(
    db,
    `UPDATE entities SET clock_offset = greatest(clock_offset, :target - clock_timestamp()),
       clock_moved_at = clock_timestamp()
     WHERE id = :ownerId AND clock_target IS NULL RETURNING id`,
    { ownerId, target },
  );
  return jumped !== undefined;
}

/** Moves the clock of an advance that is under way; does nothing where it is there already. */
export async function moveTo(db: Executor, ownerId: string, moment: Date): Promise<void> {
  await rows(
    db,
    `UPDATE entities SET clock_offset = greatest(clock_offset, :moment - clock_timestamp()),
       clock_moved_at = clock_timestamp()
     WHERE id = :ownerId AND clock_target IS NOT NULL`,
    { ownerId, moment },
  );
}

/** Does nothing where this advance is over, whose end another worker has said: the next may run. */
export async function endAdvance(db: Executor, ownerId: string, target: Date): Promise<void> {
  await rows(
    db,
    `UPDATE entities SET clock_target = NULL, clock_moved_at = clock_timestamp()
     WHERE id = :ownerId AND clock_target = :target`,
    { ownerId, target },
  );
}

/**
 * The first moment at which something of this owner is due: a charge, a retry or a notice of its
 * schedules, or the end of a window. Null where nothing is.
 *
 * @param after what is due at this moment or before it is passed over; `-infinity` where nothing is
 */
export async function nextMoment(
  db: Executor,
  ownerId: string,
  after: Date | '-infinity',
): Promise<Date | null> {
  const found = await row<{ moment: Date | null }>(
    db,
    `SELECT least(
       (SELECT min(acts_at) FROM schedules WHERE merchant_id = :ownerId AND acts_at > :after),
       (SELECT min(acts_at) FROM refunds WHERE merchant_id = :ownerId AND acts_at > :after),
       (SELECT min(expires_at) FROM billing_requests
        WHERE owner_id = :ownerId AND status = 'pending' AND expires_at > :after),
       (SELECT min(credit_due_at) FROM billing_requests b
        WHERE owner_id = :ownerId AND NOT credit_overdue AND credit_due_at > :after AND ${CREDIT_WAITS}),
       (SELECT min(expires_at) FROM intents
        WHERE merchant_id = :ownerId AND status = 'pending' AND expires_at > :after)) AS moment`,
    { ownerId, after },
  );
  return found?.moment ?? null;
}

/**
 * Signals the workflows of this owner that have something due by `until`; all that wait for
 * anything, where it is `infinity`: their timers run in real time, and are made anew once the clock
 * has been moved.
 */
export async function signalDue(db: Executor, ownerId: string, until: Date | 'infinity'): Promise<void> {
  await enqueueBulkSignals(
    db,
    until === 'infinity' ? 'clockMoved' : 'fellDue',
    ownerId,
    `SELECT '${workflowIds.recurring('')}' || id AS workflow_id FROM schedules
     WHERE merchant_id = :ownerId AND asleep AND acts_at <= :until
     UNION
     SELECT '${workflowIds.refund('')}' || id FROM refunds
     WHERE merchant_id = :ownerId AND asleep AND acts_at <= :until
     UNION
     SELECT workflow_id FROM billing_requests
     WHERE owner_id = :ownerId AND status = 'pending' AND asleep AND expires_at <= :until
     UNION
     SELECT workflow_id FROM billing_requests b
     WHERE owner_id = :ownerId AND NOT credit_overdue AND credit_due_at <= :until AND ${CREDIT_WAITS}
     UNION
     SELECT workflow_id FROM intents
     WHERE merchant_id = :ownerId AND status = 'pending' AND asleep AND expires_at <= :until`,
    { ownerId, until },
  );
}

/**
 * Signals all that waits, once a jump is committed: until then whoever falls asleep goes by the
 * clock of before, and was not asleep for a signal in the jump's own transaction. A schedule reads
 * the clock and falls asleep in one transaction, so those that are at it are waited for.
 */
export async function signalJumped(db: Database, ownerId: string): Promise<void> {
  await db.transaction(async (trx) => {
    await rows(
      trx,
      `SELECT FROM schedules WHERE merchant_id = :ownerId AND NOT asleep AND acts_at IS NOT NULL
       ORDER BY id FOR SHARE`,
      { ownerId },
    );
    await signalDue(trx, ownerId, 'infinity');
  });
}

export interface WorkInHand {
  /** Business time, by which things are due. */
  now: Date;
  /** What the engine still has to do: things due and not done, answers not taken note of. */
  undone: number;
  /** Webhooks of which no attempt has been made. */
  unattempted: number;
  /** Of these, the ones that had been written by the moment asked about. */
  unattemptedOfMoment: number;
  /** Charges and intents that a bank has been asked of late, and has not answered. */
  asked: number;
  /** The latest of these: another one shows that something is going on. */
  lastAsked: string | null;
  /** Real time, to the microsecond. */
  at: string;
}

/**
 * @param askedSince real time; what a bank was asked before it is not counted
 * @param moment real time, or `infinity`: of which webhooks `unattemptedOfMoment` is
 */
export async function workInHand(
  db: Executor,
  ownerId: string,
  askedSince: Date,
  moment: string,
): Promise<WorkInHand> {
  return oneRow<WorkInHand>(
    db,
    `WITH clock AS MATERIALIZED (SELECT business_now(:ownerId) AS now), open AS (
       SELECT id, expires_at, recorded_at FROM billing_requests WHERE owner_id = :ownerId AND status = 'pending'
       UNION ALL
       SELECT id, expires_at, recorded_at FROM intents WHERE merchant_id = :ownerId AND status = 'pending')
     SELECT (SELECT now FROM clock) AS now,
            ((SELECT count(*) FROM schedules WHERE merchant_id = :ownerId AND acts_at <= (SELECT now FROM clock))
           + (SELECT count(*) FROM refunds WHERE merchant_id = :ownerId AND acts_at <= (SELECT now FROM clock))
           + (SELECT count(*) FROM open WHERE expires_at <= (SELECT now FROM clock))
           + (SELECT count(*) FROM billing_requests b
              WHERE owner_id = :ownerId AND NOT credit_overdue AND credit_due_at <= (SELECT now FROM clock) AND ${CREDIT_WAITS}))::int AS undone,
       webhooks.unattempted, webhooks.of_moment AS unattempted_of_moment, clock_timestamp()::text AS at,
       (SELECT count(*) FROM open WHERE recorded_at >= :askedSince)::int AS asked,
       (SELECT max(id) FROM open WHERE recorded_at >= :askedSince) AS last_asked
     FROM (
       SELECT count(*)::int AS unattempted,
              (count(*) FILTER (WHERE d.created_at <= :moment::timestamptz))::int AS of_moment
       FROM webhook_deliveries d
       WHERE d.status = 'pending' AND d.attempts = 0 AND d.workflow_id NOT LIKE '${workflowIds.webhookDelivery('%')}'
         AND (d.entity_id = :ownerId
           OR d.workflow_id IN (SELECT '${workflowIds.recurring('')}' || id FROM schedules WHERE merchant_id = :ownerId))
     ) AS webhooks`,
    { ownerId, askedSince, moment },
  );
}
