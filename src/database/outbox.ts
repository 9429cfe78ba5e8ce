import type { ClientBase } from 'pg';
import { groupBy } from '../domain/group';
import type { Signal } from '../domain/workflow/signal';
import {
  runOf,
  workflowIds,
  type WorkflowAttributes,
  type WorkflowRun,
} from '../domain/workflow/workflow-id';
import { shownName } from './shown-name';
import { openDatabase, type Executor, type PooledDatabase, type EngineFacts } from './pool/connection';
import { raw, sql, type Fragment } from './pool/statement';
import { RELAYS_CHANNEL } from './pool/wake-relays';

/**
 * Messages to Temporal, written by the transaction whose work they announce. So a transaction that
 * commits cannot lose its workflow, even if the process dies next. `temporal/relay.ts` carries the
 * rows, in any worker; the pool wakes the relays after the commit.
 */
export interface OutboxStart extends WorkflowRun {
  attributes: WorkflowAttributes;
  summary: string;
  /**
   * Runs an ended workflow of this id once more, and signals a running one. Left out, an id is run
   * once and never again.
   */
  again?: Signal;
  /** The span that asked for the start, if it is traced. */
  traceparent?: string;
}

/**
 * The order of messages. `call` is a charge, an answer or a schedule. `later` is a webhook's own
 * workflow, or the unbounded messages of one action. A party may have hundreds of thousands of
 * schedules, and each may get a signal. No charge waits behind later ranks.
 *
 * A workflow's messages of both ranks may overtake each other. That is harmless, for the later ones
 * are signals, and starts that have the database read.
 */
const RANK = { call: 0, later: 1 } as const;
export type OutboxRank = keyof typeof RANK;

export interface OutboxRow {
  /** The row's place while its lease lasts. */
  at: string;
  /** Until then no other relay carries the row. Text, as a `Date` has no microseconds. */
  leasedUntil: string;
  workflowId: string;
  /** A row has either a start or a signal. */
  start: OutboxStart | null;
  signal: Signal | null;
  /** A provider for all its merchants, else the party; `none` without a party. */
  ownerId: string;
}

/** The id names the workflow's type. Without `args`, the id names the input, too. */
export interface WorkflowStart extends Omit<OutboxStart, 'type' | 'args' | 'traceparent'> {
  workflowId: string;
  args?: unknown[];
  /** Whose work it is; left out, the merchant of its attributes, else the bank. */
  partyId?: string;
}

export interface Addressee {
  workflowId: string;
  merchantId?: string | null;
  bankId?: string | null;
}

const ownerOf = (party: Fragment) =>
  sql`coalesce((SELECT coalesce(e.provider_id, e.id) FROM entities e WHERE e.id = ${party}), ${party}, 'none')`;

export async function enqueueStarts(trx: Executor, starts: WorkflowStart[]): Promise<void> {
  if (starts.length === 0) return;
  const traceparent = trx.traceparent?.();
  const traced = starts.map((start) => ({ ...start, traceparent }));
  await trx.rows`${putStarts('call', traced)}`;
  trx.wakeRelays?.();
}

/**
 * Starts missing workflows again, except those with a start in the outbox.
 *
 * @returns the number of starts
 */
export async function enqueueMissingStarts(
  db: Executor,
  starts: WorkflowStart[],
  rank: OutboxRank,
): Promise<number> {
  const put = await db.rows`
    ${putStarts(rank, starts)}
    WHERE NOT EXISTS (SELECT FROM outbox o WHERE o.kind = 'start' AND o.workflow_id = s->>'workflowId')
    RETURNING id`;
  db.wakeRelays?.();
  return put.length;
}

/** The title of a start `s`: operators know a merchant, or a bank, by its name. */
const NAMED = `replace(s->>'summary', coalesce(s->>'partyId', ''),
  coalesce(${shownName(`s->>'partyId'`)}, s->>'partyId', ''))`;

/** A webhook's workflow always has the rank `later`. */
const putStarts = (
  rank: OutboxRank,
  starts: WorkflowStart[],
) => sql`INSERT INTO outbox (kind, workflow_id, start, rank, owner_id)
  SELECT 'start', s->>'workflowId', s - 'workflowId' - 'partyId' || jsonb_build_object('summary', ${raw(NAMED)}),
    CASE WHEN s->>'workflowId' LIKE '${raw(workflowIds.webhookDelivery('%'))}' THEN ${raw(RANK.later)} ELSE ${raw(RANK[rank])} END,
    ${ownerOf(sql`s->>'partyId'`)}
  FROM jsonb_array_elements(${asRuns(starts)}::jsonb) AS s`;

