import { formatInstant } from '../../domain/calendar';
import { groupBy } from '../../domain/group';
import { workflowIds } from '../../domain/workflow/workflow-id';
import { summaryAgain } from '../../domain/workflow/workflow-summary';
import { oneRow, row, rows, type Executor } from '../connection';
import { CREDIT_WAITS } from '../customer/payment-credit';
import { enqueueMissingStarts, type OutboxRank } from '../outbox';
import { summariesOf } from './workflow-summary';

/**
 * Rows that wait for a workflow: which of them are overdue, which are open, and how their workflows
 * are started again.
 *
 * Only a workflow closes a window that passes. Should it have been terminated, or Temporal have
 * lost it, the row says so by being overdue; and of what is not due yet it is known which workflow
 * ought to be asleep.
 */

export type WorkKind =
  | 'intents'
  | 'charges'
  | 'credits'
  | 'refunds'
  | 'schedules'
  | 'customer-migrations'
  | 'bank-statements'
  | 'webhooks'
  | 'clocks';

export interface Work {
  kind: WorkKind;
  workflowId: string;
  status: string;
  merchantId: string | null;
  bankId: string | null;
  /** Of what is overdue: since when, in real time. Of other work: since when it has been open. */
  since: Date;
}

const COLUMNS = `kind, workflow_id AS "workflowId", status, merchant_id AS "merchantId", bank_id AS "bankId", since`;

/**
 * Since when a moment of business time has passed, in real time: a clock that jumped makes nothing
 * late by the whole jump.
 */
const since = (moment: string) => `greatest(${moment} - e.clock_offset, e.clock_moved_at)`;

/**
 * The furthest that any test clock is ahead: an index in the order of time is read as far as that.
 * In production it is 0.
 */
export const FURTHEST = `now() + coalesce((SELECT max(clock_offset) FROM entities WHERE clock_offset > '0'), '0')`;

/**
 * A paused schedule `s` with nothing open has nothing to do: whoever has terminated its workflow is
 * left alone.
 */
const RESTS = `(s.status = 'paused' AND NOT EXISTS (
  SELECT FROM billings b WHERE b.schedule_id = s.id AND b.status IN ('pending', 'retrying')))`;

/**
 * Moments by which something should have happened. One statement for each kind, in the order of
 * time, by an index.
 */
const DUE = {
  intents: `
    SELECT 'intents' AS kind, i.workflow_id, i.status, i.merchant_id, i.bank_id, ${since('i.expires_at')} AS since
    FROM intents i JOIN entities e ON e.id = i.merchant_id
    WHERE i.status = 'pending' AND i.expires_at <= ${FURTHEST}`,
  charges: `
    SELECT 'charges' AS kind, b.workflow_id, b.status, b.merchant_id, b.bank_id, ${since('b.expires_at')} AS since
    FROM billing_requests b JOIN entities e ON e.id = b.owner_id
    WHERE b.status = 'pending' AND b.expires_at <= ${FURTHEST}`,
  credits: `
    SELECT 'credits' AS kind, b.workflow_id, b.status, b.merchant_id, b.bank_id, ${since('b.credit_due_at')} AS since
    FROM billing_requests b JOIN entities e ON e.id = b.owner_id
    WHERE b.credit_due_at <= ${FURTHEST} AND ${CREDIT_WAITS}`,
  refunds: `
    SELECT 'refunds' AS kind, '${workflowIds.refund('')}' || r.id AS workflow_id, r.status, r.merchant_id, r.bank_id,
      ${since('r.acts_at')} AS since
    FROM refunds r JOIN entities e ON e.id = r.merchant_id
    WHERE r.acts_at <= ${FURTHEST}`,
  schedules: `
    SELECT 'schedules' AS kind, '${workflowIds.recurring('')}' || s.id AS workflow_id, s.status, s.merchant_id,
      s.bank_id, ${since('s.acts_at')} + CASE WHEN e.clock_offset = '0' AND e.clock_target IS NULL
        THEN coalesce(s.delay_ms, 0) ELSE 0 END * interval '1 millisecond' AS since
    FROM schedules s JOIN entities e ON e.id = s.merchant_id
    WHERE s.acts_at <= ${FURTHEST} AND NOT ${RESTS}`,
} as const;

type DueKind = keyof typeof DUE;
const DUE_KINDS = Object.keys(DUE) as DueKind[];

/**
 * First attempts belong to the workflow that announced, and come within seconds. Where a receiver
 * fails, one waits in a workflow of its own until there is a place for it (`next_attempt_at`), and
 * is made by a worker until its claim ends. A disabled receiver's wait until it is enabled.
 */
const UNATTEMPTED = `
  SELECT 'webhooks' AS kind, d.workflow_id, d.status,
    CASE WHEN d.entity_id LIKE 'mch%' THEN d.entity_id END AS merchant_id,
    CASE WHEN d.entity_id LIKE 'bnk%' THEN d.entity_id END AS bank_id,
    greatest(d.created_at, d.next_attempt_at, d.claimed_until) AS since
  FROM webhook_deliveries d JOIN entities e ON e.id = d.entity_id
  WHERE d.status = 'pending' AND d.attempts = 0 AND e.status = 'active'`;

