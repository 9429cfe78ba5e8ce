import type { Signal } from '../domain/signal';
import type { WorkflowAttributes } from '../domain/workflow-id';
import { row, rows, type Executor } from './connection';

/**
 * Messages to Temporal, written by the transaction whose work they announce.
 *
 * A transaction that commits can therefore not lose its workflow, whatever dies next.
 * `temporal/relay.ts` takes the rows out, in any worker.
 */
export interface OutboxStart {
  type: string;
  args: unknown[];
  attributes: WorkflowAttributes;
  summary: string;
  /**
   * Where a workflow of this id has ended, it is run once more; where one is running, it gets this
   * signal. Left out, an id is run once and never again.
   */
  again?: Signal;
  /** Of the span that asked for it, where that is traced. */
  traceparent?: string;
}

export interface OutboxRow {
  id: bigint;
  workflowId: string;
  /** Either it is to be started, */
  start: OutboxStart | null;
  /** or it is to get a signal. */
  signal: Signal | null;
  /** When the work was committed that it tells of, however often it has been tried since. */
  createdAt: Date;
}

/** Workflows to start once this transaction has committed. */
export async function enqueueStarts(
  trx: Executor,
  starts: ({ workflowId: string } & OutboxStart)[],
): Promise<void> {
  if (starts.length === 0) return;
  const traceparent = trx.traceparent?.();
  const traced = traceparent === undefined ? starts : starts.map((start) => ({ ...start, traceparent }));
  await rows(
    trx,
    `INSERT INTO outbox (kind, workflow_id, start)
     SELECT 'start', s->>'workflowId', s - 'workflowId' FROM jsonb_array_elements(:starts::jsonb) AS s`,
    { starts: JSON.stringify(traced) },
  );
}

/** Workflows that hear of it once this transaction has committed. */
export async function enqueueSignals(trx: Executor, signal: Signal, workflowIds: string[]): Promise<void> {
  if (workflowIds.length === 0) return;
  await rows(
    trx,
    `INSERT INTO outbox (kind, workflow_id, signal) SELECT 'signal', unnest(:workflowIds::text[]), :signal`,
    { workflowIds: [...new Set(workflowIds)], signal },
  );
}

/**
 * Signals those of the workflows that sleep. The caller has changed their rows, and read `asleep`
 * in doing so.
 *
 * A signal must not meet the task in which its workflow ends. The server would fail that task and
 * have its local activities run again, and the history would lack who was told. So a workflow says
 * in its row that it sleeps, by one UPDATE of what is still open (`fallAsleep` of each kind). Its
 * timer begins after that. The row's lock puts the UPDATE and the caller's change in an order. In
 * each the workflow learns of the change:
 *
 * - The change comes first. The UPDATE finds the row closed, and the workflow reads how it ended.
 * - The UPDATE comes first. The change finds `asleep`, and signals. Temporal keeps what comes
 *   before the timer.
 * - The worker dies between UPDATE and timer. After ten seconds Temporal gives the task to another,
 *   which reads.
 * - The workflow was terminated or lost. The signal finds nobody. `reconcile` starts again every
 *   workflow whose row is overdue, open without a workflow, or has an unsent webhook. A started
 *   workflow reads its row first.
 *
 * A workflow that has just been signalled, or started again, still counts as asleep. It may get a
 * signal too many: it reads once more, or its last task runs again. Both are rare and harm nobody.
 */
export async function signalSleepers(
  trx: Executor,
  signal: Signal,
  changed: { asleep: boolean; workflowId: string }[],
): Promise<void> {
  const sleepers = changed.filter(({ asleep }) => asleep);
  await enqueueSignals(
    trx,
    signal,
    sleepers.map((one) => one.workflowId),
  );
}

/**
 * Whether anything is to be carried now. It reads in the order of ids, for that index forgets what
 * is gone, and the table does so only when vacuumed.
 */
export async function outboxHasRows(db: Executor): Promise<boolean> {
  const found = await rows(
    db,
    `SELECT 1 FROM outbox WHERE not_before <= clock_timestamp() ORDER BY id LIMIT 1`,
  );
  return found.length > 0;
}

/** Rows of the backlog that are counted at most. More would say nothing more, and take longer. */
const BACKLOG_MAX = 10_000;

export interface OutboxBacklog {
  /** Messages that wait to be carried, up to `BACKLOG_MAX`. */
  messages: number;
  /** How long the oldest of them has waited; 0 where there is none. */
  oldestAgeS: number;
}

export async function outboxBacklog(db: Executor): Promise<OutboxBacklog> {
  const backlog = await row<OutboxBacklog>(
    db,
    `SELECT count(*)::int AS messages,
       coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0)::float8 AS "oldestAgeS"
     FROM (SELECT created_at FROM outbox ORDER BY id LIMIT ${BACKLOG_MAX}) AS waiting`,
  );
  return backlog ?? { messages: 0, oldestAgeS: 0 };
}

/**
 * Takes up to `limit` messages out, oldest first, passing over those that another process has in
 * hand. They are gone when the surrounding transaction commits, and back when it does not.
 */
export async function takeOutboxRows(trx: Executor, limit: number): Promise<OutboxRow[]> {
  return rows<OutboxRow>(
    trx,
    `DELETE FROM outbox WHERE id IN (
       SELECT id FROM outbox
       WHERE not_before <= clock_timestamp()
       ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED)
     RETURNING id, workflow_id AS "workflowId", start, signal, created_at AS "createdAt"`,
    { limit },
  );
}

/**
 * Puts back what Temporal did not take, as old as it is; it is tried again after `delayS` seconds.
 */
export async function returnOutboxRows(trx: Executor, returned: OutboxRow[], delayS: number): Promise<void> {
  if (returned.length === 0) return;
  await rows(
    trx,
    `INSERT INTO outbox (kind, workflow_id, start, signal, created_at, not_before)
     SELECT CASE WHEN r->>'signal' IS NULL THEN 'start' ELSE 'signal' END, r->>'workflowId',
       nullif(r->'start', 'null'), r->>'signal', (r->>'createdAt')::timestamptz,
       clock_timestamp() + :delayS * interval '1 second'
     FROM jsonb_array_elements(:returned::jsonb) AS r`,
    {
      delayS,
      returned: JSON.stringify(
        returned.map(({ workflowId, start, signal, createdAt }) => ({
          workflowId,
          start,
          signal,
          createdAt,
        })),
      ),
    },
  );
}