const asRuns = (starts: WorkflowStart[]) =>
  JSON.stringify(
    starts.map((start) => {
      const { merchantId, bankId } = start.attributes;
      return { ...runOf(start.workflowId), partyId: merchantId ?? bankId, ...start };
    }),
  );

export async function enqueueSignals(trx: Executor, signal: Signal, to: Addressee[]): Promise<void> {
  if (to.length === 0) return;
  const parties = new Map(to.map((one) => [one.workflowId, one.merchantId ?? one.bankId ?? null]));
  const [ids, owners] = [[...parties.keys()], [...parties.values()]];
  await trx.rows`
    INSERT INTO outbox (kind, workflow_id, signal, owner_id)
    SELECT 'signal', id, ${signal}, ${ownerOf(sql`party`)}
    FROM unnest(${ids}::text[], ${owners}::text[]) AS s (id, party)`;
  trx.wakeRelays?.();
}

/**
 * @param partyId the party that caused it
 * @param found selects the workflows' ids
 */
export async function enqueueBulkSignals(
  trx: Executor,
  signal: Signal,
  partyId: string,
  found: Fragment,
): Promise<void> {
  await trx.rows`
    INSERT INTO outbox (kind, workflow_id, signal, rank, owner_id)
    SELECT 'signal', found.workflow_id, ${signal}, ${raw(RANK.later)}, owner.id
    FROM (${found}) AS found (workflow_id),
      (SELECT ${ownerOf(sql`${partyId}`)} AS id) AS owner`;
  trx.wakeRelays?.();
}

/**
 * Signals the waiting workflows among those whose rows the caller has changed. The caller read
 * `waiting` in the same statements.
 *
 * The row's lock orders the UPDATE that marks an open row (`mark…Waiting`) and the caller's change.
 * After the change, the UPDATE finds the row closed, and the workflow reads how it ended. After the
 * UPDATE, the change signals; Temporal keeps a signal that comes before the timer.
 *
 * If the worker dies between UPDATE and timer, another worker reads the row. `reconcile` starts a
 * lost workflow again (docs/decisions/0002-outbox.md).
 */
export async function signalWaiting(
  trx: Executor,
  signal: Signal,
  changed: (Addressee & { waiting: boolean })[],
): Promise<void> {
  await enqueueSignals(
    trx,
    signal,
    changed.filter(({ waiting }) => waiting),
  );
}

/**
 * SQL: nobody has leased the message, nor does it wait after a refusal. Both last for seconds: a
 * moment further ahead is of a clock that has been set back since, or of a Postgres that failed.
 */
const DUE = `not_before NOT BETWEEN clock_timestamp() AND clock_timestamp() + interval '1 minute'`;

const nextOwner = (rank: OutboxRank, after: Fragment) => sql`SELECT owner_id FROM outbox
  WHERE rank = ${raw(RANK[rank])} AND owner_id > ${after} AND ${raw(DUE)} ORDER BY owner_id LIMIT 1`;

/** Most rows of a rank that are counted: a higher count would say no more, and take longer. */
const BACKLOG_MAX = 10_000;

export interface OutboxBacklog {
  /** Messages waiting, up to `BACKLOG_MAX`. */
  messages: number;
  /** Age of the oldest message; 0 without messages. */
  oldestAgeS: number;
}

export async function outboxBacklog(db: Executor): Promise<Record<OutboxRank, OutboxBacklog>> {
  const [call, later] = await Promise.all([backlogOf(db, 'call'), backlogOf(db, 'later')]);
  return { call, later };
}

function backlogOf(db: Executor, rank: OutboxRank): Promise<OutboxBacklog> {
  return db.oneRow<OutboxBacklog>`
    SELECT count(*)::int AS messages,
      coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0)::float8 AS oldest_age_s
    FROM (SELECT created_at FROM outbox WHERE rank = ${raw(RANK[rank])} LIMIT ${raw(BACKLOG_MAX)}) AS waiting`;
}

