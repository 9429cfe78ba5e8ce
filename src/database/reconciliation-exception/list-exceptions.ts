import { Failure } from '../../domain/failures';
import type { ExceptionState } from '../../domain/lifecycle';
import { EXCEPTION_KINDS, type ExceptionKind, type Said } from '../../domain/books/reconciliation-exception';
import type { Metadata } from '../../domain/metadata';
import type { WebhookItem } from '../../domain/webhook/webhook-item';
import type { Executor } from '../pool/connection';
import { joined, raw, sql, type Fragment } from '../pool/statement';
import type { Cause } from '../../domain/words/timeline';
import { allOf, listPage, literal, type Listed, type Page } from '../query/list-page';
import { pages } from '../query/pages';
import { sidesOf, type Party } from '../query/party';
import { HELD } from './held-amount';

/** All that is kept of an exception; `shownTo` selects what a party sees. */
export interface ExceptionRecord extends Omit<
  WebhookItem<'exception.opened'>,
  'bankTransactionId' | 'metadata' | 'sequence'
> {
  merchantName: string | null;
  bankName: string;
  /** Only for a payment between customers. */
  payeeBankId: string | null;
  /** The first id that the bank named in doubtful answers, or in the file. */
  bankTransactionId: string | null;
  /** The customer's side: of the bank's booking, or of the booking that it lacks. */
  direction: 'debit' | 'credit' | null;
  /** Minor units in the bank's file. */
  bookedAmount: bigint | null;
  bookedCurrency: string | null;
  /** The note of the bank that was asked. */
  bankNote: string | null;
  /** Webhooks about it that each side was sent. */
  announced: number;
  /** The merchant's metadata of the refund, or of the charge. */
  metadata: Metadata | null;
  /** The operator who investigates it. */
  assignee: string | null;
  operatorNote: string | null;
  /** Minor units of the charge that cannot be refunded meanwhile. */
  held: bigint;
  /** The bank's id of its reversal. */
  reversalBankTransactionId: string | null;
  /** Seconds since it was recorded, by the database's clock. */
  ageS: number;
}

export const EXCEPTION_COLUMNS = `x.id AS exception_id, x.kind, x.state, x.reference,
  x.billing_request_id, x.refund_id, x.merchant_id, (SELECT name FROM entities WHERE id = x.merchant_id) AS merchant_name,
  x.bank_id, (SELECT name FROM entities WHERE id = x.bank_id) AS bank_name, x.payee_bank_id, x.amount, x.currency,
  x.bank_transaction_id, x.direction, x.booked_amount, x.booked_currency, x.opened_at, x.resolved_at, x.resolution,
  x.bank_note, x.announced, x.assignee,
  x.operator_note, x.reversal_bank_transaction_id,
  extract(epoch FROM clock_timestamp() - x.recorded_at)::float8 AS age_s,
  coalesce((SELECT r.metadata FROM refunds r WHERE r.id = x.refund_id),
    (SELECT b.metadata FROM billing_requests b WHERE b.id = x.billing_request_id)) AS metadata,
  coalesce((SELECT least(${HELD}, b.amount - b.refunded_amount - b.reversed_amount - b.written_off_amount)
    FROM billing_requests b LEFT JOIN refunds r ON r.id = x.refund_id
    WHERE b.id = x.billing_request_id AND b.status = 'successful'), 0)::bigint AS held`;

/** Only its own bank sees a bank's id: the payee's bank gets null, a merchant no field. */
export const banksOwn = (
  { bankId }: ExceptionRecord,
  { role, entityId }: Party,
  bankTransactionId: string | null,
) => (role === 'bank' ? (bankId === entityId ? bankTransactionId : null) : undefined);

/** An exception as a party reads it and is sent it. A bank does not see the metadata. */
export const shownTo = (party: Party, one: ExceptionRecord): WebhookItem<'exception.opened'> => ({
  exceptionId: one.exceptionId,
  kind: one.kind,
  state: one.state,
  reference: one.reference,
  billingRequestId: one.billingRequestId,
  refundId: one.refundId,
  merchantId: one.merchantId,
  bankId: one.bankId,
  amount: one.amount,
  currency: one.currency,
  bankTransactionId: banksOwn(one, party, one.bankTransactionId),
  metadata: party.role === 'bank' ? undefined : (one.metadata ?? {}),
  openedAt: one.openedAt,
  resolvedAt: one.resolvedAt,
  resolution: one.resolution,
  sequence: one.announced,
});

interface ExceptionFilter {
  state?: ExceptionState | undefined;
  kind?: ExceptionKind | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
  /** The reference of the charge, or of a refund of the charge. */
  reference?: string | undefined;
}

