import type { Frequency } from '../../domain/calendar';
import { Failure } from '../../domain/failures';
import type { BillingRequestStatus } from '../../domain/lifecycle';
import type { Metadata } from '../../domain/metadata';
import type { ScheduleStatus, SuspendedReason } from '../../domain/recurring/recurring';
import type { Limit } from '../../domain/spending-limit';
import { namedBy } from '../customer/list-customers';
import type { Executor } from '../pool/connection';
import { customPlan, raw, sql, type Fragment } from '../pool/statement';
import { allOf, listPage, type Listed, type Page } from '../query/list-page';
import { pages } from '../query/pages';
import { ownedBy, type Party } from '../query/party';

/** Schedules as they are read: by their merchant, by its provider, and by the customer's bank. */

export interface ScheduleRecord {
  id: string;
  merchantId: string;
  merchantName: string;
  bankName: string;
  customerName: string;
  customerId: string;
  lookupId: string;
  bankId: string;
  amount: bigint;
  currency: string;
  description: string | null;
  metadata: Metadata;
  frequency: Frequency;
  interval: number;
  startAt: Date;
  endAt: Date | null;
  maxBillings: number | null;
  status: ScheduleStatus;
  suspendedReason: SuspendedReason | null;
  nextN: number;
  nextDueAt: Date | null;
  retryAt: Date | null;
  /** Why it is past due: its latest decline. */
  lastDecline: { reference: string; reason: string; atMs: number } | null;
  ran: number;
  createdAt: Date;
  updatedAt: Date;
}

export interface BillingRecord {
  n: number;
  dueAt: Date;
  status: 'pending' | 'retrying' | 'successful' | 'failed' | 'skipped';
  reason: string | null;
  attempts: {
    billingRequestId: string;
    reference: string;
    at: Date;
    status: BillingRequestStatus;
    declineReason: string | null;
    limit: Limit | null;
  }[];
}

const COLUMNS = `s.id, s.merchant_id,
  (SELECT name FROM entities WHERE id = s.merchant_id) AS merchant_name, s.customer_id,
  (SELECT lookup_id FROM customers WHERE id = s.customer_id) AS lookup_id, s.bank_id,
  (SELECT name FROM entities WHERE id = s.bank_id) AS bank_name,
  (SELECT firstname || ' ' || lastname FROM customers WHERE id = s.customer_id) AS customer_name,
  s.amount::bigint, s.currency, s.description, s.metadata, s.frequency, s.every AS "interval", s.start_at,
  s.end_at, s.max_billings, s.status, s.suspended_reason, s.next_n, s.next_due_at, s.ran, s.created_at, s.updated_at,
  CASE s.status WHEN 'past_due' THEN (
    SELECT retry_at FROM billings b WHERE b.schedule_id = s.id AND b.status = 'retrying') END AS retry_at,
  CASE s.status WHEN 'past_due' THEN (
    SELECT jsonb_build_object('reference', reference, 'reason', decline_reason,
      'atMs', floor(extract(epoch FROM closed_at) * 1000))
    FROM billing_requests r WHERE r.schedule_id = s.id AND r.status = 'declined'
    ORDER BY billing_n DESC, attempt DESC LIMIT 1) END AS last_decline`;

/**
 * Most billings that are shown with a schedule, the latest ones. Ten years of daily billing are
 * fewer, and their answer stays around a megabyte.
 */
const BILLINGS_MAX = 4_000;

/** @throws Failure not_found */
export async function readSchedule(db: Executor, party: Party, scheduleId: string): Promise<ScheduleRecord> {
  const schedule = await db.row<ScheduleRecord>`
    SELECT ${raw(COLUMNS)} FROM schedules s WHERE s.id = ${scheduleId} AND s.${ownedBy(party)}`;
  if (!schedule) throw new Failure('not_found', 'There is no such schedule.');
  return schedule;
}

