import { groupBy } from '../../domain/group';
import { ID_PREFIX, isId, type IdKind } from '../../domain/identifier/ids';
import { runOf } from '../../domain/workflow/workflow-id';
import { summaryAgain } from '../../domain/workflow/workflow-summary';
import { oneRow, rows, type Executor } from '../connection';
import { CREDIT_WAITS } from '../customer/payment-credit';
import { enqueueMissingStarts, type OutboxRank } from '../outbox';
import { summariesOf } from './workflow-summary';

/**
 * Rows that wait for a workflow. Only a workflow closes a window that passes: where it was
 * terminated, or Temporal has lost it, its row tells.
 */

/** One kind of row, in SQL: `r` is the row, `e` the party by whose clock it goes. */
interface Kind {
  table: string;
  /** The column that names `e`. */
  party: string;
  /** Left out, it is pending. */
  open?: string;
  /** The first part of the workflow's id; the second is the row's. */
  named?: string;
  /** The row says its workflow, and may share it. An index has the open ones in its order. */
  shares?: true;
  workflowId?: string;
  /** The row names no merchant and bank: `e` is the only party. */
  alone?: true;
  status?: string;
  /** Since when the row has been open. Left out, since it was recorded. */
  since?: string;
  /** The moment of business time by which its workflow should have acted. */
  dueAt?: string;
  /** The same moment in real time, where `realTime` does not say it. */
  lateSince?: string;
}

/** A clock that jumped makes nothing late by the whole jump. */
const realTime = (moment: string) => `greatest(${moment} - e.clock_offset, e.clock_moved_at)`;

/** A paused schedule rests with no billing in hand: `resume` starts its workflow. */
const RESTS = `(r.status = 'paused' AND NOT EXISTS (
  SELECT FROM billings b WHERE b.schedule_id = r.id AND b.status IN ('pending', 'retrying')))`;
const DELAY = `CASE WHEN e.clock_offset = '0' AND e.clock_target IS NULL THEN coalesce(r.delay_ms, 0) ELSE 0 END
  * interval '1 millisecond'`;
const CHARGE = { party: 'owner_id', shares: true } as const;
/** A bank's upload has no moment by which it must be done. */
const UPLOAD = { party: 'bank_id', alone: true, open: `r.status = 'processing'` } as const;
const UNSENT = {
  table: 'webhook_deliveries',
  party: 'entity_id',
  alone: true,
  since: 'r.created_at',
} as const;
/** A disabled receiver's wait until it is enabled. */
const unsent = (attempts: string) =>
  `r.status = 'pending' AND r.attempts ${attempts} AND e.status = 'active'`;

const KINDS = {
  intents: { named: 'intent', table: 'intents', party: 'merchant_id', dueAt: 'r.expires_at' },
  // A schedule's charges count as the schedule.
  charges: {
    ...CHARGE,
    named: 'billing-request',
    table: 'billing_requests',
    open: `r.status = 'pending' AND r.schedule_id IS NULL`,
    dueAt: 'r.expires_at',
  },
  credits: {
    ...CHARGE,
    table: `(SELECT b.* FROM billing_requests b WHERE ${CREDIT_WAITS})`,
    open: 'true',
    dueAt: 'r.credit_due_at',
  },
  refunds: { named: 'refund', table: 'refunds', party: 'merchant_id', dueAt: 'r.acts_at' },
  'customer-migrations': {
    ...UPLOAD,
    named: 'customer-migration',
    table: 'customer_batches',
    since: 'r.created_at',
  },
  'bank-statements': { ...UPLOAD, named: 'bank-statement', table: 'bank_statements' },
  webhooks: { ...UNSENT, named: 'webhook-delivery', open: unsent('> 0') },
  // A first attempt comes within seconds. It waits for a place at its receiver until
  // `next_attempt_at`; the worker that makes it has until `claimed_until`.
  'first-webhooks': {
    ...UNSENT,
    shares: true,
    open: unsent('= 0'),
    dueAt: 'r.created_at',
    lateSince: 'greatest(r.created_at, r.next_attempt_at, r.claimed_until)',
  },
  clocks: {
    named: 'sandbox-clock',
    table: 'entities',
    party: 'id',
    alone: true,
    open: 'r.clock_target IS NOT NULL',
    workflowId: `'sandbox-clock/' || r.id || '/'
      || to_char(r.clock_target AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24":"MI":"SS.MS"Z"')`,
    status: `'advancing'`,
    since: 'coalesce(r.clock_moved_at, r.created_at)',
  },
  // Most rows are schedules: they come last.
  schedules: {
    named: 'recurring',
    table: 'schedules',
    party: 'merchant_id',
    open: `r.acts_at IS NOT NULL AND NOT ${RESTS}`,
    dueAt: 'r.acts_at',
    lateSince: `${realTime('r.acts_at')} + ${DELAY}`,
  },
} as const satisfies Record<string, Kind>;