export const EXCEPTION_SORTS = {
  openedAt: { by: 'opened_at', indexed: true },
  amount: { by: 'amount', indexed: false },
};

/** SQL: the party's exceptions that match the filter. Each side reads its own index. */
function matching(party: Party, filter: ExceptionFilter, more: Fragment): Fragment {
  const { state, kind, from, to, reference } = filter;
  const conditions = [
    state !== undefined && sql`state = ${literal(state)}`,
    kind !== undefined && sql`kind = ${literal(kind)}`,
    from !== undefined && sql`opened_at >= ${from}`,
    to !== undefined && sql`opened_at < ${to}`,
    reference !== undefined &&
      sql`(reference = ${reference}
        OR billing_request_id = (SELECT id FROM billing_requests WHERE reference = ${reference}))`,
  ];
  const sides = sidesOf(party).map(
    (side) => sql`(SELECT * FROM reconciliation_exceptions WHERE ${allOf(side, ...conditions)} ${more})`,
  );
  return sql`(${joined(sides, ' UNION ALL ')}) AS x`;
}

export async function listExceptions(
  db: Executor,
  party: Party,
  filter: ExceptionFilter,
  page: Page<keyof typeof EXCEPTION_SORTS>,
): Promise<Listed<ExceptionRecord>> {
  return listPage<ExceptionRecord>(
    db,
    {
      select: (first) => sql`SELECT ${raw(EXCEPTION_COLUMNS)} FROM ${matching(party, filter, first)}`,
      counted: (limit) => matching(party, filter, sql`ORDER BY opened_at, id ${limit}`),
      id: 'id',
      sort: EXCEPTION_SORTS[page.sortBy],
      instead: 'narrow it with state, from and to',
    },
    page,
  );
}

/** Rows in memory at once: the metadata of each may have 100 kB. */
const FILE_PAGE = 100;

/** Oldest first, page by page. */
export const readExceptions = (db: Executor, party: Party, filter: ExceptionFilter) =>
  pages<ExceptionRecord, string>(
    FILE_PAGE,
    '',
    (one) => one.exceptionId,
    (after) => {
      const first = sql`ORDER BY id LIMIT ${FILE_PAGE}`;
      const found = matching(party, filter, sql`AND id > ${after} ${first}`);
      return db.rows`SELECT ${raw(EXCEPTION_COLUMNS)} FROM ${found} ${first}`;
    },
  );

/** @param filter without a state: all that are not resolved */
export async function operatorsExceptions(
  db: Executor,
  filter: { state?: ExceptionState; kind?: ExceptionKind; entityId?: string | undefined },
  limit: number,
): Promise<ExceptionRecord[]> {
  const { state, kind, entityId } = filter;
  const asked = allOf(
    state === undefined ? sql`x.state <> 'resolved'` : sql`x.state = ${literal(state)}`,
    kind !== undefined && sql`x.kind = ${literal(kind)}`,
    entityId !== undefined && sql`${entityId} IN (x.bank_id, x.merchant_id, x.provider_id, x.payee_bank_id)`,
  );
  return db.rows`
    SELECT ${raw(EXCEPTION_COLUMNS)} FROM reconciliation_exceptions x WHERE ${asked}
    ORDER BY x.recorded_at, x.id LIMIT ${limit}`;
}

interface ExceptionEvent {
  type: string;
  at: Date;
  cause: Cause;
  /** The exception's kind at the time. */
  kind: ExceptionKind | null;
  /** The bank's id of the reversal that ended it. */
  reversalId: string | null;
}

interface BankAnswer {
  at: Date;
  says: Said;
  bankTransactionId: string | null;
}

export const UNKNOWN_EXCEPTION = 'There is no such reconciliation exception.';

/**
 * An exception with the bank's answers and its events, each oldest first.
 *
 * @param party undefined for the operator, who sees all exceptions
 * @throws Failure not_found
 */
export async function readException(db: Executor, exceptionId: string, party?: Party) {
  const own = party ? sql`(${joined(sidesOf(party), ' OR ')})` : sql`true`;
  const exception = await db.row<ExceptionRecord>`
    SELECT ${raw(EXCEPTION_COLUMNS)} FROM reconciliation_exceptions x
    WHERE x.id = ${exceptionId} AND ${own}`;
  if (!exception) throw new Failure('not_found', UNKNOWN_EXCEPTION);
  return { exception, answers: await answersOf(db, exception), events: await eventsOf(db, exceptionId) };
}

/** The first answers say what an exception is about. */
const ANSWERS_SHOWN = 100;