/** Billings of a schedule that the caller was found to have, and those to come that are skipped. */
export async function readBillings(db: Executor, scheduleId: string): Promise<BillingRecord[]> {
  const latest = await db.rows<Omit<BillingRecord, 'attempts'>>`
    SELECT n, due_at, status, reason FROM billings WHERE schedule_id = ${scheduleId}
    UNION ALL
    SELECT k.n, k.due_at, 'skipped', 'customer_skipped' FROM billing_skips k JOIN schedules s ON s.id = k.schedule_id
    WHERE s.id = ${scheduleId} AND k.n >= s.next_n AND s.next_due_at IS NOT NULL
    ORDER BY n DESC LIMIT ${BILLINGS_MAX}`;
  const billings = latest.toReversed().map((billing): BillingRecord => ({ ...billing, attempts: [] }));
  const byN = new Map(billings.map((billing) => [billing.n, billing]));
  const attempts = await db.rows<BillingRecord['attempts'][number] & { n: number }>`
    SELECT billing_n AS n, id AS billing_request_id, reference, created_at AS at, status, decline_reason,
      declined_limit AS "limit"
    FROM billing_requests WHERE schedule_id = ${scheduleId} AND billing_n >= ${billings[0]?.n ?? 0}
    ORDER BY billing_n, attempt`;
  for (const { n, ...attempt } of attempts) byN.get(n)?.attempts.push(attempt);
  return billings;
}

export const SCHEDULE_SORTS = {
  createdAt: { by: 's.id', indexed: true },
  amount: { by: 's.amount', indexed: false },
  nextBillingDate: { by: 's.next_due_at', indexed: false },
};

interface ScheduleFilter {
  status?: ScheduleStatus | undefined;
  customerId?: string | undefined;
  /** A part of a description or of a name, an id, or a value of the metadata. */
  search?: string | undefined;
  ids?: readonly string[] | undefined;
}

/** An id is searched for whole, or by its end, as people read it to each other. */
const ID_END_MIN = 6;

const searched = ({ role, entityId }: Party, text: string) => sql`(
  strpos(lower(s.description), lower(${text}::text)) > 0 OR s.id = ${text}
  OR ${text.length} >= ${raw(ID_END_MIN)} AND right(s.customer_id, ${text.length}) = ${text}
  OR ${
    role === 'bank'
      ? sql`s.customer_id IN (SELECT id FROM customers WHERE bank_id = ${entityId} AND ${namedBy(text)})`
      : sql`EXISTS (SELECT FROM jsonb_each_text(s.metadata) WHERE value = ${text})`
  }
  OR ${role !== 'merchant'} AND s.merchant_id IN (
    SELECT id FROM entities WHERE type = 'merchant' AND strpos(lower(name), lower(${text}::text)) > 0))`;

function matching(party: Party, filter: ScheduleFilter): Fragment {
  const { status, customerId, search, ids } = filter;
  return sql`schedules s WHERE ${allOf(
    sql`s.${ownedBy(party)}`,
    status !== undefined && sql`s.status = ${status}`,
    customerId !== undefined && sql`s.customer_id = ${customerId}`,
    ids !== undefined && sql`s.id = ANY(${ids}::text[])`,
    search !== undefined && searched(party, search),
  )}`;
}

/** A text may find all, or one by an index. */
const plannedFor = (db: Executor, { search }: ScheduleFilter) => (search === undefined ? db : customPlan(db));

export async function listSchedules(
  db: Executor,
  party: Party,
  filter: ScheduleFilter,
  page: Page<keyof typeof SCHEDULE_SORTS>,
): Promise<Listed<ScheduleRecord>> {
  const from = matching(party, filter);
  return listPage<ScheduleRecord>(
    plannedFor(db, filter),
    {
      select: () => sql`SELECT ${raw(COLUMNS)} FROM ${from}`,
      counted: (limit) => sql`${from} ORDER BY s.id ${limit}`,
      id: 's.id',
      sort: SCHEDULE_SORTS[page.sortBy],
      instead: 'narrow it with status or customerId',
    },
    page,
  );
}

/** Rows in memory at once: their metadata may have 100 kB each. */
const FILE_PAGE = 100;

/** Oldest first, page by page. */
export async function* readSchedules(
  db: Executor,
  party: Party,
  filter: ScheduleFilter,
): AsyncGenerator<ScheduleRecord[], void, undefined> {
  const page = (of: ScheduleFilter, after = '') => plannedFor(db, of).rows<ScheduleRecord>`
    SELECT ${raw(COLUMNS)} FROM ${matching(party, of)} AND s.id > ${after} ORDER BY s.id LIMIT ${FILE_PAGE}`;
  if (filter.ids === undefined) {
    yield* pages<ScheduleRecord, string>(
      FILE_PAGE,
      '',
      (one) => one.id,
      (after) => page(filter, after),
    );
    return;
  }
  // A hundred thousand ids are megabytes, too many to send with each page.
  const ids = filter.ids.toSorted();
  for (let n = 0; n < ids.length; n += FILE_PAGE)
    yield await page({ ...filter, ids: ids.slice(n, n + FILE_PAGE) });
}
