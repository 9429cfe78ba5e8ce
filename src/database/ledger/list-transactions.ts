import { Failure } from '../../domain/failures';
import type { BillingRequestStatus, RefundStatus, TransactionType } from '../../domain/lifecycle';
import { isId } from '../../domain/identifier/ids';
import type { Metadata } from '../../domain/metadata';
import type { ExceptionKind } from '../../domain/books/reconciliation-exception';
import type { Executor } from '../pool/connection';
import { joined, raw, sql, type Fragment } from '../pool/statement';
import type { Cause } from '../../domain/words/timeline';
import {
  beyondReach,
  countUpTo,
  LIST_REACH,
  listPage,
  PAGE_BYTES,
  type Listed,
  type Page,
} from '../query/list-page';
import type { Party } from '../query/party';
import { partsOf, rowsOf, type TransactionFilter } from './transaction-filter';

/** The history of money: every charge is a transaction from its acceptance on. */

export const TRANSACTION_SORTS = {
  createdAt: { by: 'created_at', indexed: true },
  amount: { by: 'amount', indexed: false },
};

type TransactionPage = Page<keyof typeof TRANSACTION_SORTS>;

export interface TransactionRecord {
  transactionId: string;
  reference: string;
  type: TransactionType;
  status: BillingRequestStatus | RefundStatus;
  amount: bigint;
  currency: string;
  description: string;
  customerId: string;
  /** Null for a payment between customers. */
  merchantId: string | null;
  bankId: string;
  billingRequestId: string;
  scheduleId: string | null;
  bankTransactionId: string | null;
  /** The payee of a payment between customers; otherwise null. */
  payeeBankId: string | null;
  payeeLookupID: string | null;
  declineReason: string | null;
  /** For a charge: refunds that are pending or completed. */
  refundedAmount: bigint;
  /** For a charge: money that did not stay. */
  reversedAmount: bigint;
  createdAt: Date;
  settledAt: Date | null;
  /** The merchant's metadata; a reversal has its charge's. */
  metadata: Metadata;
}

export const RECORD_COLUMNS = `transaction_id, reference, type, status, amount, currency, description,
  customer_id, merchant_id, bank_id, billing_request_id, schedule_id, bank_transaction_id, decline_reason,
  refunded_amount, reversed_amount, created_at, settled_at, payee_bank_id, payee_lookup_id AS "payeeLookupID",
  metadata`;

/**
 * SQL: the party's transactions that match the filter. Each part is a query with its own order and
 * limit: it reads its own index from the beginning, and stops.
 *
 * @param more conditions, order and limit
 */
function matching(party: Party, filter: TransactionFilter, more: Fragment = raw('')): Fragment {
  const parts = partsOf(party, filter).map((part) => {
    const found = rowsOf(part, raw('*'), ...part.looked);
    // The filter's index is in another order, so no more rows are taken than can be sorted.
    return outOfOrder(filter)
      ? sql`(SELECT * FROM (${found} LIMIT ${raw(LIST_REACH + 1)}) AS found WHERE true ${more})`
      : sql`(${found} ${more})`;
  });
  return sql`(${joined(parts, ' UNION ALL ')}) AS own`;
}

const bySettlement = ({ settledFrom, settledTo }: TransactionFilter) =>
  settledFrom !== undefined || settledTo !== undefined;

/** Whether the filter's index is in another order than the list. */
const outOfOrder = (filter: TransactionFilter) => bySettlement(filter) || filter.metadata !== undefined;

const sortOf = (filter: TransactionFilter, sortBy: keyof typeof TRANSACTION_SORTS) => ({
  by: TRANSACTION_SORTS[sortBy].by,
  indexed: TRANSACTION_SORTS[sortBy].indexed && !outOfOrder(filter),
});

const counted = (party: Party, filter: TransactionFilter) => (limit: Fragment) =>
  matching(party, filter, sql`ORDER BY created_at, id ${limit}`);

export async function listTransactions(
  db: Executor,
  party: Party,
  filter: TransactionFilter,
  page: TransactionPage,
): Promise<Listed<TransactionRecord>> {
  return listPage<TransactionRecord>(
    db,
    {
      select: (first) => sql`SELECT ${raw(RECORD_COLUMNS)} FROM ${matching(party, filter, first)}`,
      counted: counted(party, filter),
      id: 'id',
      sort: sortOf(filter, page.sortBy),
      instead: instead(filter, 'take all of it in order of time with format=csv'),
    },
    page,
  );
}

const instead = (filter: TransactionFilter, otherwise: string) =>
  bySettlement(filter)
    ? 'narrow it with settledFrom and settledTo, or take it day by day with GET /v1/statements/:date.csv'
    : `narrow it with from and to, or ${otherwise}`;

/** Rows in memory at once: a megabyte, and some ten milliseconds of Postgres. */
const EXPORT_PAGE = 1000;

/**
 * Reads a whole history, page by page. Each page is a statement of its own, so that a slow reader
 * does not hold a connection. A page begins after the last row of the page before, so the millionth
 * row costs no more than the first. A transaction that is accepted meanwhile is included if the
 * reader has not passed its place.
 */
