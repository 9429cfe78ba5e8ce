import { Failure } from '../../domain/failures';
import type { BillingRequestStatus, RefundStatus, TransactionType } from '../../domain/lifecycle';
import { ID_PREFIX, isId } from '../../domain/identifier/ids';
import type { Metadata } from '../../domain/metadata';
import type { ExceptionKind } from '../../domain/books/reconciliation-exception';
import type { Executor } from '../pool/connection';
import { raw } from '../pool/statement';
import type { Cause } from '../../domain/words/timeline';
import {
  allOf,
  beyondReach,
  countUpTo,
  LIST_REACH,
  listPage,
  literal,
  type Listed,
  type Page,
} from '../query/list-page';
import { SIDES, type Party } from '../query/party';

/** The history of money: every charge is a transaction from its acceptance on. */

export interface TransactionFilter {
  from?: Date | undefined;
  to?: Date | undefined;
  settledFrom?: Date | undefined;
  settledTo?: Date | undefined;
  status?: string | undefined;
  type?: string | undefined;
  customerId?: string | undefined;
  merchantId?: string | undefined;
  reference?: string | undefined;
  transactionId?: string | undefined;
  /** The payer's bank's id; the payee's bank can search only by the id of a debit. */
  bankTransactionId?: string | undefined;
  /** A pair of a merchant's metadata, the value as text. */
  metadata?: { name: string; value: string } | undefined;
}

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
 * SQL: the party's transactions that match the filter. Each side is a query of its own with its
 * own order and limit, so that each reads its own index from the beginning, and stops.
 *
 * @param more conditions, order and limit
 */
function matching({ role }: Party, filter: TransactionFilter, more = ''): string {
  const customers = role === 'bank' ? ['customer_id', 'payee_customer_id'] : ['customer_id'];
  const conditions = [
    filter.from !== undefined && 'created_at >= :from',
    filter.to !== undefined && 'created_at < :to',
    filter.status !== undefined && `status = ${literal(filter.status)}`,
    filter.type !== undefined && `type = ${literal(filter.type)}`,
    filter.customerId !== undefined && `(${customers.map((one) => `${one} = :customerId`).join(' OR ')})`,
    filter.merchantId !== undefined && 'merchant_id = :merchantId',
    filter.reference !== undefined && 'reference = :reference',
    filter.transactionId !== undefined &&
      `id = ANY(ARRAY(${OF_TRANSACTION})) AND transaction_id = :transactionId`,
    filter.bankTransactionId !== undefined && NAMED_BY_BANK,
    filter.metadata !== undefined && HAS_PAIR,
    filter.settledFrom !== undefined && 'settled_at >= :settledFrom',
    filter.settledTo !== undefined && 'settled_at < :settledTo',
  ];
  const sides = SIDES[role].map((side) => {
    const found = `SELECT * FROM transactions WHERE ${allOf(side, ...conditions)}`;
    // The filter's index is in another order, so no more rows are taken than can be sorted.
    return outOfOrder(filter)
      ? `(SELECT * FROM (${found} LIMIT ${LIST_REACH + 1}) AS found WHERE true ${more})`
      : `(${found} ${more})`;
  });
  return `(${sides.join(' UNION ALL ')}) AS own`;
}

const bySettlement = ({ settledFrom, settledTo }: TransactionFilter) =>
  settledFrom !== undefined || settledTo !== undefined;

/** Whether the filter's index is in another order than the list. */
const outOfOrder = (filter: TransactionFilter) => bySettlement(filter) || filter.metadata !== undefined;

/** The index has only hashes, so the pair itself is compared as well. */
const HAS_PAIR = `metadata ->> :name = :value AND metadata <> '{}'
  AND metadata_hashes(coalesce(provider_id, merchant_id), metadata) @> metadata_hashes(
    (SELECT coalesce(provider_id, id) FROM entities WHERE id = :entityId), jsonb_build_object(:name::text, :value::text))`;

const bound = ({ entityId }: Party, { metadata, ...filter }: TransactionFilter) => ({
  ...filter,
  ...metadata,
  entityId,
});

/** The charge shares the suffix of its transaction's id. */
const OF_TRANSACTION = `
  SELECT '${ID_PREFIX.billingRequest}_' || substr(:transactionId, 5) UNION ALL SELECT :transactionId
  UNION ALL SELECT id FROM refunds WHERE transaction_id = :transactionId`;

