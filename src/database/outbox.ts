import type { Signal } from '../domain/workflow/signal';
import {
  runOf,
  workflowIds,
  type WorkflowAttributes,
  type WorkflowRun,
} from '../domain/workflow/workflow-id';
import { row, rows, type Executor } from './connection';

/**
 * Messages to Temporal, written by the transaction whose work they announce.
 *
 * A transaction that commits can therefore not lose its workflow, whatever dies next.
 * `temporal/relay.ts` takes the rows out, in any worker.
 */
export interface OutboxStart extends WorkflowRun {
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

/**
 * What goes first. `call` is what somebody asked for: a charge, an answer, a webhook; some thousand
 * rows at once at most. `bulk` is what one act writes without a bound: a row for each schedule, or
 * each webhook that waits, of a party that may have hundreds of thousands. Nobody's charge waits
 * behind those.
 *
 * A workflow's messages of both ranks may overtake each other. That changes nothing, for bulk rows
 * are signals, and starts that say `again`: all they do is have the database read.
 */
export const RANK = { call: 0, bulk: 1 } as const;
export type OutboxRank = keyof typeof RANK;

/**
 * Rows that an act without a bound may write as a call's, a batch of the relay's: what a small
 * party waits for does not stand behind a large one's.
 */
export const BULK_AFTER = 100;

export interface OutboxRow {
  id: bigint;
  rank: number;
  workflowId: string;
  /** Either it is to be started, */
  start: OutboxStart | null;
  /** or it is to get a signal. */
  signal: Signal | null;
  /**
   * Of a webhook's workflow: the provider of its receiver, else the receiver. Null where the
   * delivery is gone, and for all others.
   */
  ownerId: string | null;
  /** When the work was committed that it tells of, however often it has been tried since. */
  createdAt: Date;
}

/** The id names the workflow's type. Where `args` are left out, it names what it runs on, too. */
export interface WorkflowStart extends Omit<OutboxStart, 'type' | 'args' | 'traceparent'> {
  workflowId: string;
  args?: unknown[];
}

/** Workflows to start once this transaction has committed. */
export async function enqueueStarts(
  trx: Executor,
  starts: WorkflowStart[],
  rank: OutboxRank = 'call',
): Promise<void> {
  if (starts.length === 0) return;
  const traceparent = trx.traceparent?.();
  const traced = starts.map((start) => ({ ...start, traceparent }));
  await rows(trx, putStarts(rank), { starts: asRuns(traced) });
}

/**
 * Has workflows started once more that ought to be there, but for those whose start waits already.
 *
 * @returns how many there are to start
 */
export async function enqueueMissingStarts(
  db: Executor,
  starts: WorkflowStart[],
  rank: OutboxRank,
): Promise<number> {
  const put = await rows(
    db,
    `${putStarts(rank)}
     WHERE NOT EXISTS (SELECT FROM outbox o WHERE o.kind = 'start' AND o.workflow_id = s->>'workflowId')
     RETURNING id`,
    { starts: asRuns(starts) },
  );
  return put.length;
}

const putStarts = (rank: OutboxRank) => `INSERT INTO outbox (kind, workflow_id, start, rank)
  SELECT 'start', s->>'workflowId', s - 'workflowId', ${RANK[rank]} FROM jsonb_array_elements(:starts::jsonb) AS s`;

const asRuns = (starts: WorkflowStart[]) =>
  JSON.stringify(starts.map((start) => ({ ...runOf(start.workflowId), ...start })));

/** Workflows that hear of it once this transaction has committed. */
export async function enqueueSignals(trx: Executor, signal: Signal, ids: string[]): Promise<void> {
  if (ids.length === 0) return;
  await rows(
    trx,
    `INSERT INTO outbox (kind, workflow_id, signal) SELECT 'signal', unnest(:ids::text[]), :signal`,
    { ids: [...new Set(ids)], signal },
  );
}

/**
 * Signals all that a statement finds, those after the first `BULK_AFTER` behind what calls ask for.
 *
 * @param found selects their ids
 */
export async function enqueueBulkSignals(
  trx: Executor,
  signal: Signal,
  found: string,
  bindings: Record<string, unknown>,
): Promise<void> {
  await rows(
    trx,
    `INSERT INTO outbox (kind, workflow_id, signal, rank)
     SELECT 'signal', found.workflow_id, :signal,
       CASE WHEN row_number() OVER () <= ${BULK_AFTER} THEN ${RANK.call} ELSE ${RANK.bulk} END
     FROM (${found}) AS found (workflow_id)`,
    { ...bindings, signal },
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
 * Whether anything is to be carried now. It reads in the order of the primary key, for that index
 * forgets what is gone, and the table does so only when vacuumed.
 */
export async function outboxHasRows(db: Executor): Promise<boolean> {
  const found = await rows(
    db,
    `SELECT 1 FROM outbox WHERE not_before <= clock_timestamp() ORDER BY rank, id LIMIT 1`,
  );
  return found.length > 0;
}

/** Rows of a rank that are counted at most. More would say nothing more, and take longer. */
const BACKLOG_MAX = 10_000;

export interface OutboxBacklog {
  /** Messages that wait to be carried, up to `BACKLOG_MAX`. */
  messages: number;
  /** How long the oldest of them has waited; 0 where there is none. */
  oldestAgeS: number;
}

export async function outboxBacklog(db: Executor): Promise<Record<OutboxRank, OutboxBacklog>> {
  const [call, bulk] = await Promise.all([backlogOf(db, 'call'), backlogOf(db, 'bulk')]);
  return { call, bulk };
}

async function backlogOf(db: Executor, rank: OutboxRank): Promise<OutboxBacklog> {
  const backlog = await row<OutboxBacklog>(
    db,
    `SELECT count(*)::int AS messages,
       coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0)::float8 AS "oldestAgeS"
     FROM (SELECT created_at FROM outbox WHERE rank = ${RANK[rank]} ORDER BY id LIMIT ${BACKLOG_MAX}) AS waiting`,
  );
  return backlog ?? { messages: 0, oldestAgeS: 0 };
}

/**
 * Takes up to `limit` messages of calls out, and of bulk ones what is left of that, but `bulkLeast`
 * beside any number of calls. Oldest first, and passing over those that another process has in
 * hand. They are gone when the surrounding transaction commits, and back when it does not.
 *
 * It is planned anew each time. A plan that was made for some rows sorts all that wait: half a
 * second for each batch where there are 500 000.
 */
export async function takeOutboxRows(trx: Executor, limit: number, bulkLeast: number): Promise<OutboxRow[]> {
  return rows<OutboxRow>(
    trx,
    `WITH calls AS (
       SELECT id FROM outbox WHERE rank = ${RANK.call} AND not_before <= clock_timestamp()
       ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED
     ), bulk AS (
       SELECT id FROM outbox WHERE rank = ${RANK.bulk} AND not_before <= clock_timestamp()
       ORDER BY id LIMIT greatest(:bulkLeast, :limit - (SELECT count(*) FROM calls)) FOR UPDATE SKIP LOCKED
     )
     DELETE FROM outbox WHERE rank IN (${RANK.call}, ${RANK.bulk})
       AND id = ANY(ARRAY(SELECT id FROM calls UNION ALL SELECT id FROM bulk))
     RETURNING id, rank, workflow_id AS "workflowId", start, signal, created_at AS "createdAt",
       CASE WHEN workflow_id LIKE '${workflowIds.webhookDelivery('%')}' THEN
         (SELECT coalesce(e.provider_id, e.id) FROM webhook_deliveries d JOIN entities e ON e.id = d.entity_id
          WHERE d.id = replace(outbox.workflow_id, '${workflowIds.webhookDelivery('')}', '')) END AS "ownerId"`,
    { limit, bulkLeast },
    'anew',
  );
}

/**
 * Puts back what Temporal did not take, as old and of the rank that it is; it is tried again after
 * `delayS` seconds.
 */
export async function returnOutboxRows(trx: Executor, returned: OutboxRow[], delayS: number): Promise<void> {
  if (returned.length === 0) return;
  await rows(
    trx,
    `INSERT INTO outbox (kind, rank, workflow_id, start, signal, created_at, not_before)
     SELECT CASE WHEN r->>'signal' IS NULL THEN 'start' ELSE 'signal' END, (r->>'rank')::smallint,
       r->>'workflowId', nullif(r->'start', 'null'), r->>'signal', (r->>'createdAt')::timestamptz,
       clock_timestamp() + :delayS * interval '1 second'
     FROM jsonb_array_elements(:returned::jsonb) AS r`,
    {
      delayS,
      returned: JSON.stringify(
        returned.map(({ rank, workflowId, start, signal, createdAt }) => ({
          rank,
          workflowId,
          start,
          signal,
          createdAt,
        })),
      ),
    },
  );
}