/** Overdue rows that are counted at most: more of them would say nothing more, and take longer. */
const COUNTED_MAX = 10_000;

export interface Overdue {
  kind: DueKind;
  /** Up to `COUNTED_MAX`. */
  count: number;
  /** 0 where there is none. */
  oldestAgeS: number;
}

/** What is past its moment by more than `afterS` seconds of real time and still open, by kind. */
export async function overdueBacklog(db: Executor, afterS: number): Promise<Overdue[]> {
  return Promise.all(
    DUE_KINDS.map(async (kind) => {
      const counted = await row<Omit<Overdue, 'kind'>>(
        db,
        `SELECT count(*)::int AS count, coalesce(extract(epoch FROM now() - min(since)), 0)::float8 AS "oldestAgeS"
         FROM (SELECT since FROM (${DUE[kind]}) AS due WHERE since <= now() - :afterS * interval '1 second'
               LIMIT ${COUNTED_MAX}) AS late`,
        { afterS },
      );
      return { kind, count: 0, oldestAgeS: 0, ...counted };
    }),
  );
}

/**
 * Workflows that should have acted more than `afterS` seconds ago: up to `limit` of each kind. A
 * schedule's charges count as the schedule. Workflows with a start in the outbox are left out: an
 * enabled party has a start there for each webhook. The order is random, so a few workflows that
 * cannot go on do not hide the others.
 */
export async function overdueWork(db: Executor, afterS: number, limit: number): Promise<Work[]> {
  return overdue(db, 'true', { afterS, limit });
}

/** The same of one party whose test clock has come to a moment, whatever the time is. */
export async function dueWorkOf(db: Executor, ownerId: string, limit: number): Promise<OpenWork[]> {
  return overdue(db, ':ownerId IN (merchant_id, bank_id)', { afterS: 0, limit, ownerId });
}

async function overdue(
  db: Executor,
  whose: string,
  bound: { afterS: number; limit: number; ownerId?: string },
): Promise<OpenWork[]> {
  const found = await Promise.all(
    [...DUE_KINDS.map((kind) => DUE[kind]), UNATTEMPTED].map((sql) =>
      rows<OpenWork>(
        db,
        `SELECT DISTINCT ON (workflow_id) ${COLUMNS}, workflow_id AS key, clock_timestamp() AS now FROM (
           SELECT * FROM (${sql}) AS due
           WHERE since <= now() - :afterS * interval '1 second' AND ${whose}
             AND (kind <> 'charges' OR workflow_id NOT LIKE '${workflowIds.recurring('%')}')
             AND NOT EXISTS (SELECT FROM outbox o WHERE o.kind = 'start' AND o.workflow_id = due.workflow_id)
           ORDER BY random() LIMIT :limit) AS late
         ORDER BY workflow_id, since`,
        bound,
        // A plan for an empty outbox may read all of a full one for each row that is due.
        'anew',
      ),
    ),
  );
  return found.flat();
}

const openWebhooks = (key: string, workflowId: string) => `
    SELECT 'webhooks' AS kind, ${key} AS key, ${workflowId} AS workflow_id, d.status,
      CASE WHEN d.entity_id LIKE 'mch%' THEN d.entity_id END AS merchant_id,
      CASE WHEN d.entity_id LIKE 'bnk%' THEN d.entity_id END AS bank_id, d.created_at AS since
    FROM webhook_deliveries d JOIN entities e ON e.id = d.entity_id AND e.status = 'active'
    WHERE d.status = 'pending'`;

/**
 * All that is open, by kind, each with its key to go through it in order. A workflow may be there
 * for several rows. Schedules, of which there are most, come last.
 */
const OPEN: Record<WorkKind, string> = {
  intents: `
    SELECT 'intents' AS kind, id AS key, workflow_id, status, merchant_id, bank_id, recorded_at AS since
    FROM intents WHERE status = 'pending'`,
  charges: `
    SELECT 'charges' AS kind, workflow_id AS key, workflow_id, status, merchant_id, bank_id, recorded_at AS since
    FROM billing_requests WHERE status = 'pending' AND schedule_id IS NULL`,
  credits: `
    SELECT 'credits' AS kind, b.workflow_id AS key, b.workflow_id, b.status, b.merchant_id, b.bank_id,
      b.recorded_at AS since
    FROM billing_requests b WHERE ${CREDIT_WAITS}`,
  refunds: `
    SELECT 'refunds' AS kind, id AS key, '${workflowIds.refund('')}' || id AS workflow_id, status, merchant_id, bank_id,
      recorded_at AS since
    FROM refunds WHERE status = 'pending'`,
  'customer-migrations': `
    SELECT 'customer-migrations' AS kind, id AS key, '${workflowIds.customerMigration('')}' || id AS workflow_id, status,
      NULL AS merchant_id, bank_id, created_at AS since
    FROM customer_batches WHERE status = 'processing'`,
  'bank-statements': `
    SELECT 'bank-statements' AS kind, id AS key, '${workflowIds.bankStatement('')}' || id AS workflow_id, status,
      NULL AS merchant_id, bank_id, recorded_at AS since
    FROM bank_statements WHERE status = 'processing'`,
  // Those that wait for a retry, then those that wait for a place, each by an index of its own: the
  // keys of the second, ids of workflows, come after all of the first.
  webhooks: `
    (${openWebhooks('d.id', `'${workflowIds.webhookDelivery('')}' || d.id`)} AND d.attempts > 0 ORDER BY key)
    UNION ALL
    (${openWebhooks('d.workflow_id', 'd.workflow_id')} AND d.attempts = 0 AND d.next_attempt_at > clock_timestamp()
     ORDER BY key)`,
  clocks: `
    SELECT 'clocks' AS kind, id AS key, id AS workflow_id, 'advancing' AS status,
      CASE WHEN type = 'merchant' THEN id END AS merchant_id, CASE WHEN type = 'bank' THEN id END AS bank_id,
      coalesce(clock_moved_at, created_at) AS since, clock_target
    FROM entities WHERE clock_target IS NOT NULL`,
  schedules: `
    SELECT 'schedules' AS kind, s.id AS key, '${workflowIds.recurring('')}' || s.id AS workflow_id, s.status,
      s.merchant_id, s.bank_id, s.recorded_at AS since, ${RESTS} AS rests
    FROM schedules s WHERE s.acts_at IS NOT NULL`,
};

