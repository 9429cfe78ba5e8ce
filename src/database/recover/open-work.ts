import { groupBy } from '../../domain/group';
import { ID_PREFIX, isId, type IdKind } from '../../domain/identifier/ids';
import { runOf } from '../../domain/workflow/workflow-id';
import { summaryAgain, workflowSummary } from '../../domain/workflow/workflow-summary';
import type { Executor } from '../pool/connection';
import { customPlan, raw, sql, type Fragment } from '../pool/statement';
import { CREDIT_WAITS } from '../credit/follow-credit';
import { FURTHEST } from '../clock/moment';
import { enqueueMissingStarts, type OutboxRank } from '../outbox';

/** Open rows: the only sign that a workflow was terminated, or lost by Temporal. */

/** A workflow that a row has for itself: how its id begins, before the row's, and its title. */
type Own = readonly [named: string, facts: string, title: (facts: never) => string];

/** One kind of row, in SQL: `r` is the row, `e` the party by whose clock it goes. */
interface Kind {
  table: string;
  /** The column that names `e`. */
  party: string;
  /** Left out, it is pending. */
  open?: string;
  own?: Own;
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

/** SQL: whether a billing of the schedule `r` has one of these statuses. */
function billingIn(...statuses: string[]): string {
  const quoted = statuses.map((status) => `'${status}'`).join(', ');
  return `EXISTS (SELECT FROM billings b WHERE b.schedule_id = r.id AND b.status IN (${quoted}))`;
}

/** A paused schedule rests with no billing in hand: `resume` starts its workflow. */
const RESTS = `(r.status = 'paused' AND NOT ${billingIn('pending', 'retrying')})`;
/** `delay_ms` spreads schedules due together: a bank that is asked already has no delay. */
const DELAY = `CASE WHEN e.clock_offset = '0' AND e.clock_target IS NULL AND NOT ${billingIn('pending')}
  THEN coalesce(r.delay_ms, 0) ELSE 0 END * interval '1 millisecond'`;
const SUM = 'r.amount::bigint, r.currency';
const MERCHANT = 'r.merchant_id';
const BANK = 'r.bank_id';
const TARGET = `to_char(r.clock_target AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
/** A bank's upload has no deadline. */
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
  intents: {
    own: ['intent', `r.reference, ${MERCHANT}`, workflowSummary.intent],
    table: 'intents',
    party: 'merchant_id',
    dueAt: 'r.expires_at',
  },
  // A schedule's charges count as the schedule.
  charges: {
    own: ['billing-request', `r.reference, ${SUM}, r.biller_id`, workflowSummary.charge],
    table: 'billing_requests',
    party: 'biller_id',
    shares: true,
    open: `r.status = 'pending' AND r.schedule_id IS NULL`,
    dueAt: 'r.expires_at',
  },
  credits: {
    table: `(SELECT b.* FROM billing_requests b WHERE ${CREDIT_WAITS})`,
    party: 'biller_id',
    shares: true,
    open: 'true',
    dueAt: 'r.credit_due_at',
  },
  consents: {
    own: ['consent', MERCHANT, workflowSummary.consent],
    table: 'agreements',
    party: 'merchant_id',
    open: 'r.acts_at IS NOT NULL',
    status: 'r.decision',
    since: realTime('r.updated_at'),
    dueAt: 'r.acts_at',
  },
  refunds: {
    own: [
      'refund',
      `r.reference, ${SUM}, ${MERCHANT},
       (SELECT b.reference FROM billing_requests b WHERE b.id = r.billing_request_id) AS original_reference`,
      workflowSummary.refund,
    ],
    table: 'refunds',
    party: 'merchant_id',
    dueAt: 'r.acts_at',
  },
  'customer-migrations': {
    ...UPLOAD,
    own: ['customer-migration', `r.total, ${BANK}`, workflowSummary.customerMigration],
    table: 'customer_batches',
    since: 'r.created_at',
  },
  'bank-files': {
    ...UPLOAD,
    own: ['bank-file', `r.lines, ${BANK}`, workflowSummary.bankFile],
    table: 'bank_files',
  },
  webhooks: {
    ...UNSENT,
    own: ['webhook-delivery', 'r.webhook_type, r.entity_id', workflowSummary.webhookDelivery],
    open: unsent('> 0'),
  },
  // A first attempt comes within seconds. It waits for a slot at its receiver until
  // `next_attempt_at`; the worker that makes it has until `claimed_until`.
  'first-webhooks': {
    ...UNSENT,
    shares: true,
    open: unsent('= 0'),
    dueAt: 'r.created_at',
    lateSince: 'greatest(r.created_at, r.next_attempt_at, r.claimed_until)',
  },
  clocks: {
    own: ['sandbox-clock', `r.id AS biller_id, ${TARGET} AS target`, workflowSummary.sandboxClock],
    table: 'entities',
    party: 'id',
    alone: true,
    open: 'r.clock_target IS NOT NULL',
    workflowId: `'sandbox-clock/' || r.id || '/' || ${TARGET}`,
    status: `'advancing'`,
    since: 'coalesce(r.clock_moved_at, r.created_at)',
  },
  // Most rows are schedules: they come last.
  schedules: {
    own: ['recurring', `${SUM}, r.frequency, ${MERCHANT}`, workflowSummary.recurring],
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

const openRows = (kind: WorkKind) => {
  const of: Kind = KINDS[kind];
  const { dueAt = 'NULL::timestamptz', lateSince = realTime(dueAt), own: [named] = [] } = of;
  const parties = of.alone
    ? `CASE e.type WHEN 'merchant' THEN e.id END AS merchant_id, CASE e.type WHEN 'bank' THEN e.id END AS bank_id`
    : 'r.merchant_id, r.bank_id';
  return `
    SELECT '${kind}' AS kind, r.${of.shares ? 'workflow_id' : 'id'} AS key,
      ${of.shares ? 'r.workflow_id' : (of.workflowId ?? `'${named}/' || r.id`)} AS workflow_id,
      ${of.status ?? 'r.status'} AS status, ${parties}, ${of.since ?? 'r.recorded_at'} AS open_since,
      ${dueAt} AS due_at, ${lateSince} AS late_since
    FROM ${of.table} r JOIN entities e ON e.id = r.${of.party} WHERE ${of.open ?? `r.status = 'pending'`}`;
};

/**
 * Open rows without a start in the outbox. So the workflow of each has been there, if only for a
 * moment.
 *
 * @param since names the column: `late_since` or `open_since`
 */
function waiting(
  db: Executor,
  kind: WorkKind,
  since: 'late_since' | 'open_since',
  which: Fragment,
): Promise<Work[]> {
  // A plan for an empty outbox may read all of a full one for each row.
  return customPlan(db).rows<Work>`
    SELECT kind, key, workflow_id, status, merchant_id, bank_id,
      ${raw(since)} AS since, clock_timestamp() AS now
    FROM (${raw(openRows(kind))}) AS open
    WHERE NOT EXISTS (SELECT FROM outbox o WHERE o.kind = 'start' AND o.workflow_id = open.workflow_id)
      AND ${which}`;
}

const isLate = (afterS: number) =>
  sql`due_at <= ${raw(FURTHEST)} AND late_since <= now() - ${afterS} * interval '1 second'`;

const DUE_KINDS = WORK_KINDS.filter((kind) => 'dueAt' in KINDS[kind]);
/** Late webhooks are measured beside late retries, see `retriesOverdueS`. */
const COUNTED_KINDS = DUE_KINDS.filter((kind) => kind !== 'first-webhooks');

/** Overdue rows that are counted at most: more of them would say nothing more, and take longer. */
const COUNTED_MAX = 10_000;

interface Overdue {
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
      ...(await db.oneRow<Omit<Overdue, 'kind'>>`
    SELECT count(*)::int AS count, coalesce(extract(epoch
    FROM now() - min(late_since)), 0)::float8 AS oldest_age_s
    FROM (SELECT late_since FROM (${raw(openRows(kind))}) AS open WHERE ${isLate(afterS)}
    LIMIT ${raw(COUNTED_MAX)}) AS counted`),
    })),
  );
}

/**
 * Up to `limit` rows of each kind that are overdue by more than `afterS` seconds, each workflow
 * once. The order is random, so a few workflows that cannot go on do not hide the others.
 *
 * @param billerId of this party alone; left out, of all
 */
export async function overdueWork(
  db: Executor,
  afterS: number,
  limit: number,
  billerId: string | null = null,
): Promise<Work[]> {
  const which = sql`${isLate(afterS)} AND (${billerId}::text IS NULL OR ${billerId} IN (merchant_id, bank_id))
    ORDER BY random() LIMIT ${limit}`;
  const found = await Promise.all(DUE_KINDS.map((kind) => waiting(db, kind, 'late_since', which)));
  return [...new Map(found.flat().map((one) => [one.workflowId, one])).values()];
}

/** The next open rows of a kind after a key, in the order of keys. A workflow may come twice. */
export const openWork = (db: Executor, kind: WorkKind, after: string, limit: number): Promise<Work[]> =>
  waiting(db, kind, 'open_since', sql`key > ${after} ORDER BY key LIMIT ${limit}`);

/** Rows of a kind that are still open, by their keys. */
export const stillOpen = (db: Executor, kind: WorkKind, keys: string[]): Promise<Work[]> =>
  waiting(db, kind, 'open_since', sql`key = ANY(${keys})`);

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
  const titles = await titlesOf(db, [...byId.keys()]);
  const starts = [...byId].map(([workflowId, { status, merchantId, bankId }]) => ({
    workflowId,
    again: 'foundOverdue' as const,
    summary: summaryAgain.foundOverdue(titles.get(workflowId) ?? workflowId),
    attributes: {
      status,
      ...(merchantId !== null && { merchantId }),
      ...(bankId !== null && { bankId }),
    },
  }));
  return enqueueMissingStarts(db, starts, rank);
}

/** Counts all restarts in the outbox: a waiting command watches the number fall. */
export async function restartsWaiting(db: Executor): Promise<number> {
  const { count } = await db.oneRow<{ count: number }>`
    SELECT count(*)::int AS count FROM outbox WHERE kind = 'start' AND start->>'again' = 'foundOverdue'`;
  return count;
}

/** Prefixes of the ids of workflows that have a row of their own. */
const OWN = new Map(
  Object.values<Kind>(KINDS).flatMap(({ table, own }) =>
    own ? [[own[0], { table, facts: own[1], title: own[2] }] as const] : [],
  ),
);

/** A call of several charges has no row of its own: its open charges tell its workflow. */
const BATCH = {
  table: `(SELECT workflow_id AS id, count(*)::int AS count, min(amount)::bigint AS amount, min(currency) AS currency,
    min(biller_id) AS biller_id FROM billing_requests WHERE status = 'pending' GROUP BY workflow_id)`,
  facts: `r.count, ${SUM}, r.biller_id`,
  title: workflowSummary.charges,
};

/** Titles of the workflows, as at their first start, where a row says it. */
async function titlesOf(db: Executor, workflowIds: string[]): Promise<Map<string, string>> {
  const titled = await Promise.all(
    [...groupBy(workflowIds, namedBy)].map(async ([named, ids]) => {
      const { table, facts, title } = OWN.get(named) ?? BATCH;
      const rowIds = OWN.has(named) ? ids.map((id) => id.split('/')[1]) : ids;
      const found = await db.rows<{ workflowId: string }>`
        SELECT w.id AS workflow_id, ${raw(facts)}
        FROM unnest(${ids}::text[], ${rowIds}::text[]) AS w (id, row_id)
          JOIN ${raw(table)} r ON r.id = w.row_id AND r.id = ANY(${rowIds})`;
      return found.map((one) => [one.workflowId, title(one as never)] as const);
    }),
  );
  return new Map(titled.flat());
}

const namedBy = (workflowId: string) => workflowId.split('/', 1)[0] ?? '';
const ID_KINDS = Object.keys(ID_PREFIX) as IdKind[];

/**
 * Running workflows of ours without a row. A start leaves the outbox after its row's commit, so the
 * row was lost. `billing-batch` has no row of its own.
 */
export async function withoutRow<Running extends { workflowId: string; type: string }>(
  db: Executor,
  workflows: Running[],
): Promise<Running[]> {
  const ours = workflows.filter(({ workflowId, type }) => {
    const [named = '', id = ''] = workflowId.split('/');
    return OWN.has(named) && ID_KINDS.some((kind) => isId(kind, id)) && runOf(workflowId).type === type;
  });
  const titles = await titlesOf(
    db,
    ours.map(({ workflowId }) => workflowId),
  );
  return ours.filter(({ workflowId }) => !titles.has(workflowId));
}