export async function* readTransactions(
  db: Executor,
  party: Party,
  filter: TransactionFilter,
  { sortBy, sortOrder }: Pick<TransactionPage, 'sortBy' | 'sortOrder'>,
): AsyncGenerator<TransactionRecord[], void, void> {
  const { by: sort, indexed } = sortOf(filter, sortBy);
  if (!indexed) {
    // Each page would sort the whole history.
    const { more } = await countUpTo(db, counted(party, filter));
    if (more) throw beyondReach('sortBy', 'can be sorted so', instead(filter, 'take it by createdAt'));
  }
  const [direction, beyond] = sortOrder === 'asc' ? ['ASC', '>'] : ['DESC', '<'];
  const order = raw(`ORDER BY ${sort} ${direction}, id ${direction}`);
  const first = sql`${order} LIMIT ${EXPORT_PAGE}`;
  let last: { position: string; id: string } | undefined;
  for (;;) {
    const next = last ? sql`AND (${raw(sort)}, id) ${raw(beyond)} (${last.position}, ${last.id})` : raw('');
    const found = matching(party, filter, sql`${next} ${first}`);
    // The position is text, for a Date loses microseconds, and would skip rows.
    const page = await db.rows<TransactionRecord & { position: string; id: string }>`
      SELECT * FROM (
        SELECT ${raw(RECORD_COLUMNS)}, ${raw(sort)}::text AS position, id,
          sum(octet_length(metadata::text)) OVER (${order}) AS bytes
        FROM ${found} ${first}) AS page
      WHERE bytes <= ${raw(PAGE_BYTES)}`;
    last = page.at(-1);
    if (!last) return;
    yield page;
  }
}

/** For people: names of the parties and the end. A customer's name is for its own bank alone. */
export interface Names {
  closedAt: Date | null;
  /** Null but for a pending charge. */
  expiresAt: Date | null;
  merchantName: string | null;
  bankName: string;
  customerName: string | null;
  payeeName: string | null;
}

/** SQL: the names of a transaction's parties, and its end. */
export function namesFor({ entityId, role }: Party): Fragment {
  const nameOf = (column: string) =>
    role === 'bank'
      ? sql`(SELECT firstname || ' ' || lastname FROM customers c
          WHERE c.id = ${raw(column)} AND c.bank_id = ${entityId})`
      : raw('NULL');
  return sql`closed_at,
    (SELECT expires_at FROM billing_requests b WHERE b.id = billing_request_id AND b.status = 'pending') AS expires_at,
    (SELECT name FROM entities e WHERE e.id = merchant_id) AS merchant_name,
    (SELECT name FROM entities e WHERE e.id = bank_id) AS bank_name,
    ${nameOf('customer_id')} AS customer_name, ${nameOf('payee_customer_id')} AS payee_name`;
}

interface TransactionEvent {
  type: string;
  at: Date;
  cause: Cause;
  declineReason: string | null;
  exceptionId: string | null;
  kind: ExceptionKind | null;
}

/** The latest events are shown. Only a charge with hundreds of refunds has more. */
const EVENTS_MAX = 1_000;

/**
 * Reads a transaction with its events, oldest first. A charge includes its refunds' events. Charges
 * and refunds include their exceptions' events, and a reversal its exception's. The return of a
 * refund has the refund's.
 *
 * @param named its reference, or its id
 * @throws Failure not_found
 */
export async function readTransaction(
  db: Executor,
  party: Party,
  named: string,
): Promise<{
  transaction: TransactionRecord & Names & { approvalRequired: boolean };
  events: TransactionEvent[];
}> {
  const filter = isId('transaction', named) ? { transactionId: named } : { reference: named };
  const found = await db.row<TransactionRecord & Names & { id: string; approvalRequired: boolean }>`
    SELECT ${raw(RECORD_COLUMNS)}, id, ${namesFor(party)},
      (SELECT approval_required FROM billing_requests b
      WHERE b.id = own.id AND b.status = 'pending') IS TRUE AS approval_required
    FROM ${matching(party, filter)}`;
  if (!found) throw new Failure('not_found', 'There is no transaction with this reference.');
  const { id, ...transaction } = found;
  // A bank's own words are kept in the row, not in the events.
  const events = await db.rows<TransactionEvent>`
    SELECT type, business_at AS at, cause,
      CASE details->>'declineReason' WHEN 'other' THEN coalesce(
        (SELECT decline_reason FROM billing_requests WHERE id = resource_id),
        (SELECT reject_reason FROM refunds WHERE id = resource_id), 'other')
      ELSE details->>'declineReason' END AS decline_reason,
      CASE WHEN starts_with(type, 'exception.') THEN resource_id END AS exception_id, details->>'kind' AS kind
    FROM events
    -- One array, because OR would make Postgres read all events.
    WHERE resource_id = ANY(ARRAY(
      SELECT ${id}::text UNION ALL SELECT id FROM refunds
      WHERE billing_request_id = ${id} OR return_transaction_id = ${id}
      UNION ALL SELECT x.id FROM reconciliation_exceptions x LEFT JOIN refunds r ON r.id = x.refund_id
        WHERE x.billing_request_id = ${transaction.billingRequestId}
          AND ${id} IN (x.billing_request_id, x.refund_id, r.return_transaction_id)
      UNION ALL SELECT exception_id FROM reversals WHERE transaction_id = ${id}))
    ORDER BY business_at DESC, id DESC LIMIT ${EVENTS_MAX}`;
  return { transaction, events: events.toReversed() };
}