export const WORK_KINDS = Object.keys(OPEN) as WorkKind[];

export interface OpenWork extends Work {
  key: string;
  /** The database's clock when it was read. */
  now: Date;
}

/**
 * The next page of a kind's open work, after `after`, in the order of keys. Of several rows of a
 * workflow each may come.
 *
 * @param resting with what has nothing to do until somebody acts, and whose workflow is missed only
 *   then
 */
export async function openWork(
  db: Executor,
  kind: WorkKind,
  after: string,
  limit: number,
  resting: boolean,
): Promise<OpenWork[]> {
  const found = await rows<OpenWork & { clockTarget?: Date }>(
    db,
    `SELECT ${COLUMNS}, key, clock_timestamp() AS now ${kind === 'clocks' ? ', clock_target AS "clockTarget"' : ''}
     FROM (${OPEN[kind]}) AS open
     WHERE key > :after ${kind === 'schedules' && !resting ? 'AND NOT rests' : ''} ORDER BY key LIMIT :limit`,
    { after, limit },
  );
  return found.map(({ clockTarget, ...work }) =>
    clockTarget
      ? { ...work, workflowId: workflowIds.sandboxClock(work.key, formatInstant(clockTarget)) }
      : work,
  );
}

/** Which of these still wait for their workflow, and are in the hands of no start in the outbox. */
export async function stillOpen(db: Executor, work: OpenWork[]): Promise<OpenWork[]> {
  if (work.length === 0) return [];
  const open = await Promise.all(
    [...groupBy(work, ({ kind }) => kind)].map(([kind, ofKind]) =>
      rows<{ key: string }>(db, `SELECT key FROM (${OPEN[kind]}) AS open WHERE key = ANY(:keys)`, {
        keys: ofKind.map(({ key }) => key),
      }),
    ),
  );
  const waiting = await rows<{ id: string }>(
    db,
    `SELECT workflow_id AS id FROM outbox WHERE kind = 'start' AND workflow_id = ANY(:ids)`,
    { ids: work.map((one) => one.workflowId) },
  );
  const keys = new Set(open.flat().map(({ key }) => key));
  const inOutbox = new Set(waiting.map(({ id }) => id));
  return work.filter((one) => keys.has(one.key) && !inOutbox.has(one.workflowId));
}

/**
 * Has the workflows started again; one that runs only gets a signal. Where a start of it waits in
 * the outbox already, there is no second one.
 *
 * @param rank `later` where nobody bounds how many there are
 * @returns how many there are to start
 */
export async function restartWork(db: Executor, work: Work[], rank: OutboxRank = 'call'): Promise<number> {
  if (work.length === 0) return 0;
  const ids = [...new Set(work.map(({ workflowId }) => workflowId))];
  const summaries = await summariesOf(db, ids);
  const starts = new Map(
    work.map((one) => [one.workflowId, startOf(one, summaries.get(one.workflowId) ?? one.workflowId)]),
  );
  return enqueueMissingStarts(db, [...starts.values()], rank);
}

function startOf({ workflowId, status, merchantId, bankId }: Work, summary: string) {
  return {
    workflowId,
    again: 'foundOverdue' as const,
    summary: summaryAgain.foundOverdue(summary),
    attributes: {
      status,
      ...(merchantId !== null && { merchantId }),
      ...(bankId !== null && { bankId }),
    },
  };
}

/**
 * How many restarts of workflows wait in the outbox. All are counted: whoever waits for them sees
 * that they get fewer.
 */
export async function restartsWaiting(db: Executor): Promise<number> {
  const waiting = await oneRow<{ count: number }>(
    db,
    `SELECT count(*)::int AS count FROM outbox WHERE kind = 'start' AND start->>'again' = 'foundOverdue'`,
  );
  return waiting.count;
}