/**
 * Each answer of the bank to the charge or refund, oldest first: the answer that settled it, the
 * doubtful answers, and answers that changed nothing. A repeated answer is kept once.
 */
async function answersOf(
  db: Executor,
  { billingRequestId, refundId }: ExceptionRecord,
): Promise<BankAnswer[]> {
  return db.rows<BankAnswer>`
    SELECT at, says, bank_transaction_id FROM (
      SELECT closed_at AS at, created_at AS recorded_at, CASE status WHEN 'successful' THEN 'approved'
        ELSE 'declined' END AS says,
        bank_transaction_id
      FROM billing_requests WHERE id = ${billingRequestId} AND ${refundId}::text IS NULL
        AND closed_by = 'bank'
      UNION ALL
      -- The end of an exception completes a rejected refund, whose answer then stands in its event alone.
      SELECT coalesce(e.business_at, r.closed_at), r.created_at,
        CASE WHEN r.was_rejected OR r.status = 'rejected' THEN 'rejected' ELSE 'completed' END,
        CASE WHEN NOT r.was_rejected THEN r.bank_transaction_id END
      FROM refunds r LEFT JOIN events e ON r.was_rejected AND e.resource_id = r.id AND e.type = 'refund.rejected'
      WHERE r.id = ${refundId} AND r.status <> 'pending'
      UNION ALL
      SELECT a.answered_at, a.recorded_at, a.says, a.bank_transaction_id
      FROM reconciliation_exceptions x JOIN exception_answers a ON a.exception_id = x.id
      WHERE x.billing_request_id = ${billingRequestId} AND x.refund_id IS NOT DISTINCT FROM ${refundId}
      UNION ALL
      SELECT answered_at, recorded_at, says, bank_transaction_id FROM refused_answers
      WHERE resource_id = coalesce(${refundId}::text, ${billingRequestId})) AS said
    ORDER BY at, recorded_at LIMIT ${raw(ANSWERS_SHOWN)}`;
}

/** Events shown: the latest, if an exception has more. */
const EVENTS_MAX = 100;

async function eventsOf(db: Executor, exceptionId: string): Promise<ExceptionEvent[]> {
  const latest = await db.rows<ExceptionEvent>`
    SELECT type, business_at AS at, cause, details->>'kind' AS kind,
      CASE type WHEN 'exception.resolved' THEN details->>'bankTransactionId' END AS reversal_id FROM events
    WHERE resource_id = ${exceptionId} ORDER BY sequence DESC LIMIT ${raw(EVENTS_MAX)}`;
  return latest.toReversed();
}

interface Backlog {
  kind: ExceptionKind;
  count: number;
  /** There may be more than were counted. */
  isMinimum: boolean;
  /** Exceptions that an operator investigates. */
  investigating: number;
  /** Age of the oldest exception, in seconds; 0 without any. */
  oldestAgeS: number;
}

/** The count stops here for each kind, so that one bad bank file hides no other kind. */
const COUNTED_MAX = 10_000;

/** The oldest unresolved exceptions, counted by kind; also of a kind that has none. */
export async function unresolvedExceptions(db: Executor): Promise<Backlog[]> {
  return db.rows<Backlog>`
    SELECT k.kind, counted.*
    FROM unnest(${EXCEPTION_KINDS}::text[]) AS k (kind) CROSS JOIN LATERAL (
      SELECT count(*)::int AS count, count(*) = ${COUNTED_MAX} AS is_minimum,
        count(*) FILTER (WHERE state = 'investigating')::int AS investigating,
        coalesce(extract(epoch FROM clock_timestamp() - min(recorded_at)), 0)::float8 AS oldest_age_s
      FROM (SELECT state, recorded_at FROM reconciliation_exceptions
      WHERE kind = k.kind AND state <> 'resolved'
            ORDER BY recorded_at, id LIMIT ${COUNTED_MAX}) AS oldest) AS counted
    ORDER BY k.kind`;
}

/** A hundred banks at their limit of open exceptions: a second of Postgres. */
const ADDED_UP_MAX = 1_000_000;

/** Unresolved exceptions of each kind and currency, and the minor units that they are about. */
export const sumUnresolved = (db: Executor) =>
  db.rows<{ kind: ExceptionKind; currency: string; count: number; amount: bigint }>`
    SELECT kind, currency::text, count(*)::int AS count, sum(amount)::bigint AS amount FROM (
      SELECT kind, currency, amount FROM reconciliation_exceptions WHERE state <> 'resolved'
      LIMIT ${ADDED_UP_MAX}) AS unresolved
    GROUP BY 1, 2 ORDER BY 1, 2`;