export type WorkKind = keyof typeof KINDS;
export const WORK_KINDS = Object.keys(KINDS) as WorkKind[];

export interface Work {
  kind: WorkKind;
  /** Its place among the open rows of its kind. */
  key: string;
  workflowId: string;
  status: string;
  merchantId: string | null;
  bankId: string | null;
  /** Real time: an overdue row's since it should have acted, another's since it has been open. */
  since: Date;
  /** The database's clock when the row was read. */
  now: Date;
}

/** @param since names the column: `late_since` or `open_since` */
const columns = (
  since: string,
) => `kind, key, workflow_id AS "workflowId", status, merchant_id AS "merchantId",
  bank_id AS "bankId", ${since} AS since, clock_timestamp() AS now`;

const openRows = (kind: WorkKind) => {
  const of: Kind = KINDS[kind];
  const { dueAt = 'NULL::timestamptz', lateSince = realTime(dueAt) } = of;
  const parties = of.alone
    ? `CASE e.type WHEN 'merchant' THEN e.id END AS merchant_id, CASE e.type WHEN 'bank' THEN e.id END AS bank_id`
    : 'r.merchant_id, r.bank_id';
  return `
    SELECT '${kind}' AS kind, r.${of.shares ? 'workflow_id' : 'id'} AS key,
      ${of.shares ? 'r.workflow_id' : (of.workflowId ?? `'${of.named}/' || r.id`)} AS workflow_id,
      ${of.status ?? 'r.status'} AS status, ${parties}, ${of.since ?? 'r.recorded_at'} AS open_since,
      ${dueAt} AS due_at, ${lateSince} AS late_since
    FROM ${of.table} r JOIN entities e ON e.id = r.${of.party} WHERE ${of.open ?? `r.status = 'pending'`}`;
};

/**
 * The furthest that any test clock is ahead: an index in the order of time is read as far as that.
 * In production it is 0.
 */
export const FURTHEST = `now() + coalesce((SELECT max(clock_offset) FROM entities WHERE clock_offset > '0'), '0')`;

const lateRows = (kind: WorkKind) =>
  `(${openRows(kind)}) AS late WHERE due_at <= ${FURTHEST} AND late_since <= now() - :afterS * interval '1 second'`;

/** A start in the outbox is on its way to the workflow. */
const NOT_IN_OUTBOX = `NOT EXISTS (SELECT FROM outbox o WHERE o.kind = 'start' AND o.workflow_id = late.workflow_id)`;

const DUE_KINDS = WORK_KINDS.filter((kind) => 'dueAt' in KINDS[kind]);
/** Late webhooks are measured beside late retries, see `retryBacklog`. */
const COUNTED_KINDS = DUE_KINDS.filter((kind) => kind !== 'first-webhooks');

/** Overdue rows that are counted at most: more of them would say nothing more, and take longer. */
const COUNTED_MAX = 10_000;

export interface Overdue {
  kind: WorkKind;
  /** Up to `COUNTED_MAX`. */
  count: number;
  /** 0 where there is none. */
  oldestAgeS: number;
}

/** Rows past their moment by more than `afterS` seconds of real time, by kind. */
export async function overdueBacklog(db: Executor, afterS: number): Promise<Overdue[]> {
  return Promise.all(
    COUNTED_KINDS.map(async (kind) => ({
      kind,
      ...(await oneRow<Omit<Overdue, 'kind'>>(
        db,
        `SELECT count(*)::int AS count, coalesce(extract(epoch FROM now() - min(late_since)), 0)::float8 AS "oldestAgeS"
         FROM (SELECT late_since FROM ${lateRows(kind)} LIMIT ${COUNTED_MAX}) AS counted`,
        { afterS },
      )),
    })),
  );
}

/**
 * Up to `limit` rows of each kind that are overdue by more than `afterS` seconds, each workflow
 * once. The order is random, so a few workflows that cannot go on do not hide the others.
 *
 * @param ownerId of this party alone; left out, of all
 */