/** The resources that own a bank's id, by an index, however many banks there are. */
const OWNED_BY_NAME = `
  WITH named AS (
    SELECT t.resource_id AS id FROM entities bank
      JOIN bank_transactions t ON t.bank_id = bank.id AND t.bank_transaction_id = :bankTransactionId
    WHERE bank.type = 'bank')
  SELECT id FROM named UNION ALL SELECT transaction_id FROM reversals JOIN named ON exception_id = named.id
  UNION ALL SELECT return_transaction_id FROM refunds JOIN named ON returned_by = named.id`;

/** SQL: it goes by a bank's id. The payee's bank knows that of a debit alone. */
export const NAMED_BY_BANK = `id = ANY(ARRAY(${OWNED_BY_NAME})) AND bank_transaction_id = :bankTransactionId
  AND (bank_id = :entityId OR type = 'charge')`;

const sortOf = (filter: TransactionFilter, sortBy: keyof typeof TRANSACTION_SORTS) => ({
  by: TRANSACTION_SORTS[sortBy].by,
  indexed: TRANSACTION_SORTS[sortBy].indexed && !outOfOrder(filter),
});

const counted = (party: Party, filter: TransactionFilter) => (limit: string) =>
  matching(party, filter, `ORDER BY created_at, id ${limit}`);

export async function listTransactions(
  db: Executor,
  party: Party,
  filter: TransactionFilter,
  page: TransactionPage,
): Promise<Listed<TransactionRecord>> {
  return listPage<TransactionRecord>(
    db,
    {
      select: (order) => `SELECT ${RECORD_COLUMNS} FROM ${matching(party, filter, `${order} LIMIT :end`)}`,
      counted: counted(party, filter),
      bindings: bound(party, filter),
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
/** A page ends early if its rows have more bytes of metadata: 50 long values have 100 kB. */
const EXPORT_PAGE_BYTES = 1_000_000;

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
    const { more } = await countUpTo(db, counted(party, filter), bound(party, filter));
    if (more) throw beyondReach('sortBy', 'can be sorted so', instead(filter, 'take it by createdAt'));
  }
  const [direction, beyond] = sortOrder === 'asc' ? ['ASC', '>'] : ['DESC', '<'];
  const order = `ORDER BY ${sort} ${direction}, id ${direction} LIMIT :limit`;
  let last: { position: string; id: string } | undefined;
  for (;;) {
    const next = last ? `AND (${sort}, id) ${beyond} (:position, :id)` : '';
    // The position is text, for a Date loses microseconds, and would skip rows.
    const page = await db.rows<TransactionRecord & { position: string; id: string }>`
      SELECT * FROM (
        SELECT ${raw(RECORD_COLUMNS)}, ${raw(sort)}::text AS position, id,
          sum(octet_length(metadata::text)) OVER (ORDER BY ${raw(sort)} ${raw(direction)},
          id ${raw(direction)}) AS bytes
        FROM ${raw(matching(party, filter, `${next} ${order}`), { ...bound(party, filter), ...last, limit: EXPORT_PAGE })} ${raw(order, { limit: EXPORT_PAGE })}) AS page
      WHERE bytes <= ${raw(EXPORT_PAGE_BYTES)}`;
    last = page.at(-1);
    if (!last) return;
    yield page;
  }
}

/** For people: names of the parties, those of customers for their own bank alone, and the end. */
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
export function namesFor({ role }: Party): string {
  const nameOf = (column: string) =>
    role === 'bank'
      ? `(SELECT firstname || ' ' || lastname FROM customers c WHERE c.id = ${column} AND c.bank_id = :entityId)`
      : 'NULL';
  return `closed_at,
    (SELECT expires_at FROM billing_requests b WHERE b.id = billing_request_id AND b.status = 'pending') AS expires_at,
    (SELECT name FROM entities e WHERE e.id = merchant_id) AS merchant_name,
    (SELECT name FROM entities e WHERE e.id = bank_id) AS bank_name,
    ${nameOf('customer_id')} AS customer_name, ${nameOf('payee_customer_id')} AS payee_name`;
}

export interface TransactionEvent {
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
    SELECT ${raw(RECORD_COLUMNS)}, id, ${raw(namesFor(party), { entityId: party.entityId })},
      (SELECT approval_required FROM billing_requests b
      WHERE b.id = own.id AND b.status = 'pending') IS TRUE AS approval_required
    FROM ${raw(matching(party, filter), { ...filter, entityId: party.entityId })}`;
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