/** A connection that fell silent holds all messages up until it is given up. */
const ANSWER_WITHIN_MS = 5_000;

/**
 * Opens the only connection of a relay, which is notified of new messages at once.
 *
 * Its statements read by key only. Postgres plans a statement once in a connection. A plan made for
 * an empty outbox would read and sort all rows for each batch: half a second out of 500 000. An
 * index drops carried rows at once, and the table only when vacuumed.
 *
 * @param requireFit throws on a connection to another database: its messages are not ours to take
 * @param onMessage called after commits that left messages
 */
export function openOutbox(
  url: string,
  facts: EngineFacts,
  requireFit: (connection: ClientBase) => Promise<void>,
  onMessage: () => void,
): PooledDatabase {
  const onConnect = async (connection: ClientBase) => {
    await requireFit(connection);
    connection.on('notification', onMessage);
    await connection.query(`SET enable_seqscan = off; SET enable_bitmapscan = off; LISTEN ${RELAYS_CHANNEL}`);
  };
  return openDatabase(url, 1, facts, { onConnect, answerWithinMs: ANSWER_WITHIN_MS });
}

/**
 * Leases up to `limit` due messages of a rank: as many of each owner, oldest first. A relay skips
 * messages that another has leased or is about to lease. If the relay dies, they are due again
 * after the lease.
 *
 * @param leaseS longer than their calls to Temporal take
 * @param after the last owner that had its turn: the next owners follow, and after the last the
 *   first
 * @returns with `after` for the next call, and whether more messages may be due
 */
export async function leaseOutboxRows(
  db: Executor,
  rank: OutboxRank,
  limit: number,
  leaseS: number,
  after = '',
): Promise<{ leased: OutboxRow[]; after: string; more: boolean }> {
  const leased = await db.rows<OutboxRow & { owners: number }>`
    WITH RECURSIVE owners (owner_id, n) AS (
      SELECT first.owner_id, 1 FROM (${nextOwner(rank, sql`${after}`)}) AS first
      UNION ALL
      SELECT next.owner_id, o.n + 1 FROM owners o, LATERAL (${nextOwner(rank, sql`o.owner_id`)}) AS next
      WHERE o.n < ${limit}::int
    ), page AS (
      SELECT row.at FROM owners o, LATERAL (
        SELECT ctid AS at FROM outbox
        WHERE rank = ${raw(RANK[rank])} AND owner_id = o.owner_id AND ${raw(DUE)}
        ORDER BY id LIMIT (SELECT ${limit}::int / count(*) FROM owners) FOR UPDATE SKIP LOCKED) AS row
    )
    UPDATE outbox SET not_before = statement_timestamp() + ${leaseS}::int * interval '1 second'
    WHERE ctid = ANY(ARRAY(SELECT at FROM page))
    RETURNING ctid::text AS at, not_before::text AS leased_until, workflow_id, start, signal, owner_id,
      (SELECT count(*) FROM owners)::int AS owners`;
  const owners = leased[0]?.owners ?? 0;
  const counts = [...groupBy(leased, ({ ownerId }) => ownerId)].map(([id, own]) => [id, own.length] as const);
  const part = Math.floor(limit / owners);
  return {
    leased,
    after: owners < limit ? '' : counts.reduce((last, [id]) => (id > last ? id : last), ''),
    // The owners up to `after` have not been looked at, or an owner has used up its part.
    more: after !== '' || counts.some(([, count]) => count >= part),
  };
}

/**
 * Ends a lease: deletes the messages that were carried, and has the others wait. A message whose
 * lease is over, and which another relay may carry by now, stays as it is.
 */
export async function endLease(
  db: Executor,
  carried: readonly OutboxRow[],
  failed: readonly OutboxRow[],
  pauseS: number,
): Promise<void> {
  if (carried.length > 0) await db.rows`DELETE FROM outbox WHERE ${isLeased(carried)}`;
  if (failed.length > 0)
    await db.rows`
      UPDATE outbox SET not_before = clock_timestamp() + ${pauseS}::int * interval '1 second'
      WHERE ${isLeased(failed)}`;
}

function isLeased(rows: readonly OutboxRow[]): Fragment {
  const places = rows.map(({ at }) => at);
  return sql`ctid = ANY(${places}::tid[]) AND not_before = ${rows[0]?.leasedUntil}::timestamptz`;
}