export async function overdueWork(
  db: Executor,
  afterS: number,
  limit: number,
  ownerId: string | null = null,
): Promise<Work[]> {
  const found = await Promise.all(
    DUE_KINDS.map((kind) =>
      rows<Work>(
        db,
        `SELECT ${columns('late_since')} FROM ${lateRows(kind)} AND ${NOT_IN_OUTBOX}
           AND (:ownerId::text IS NULL OR :ownerId IN (merchant_id, bank_id))
         ORDER BY random() LIMIT :limit`,
        { afterS, limit, ownerId },
        // A plan for an empty outbox may read all of a full one for each row that is due.
        'anew',
      ),
    ),
  );
  return [...new Map(found.flat().map((one) => [one.workflowId, one])).values()];
}

/** The next open rows of a kind after a key, in the order of keys. A workflow may come twice. */
export async function openWork(db: Executor, kind: WorkKind, after: string, limit: number): Promise<Work[]> {
  return rows(
    db,
    `SELECT ${columns('open_since')} FROM (${openRows(kind)}) AS open WHERE key > :after ORDER BY key LIMIT :limit`,
    { after, limit },
  );
}

/** Which of these still wait for their workflow, and have no start in the outbox. */
export async function stillOpen(db: Executor, work: Work[]): Promise<Work[]> {
  const open = await Promise.all(
    [...groupBy(work, ({ kind }) => kind)].map(([kind, ofKind]) =>
      rows<{ id: string }>(
        db,
        `SELECT workflow_id AS id FROM (${openRows(kind)}) AS late WHERE key = ANY(:keys) AND ${NOT_IN_OUTBOX}`,
        { keys: ofKind.map(({ key }) => key) },
      ),
    ),
  );
  const ids = new Set(open.flat().map(({ id }) => id));
  return work.filter(({ workflowId }) => ids.has(workflowId));
}

/**
 * Has the workflows started again; one that runs only gets a signal. A start of it that waits in
 * the outbox is enough.
 *
 * @param rank `later` where nothing bounds how many there are
 * @returns how many there are to start
 */
export async function restartWork(db: Executor, work: Work[], rank: OutboxRank = 'call'): Promise<number> {
  if (work.length === 0) return 0;
  const byId = new Map(work.map((one) => [one.workflowId, one]));
  const summaries = await summariesOf(db, [...byId.keys()]);
  const starts = [...byId].map(([workflowId, { status, merchantId, bankId }]) => ({
    workflowId,
    again: 'foundOverdue' as const,
    summary: summaryAgain.foundOverdue(summaries.get(workflowId) ?? workflowId),
    attributes: {
      status,
      ...(merchantId !== null && { merchantId }),
      ...(bankId !== null && { bankId }),
    },
  }));
  return enqueueMissingStarts(db, starts, rank);
}

/** How many restarts wait in the outbox. All are counted, for a waiting command sees them go. */
export async function restartsWaiting(db: Executor): Promise<number> {
  const { count } = await oneRow<{ count: number }>(
    db,
    `SELECT count(*)::int AS count FROM outbox WHERE kind = 'start' AND start->>'again' = 'foundOverdue'`,
  );
  return count;
}

/** The tables of rows that have a workflow for themselves, by the first part of its id. */
const TABLES = new Map(
  Object.values<Kind>(KINDS).flatMap(({ named, table }) => (named === undefined ? [] : [[named, table]])),
);
const ID_KINDS = Object.keys(ID_PREFIX) as IdKind[];

/** A workflow by its id, and the name of its type. */
export interface TypedWorkflow {
  workflowId: string;
  type: string;
}

/**
 * Which of these running workflows have lost their row. A workflow that only looks like ours is
 * somebody else's. A start leaves the outbox after the transaction that wrote the row: a workflow
 * without a row is never one that just begins. A `billing-batch` has no row of its own.
 */
export async function withoutRow(db: Executor, workflows: readonly TypedWorkflow[]): Promise<Set<string>> {
  const ours = workflows.flatMap(({ workflowId, type }) => {
    const [named = '', id = ''] = workflowId.split('/');
    const table = TABLES.get(named);
    const isOurs = ID_KINDS.some((kind) => isId(kind, id)) && table && runOf(workflowId).type === type;
    return isOurs ? [{ workflowId, table, id }] : [];
  });
  const gone = await Promise.all(
    [...groupBy(ours, ({ table }) => table)].map(async ([table, some]) => {
      const ids = some.map(({ id }) => id);
      const found = await rows<{ id: string }>(db, `SELECT id FROM ${table} WHERE id = ANY(:ids)`, { ids });
      const there = new Set(found.map(({ id }) => id));
      return some.filter(({ id }) => !there.has(id));
    }),
  );
  return new Set(gone.flat().map(({ workflowId }) => workflowId));
}
