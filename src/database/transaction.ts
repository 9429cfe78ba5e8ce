import { Failure } from '../domain/failures';
import type { BillingRequestStatus, RefundStatus, TransactionType } from '../domain/lifecycle';
import { isId } from '../domain/identifier/ids';
import type { Metadata } from '../domain/metadata';
import type { ExceptionKind } from '../domain/books/reconciliation-exception';
import { row, rows, type Executor } from './connection';
import type { AuditEvent } from './event';
import { allOf, beyondReach, countUpTo, LIST_REACH, listPage, literal, type Listed, type Page } from './list';
import { SIDES, type Viewer } from './viewer';

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
  /** As the payer's bank calls it: to the payee's bank that of a debit alone is known. */
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
  /** Null of a payment between customers. */
  merchantId: string | null;
  bankId: string;
  billingRequestId: string;
  scheduleId: string | null;
  bankTransactionId: string | null;
  /** Of a payment between customers, who is paid; otherwise null. */
  payeeBankId: string | null;
  payeeLookupID: string | null;
  declineReason: string | null;
  /** Of a charge, what is on its way back or has arrived. */
  refundedAmount: bigint;
  /** Of a charge, what did not stay. */
  reversedAmount: bigint;
  createdAt: Date;
  settledAt: Date | null;
  /** The merchant's own; of a reversal that of its charge. */
  metadata: Metadata;
}

const RECORD_COLUMNS = `transaction_id, reference, type, status, amount, currency, description,
  customer_id, merchant_id, bank_id,
  billing_request_id, schedule_id, bank_transaction_id,
  decline_reason, refunded_amount, reversed_amount, created_at,
  settled_at, payee_bank_id, payee_lookup_id AS "payeeLookupID", metadata`;

/**
 * The viewer's transactions that the filter lets through, as a query to select from. Each side is a
 * query of its own, with its own part of any order and limit: so each reads its own index from the
 * beginning, and stops.
 *
 * @param more conditions, order and limit
 */
function matching({ role }: Viewer, filter: TransactionFilter, more = ''): string {
  const customers = role === 'bank' ? ['customer_id', 'payee_customer_id'] : ['customer_id'];
  const conditions = [
    filter.from !== undefined && 'created_at >= :from',
    filter.to !== undefined && 'created_at < :to',
    filter.status !== undefined && `status = ${literal(filter.status)}`,
    filter.type !== undefined && `type = ${literal(filter.type)}`,
    filter.customerId !== undefined && `(${customers.map((one) => `${one} = :customerId`).join(' OR ')})`,
    filter.merchantId !== undefined && 'merchant_id = :merchantId',
    filter.reference !== undefined && 'reference = :reference',
    filter.transactionId !== undefined && 'transaction_id = :transactionId',
    filter.bankTransactionId !== undefined &&
      `id = ANY(ARRAY(${NAMED_BY_BANK})) AND bank_transaction_id = :bankTransactionId
       AND (bank_id = :entityId OR type = 'charge')`,
    filter.metadata !== undefined && HAS_PAIR,
    filter.settledFrom !== undefined && 'settled_at >= :settledFrom',
    filter.settledTo !== undefined && 'settled_at < :settledTo',
  ];
  const sides = SIDES[role].map((side) => {
    const found = `SELECT * FROM transactions WHERE ${allOf(side, ...conditions)}`;
    // Another index finds them: no more than can be sorted are taken from it.
    return outOfOrder(filter)
      ? `(SELECT * FROM (${found} LIMIT ${LIST_REACH + 1}) AS found WHERE true ${more})`
      : `(${found} ${more})`;
  });
  return `(${sides.join(' UNION ALL ')}) AS own`;
}

const bySettlement = ({ settledFrom, settledTo }: TransactionFilter) =>
  settledFrom !== undefined || settledTo !== undefined;

/** The index that finds such a list does not have it in order. */
const outOfOrder = (filter: TransactionFilter) => bySettlement(filter) || filter.metadata !== undefined;

/** The index has hashes, so the pair itself is compared as well. */
const HAS_PAIR = `metadata ->> :name = :value AND metadata <> '{}'
  AND metadata_hashes(coalesce(provider_id, merchant_id), metadata) @> metadata_hashes(
    (SELECT coalesce(provider_id, id) FROM entities WHERE id = :entityId), jsonb_build_object(:name::text, :value::text))`;

const bound = ({ entityId }: Viewer, { metadata, ...filter }: TransactionFilter) => ({
  ...filter,
  ...metadata,
  entityId,
});

/** What a bank's id belongs to: by an index, and however many banks there are. */
const NAMED_BY_BANK = `
  WITH named AS (
    SELECT t.resource_id AS id FROM entities bank
      JOIN bank_transactions t ON t.bank_id = bank.id AND t.bank_transaction_id = :bankTransactionId
    WHERE bank.type = 'bank')
  SELECT id FROM named UNION ALL SELECT transaction_id FROM reversals JOIN named ON exception_id = named.id
  UNION ALL SELECT return_transaction_id FROM refunds JOIN named ON returned_by = named.id`;

const sortOf = (filter: TransactionFilter, sortBy: keyof typeof TRANSACTION_SORTS) => ({
  by: TRANSACTION_SORTS[sortBy].by,
  indexed: TRANSACTION_SORTS[sortBy].indexed && !outOfOrder(filter),
});

const counted = (viewer: Viewer, filter: TransactionFilter) => (limit: string) =>
  matching(viewer, filter, `ORDER BY created_at, id ${limit}`);

export async function listTransactions(
  db: Executor,
  viewer: Viewer,
  filter: TransactionFilter,
  page: TransactionPage,
): Promise<Listed<TransactionRecord>> {
  return listPage<TransactionRecord>(
    db,
    {
      select: (order) => `SELECT ${RECORD_COLUMNS} FROM ${matching(viewer, filter, `${order} LIMIT :end`)}`,
      counted: counted(viewer, filter),
      bindings: bound(viewer, filter),
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

/**
 * Rows in memory at once while a whole history is read: a megabyte, and some ten milliseconds of
 * Postgres.
 */
const EXPORT_PAGE = 1000;
/** A page ends early where the metadata of its rows come to more: 50 long values have 100 kB. */
const EXPORT_PAGE_BYTES = 1_000_000;

/**
 * A whole history, page by page, each a statement of its own: however slowly the reader takes it,
 * no connection waits with it. A page begins after the last row of the one before, so the millionth
 * row costs no more than the first. What is accepted meanwhile is in it where its place has not
 * been passed.
 */
export async function* readTransactions(
  db: Executor,
  viewer: Viewer,
  filter: TransactionFilter,
  { sortBy, sortOrder }: Pick<TransactionPage, 'sortBy' | 'sortOrder'>,
): AsyncGenerator<TransactionRecord[], void, void> {
  const { by: sort, indexed } = sortOf(filter, sortBy);
  if (!indexed) {
    // Each page would sort all of it.
    const { more } = await countUpTo(db, counted(viewer, filter), bound(viewer, filter));
    if (more) throw beyondReach('sortBy', 'can be sorted so', instead(filter, 'take it by createdAt'));
  }
  const [direction, beyond] = sortOrder === 'asc' ? ['ASC', '>'] : ['DESC', '<'];
  const order = `ORDER BY ${sort} ${direction}, id ${direction} LIMIT :limit`;
  let last: { position: string; id: string } | undefined;
  for (;;) {
    const next = last ? `AND (${sort}, id) ${beyond} (:position, :id)` : '';
    const page = await rows<TransactionRecord & { position: string; id: string }>(
      db,
      // As text the position keeps the microseconds that a Date would lose, and with them rows.
      `SELECT * FROM (
         SELECT ${RECORD_COLUMNS}, ${sort}::text AS position, id,
           sum(octet_length(metadata::text)) OVER (ORDER BY ${sort} ${direction}, id ${direction}) AS bytes
         FROM ${matching(viewer, filter, `${next} ${order}`)} ${order}) AS page
       WHERE bytes <= ${EXPORT_PAGE_BYTES}`,
      { ...bound(viewer, filter), ...last, limit: EXPORT_PAGE },
    );
    last = page.at(-1);
    if (!last) return;
    yield page;
  }
}

/** One step of a transaction's time line. */
export interface TransactionEvent {
  type: string;
  at: Date;
  cause: AuditEvent['cause'];
  declineReason: string | null;
  /** Of a reconciliation exception. */
  exceptionId: string | null;
  kind: ExceptionKind | null;
}

/**
 * Most steps that are shown, the latest ones. Only a charge that is refunded in hundreds of parts
 * has more.
 */
const EVENTS_MAX = 1_000;

/**
 * One transaction with what has happened to it, oldest first; to a charge belong its refunds, and
 * to both their reconciliation exceptions; to a reversal belongs the one that it follows from, to a
 * returned refund's return what belongs to the refund.
 *
 * @param named its reference, or its id
 * @throws Failure not_found
 */
export async function readTransaction(
  db: Executor,
  viewer: Viewer,
  named: string,
): Promise<{ transaction: TransactionRecord; events: TransactionEvent[] }> {
  const filter = isId('transaction', named) ? { transactionId: named } : { reference: named };
  const found = await row<TransactionRecord & { id: string }>(
    db,
    `SELECT ${RECORD_COLUMNS}, id FROM ${matching(viewer, filter)}`,
    { ...filter, entityId: viewer.entityId },
  );
  if (!found) throw new Failure('not_found', 'There is no transaction with this reference.');
  const { id, ...transaction } = found;
  const events = await rows<TransactionEvent>(
    db,
    // A bank's own words are not in the audit trail: they stand in the row.
    `SELECT type, business_at AS at, cause,
       CASE details->>'declineReason' WHEN 'other' THEN coalesce(
         (SELECT decline_reason FROM billing_requests WHERE id = resource_id),
         (SELECT reject_reason FROM refunds WHERE id = resource_id), 'other')
       ELSE details->>'declineReason' END AS decline_reason,
       CASE WHEN starts_with(type, 'exception.') THEN resource_id END AS exception_id, details->>'kind' AS kind
     FROM events
     -- As one array: with OR, all events there are would be read.
     WHERE resource_id = ANY(ARRAY(
       SELECT :id::text UNION ALL SELECT id FROM refunds WHERE billing_request_id = :id OR return_transaction_id = :id
       UNION ALL SELECT x.id FROM reconciliation_exceptions x LEFT JOIN refunds r ON r.id = x.refund_id
         WHERE x.billing_request_id = :billingRequestId AND :id IN (x.billing_request_id, x.refund_id, r.return_transaction_id)
       UNION ALL SELECT exception_id FROM reversals WHERE transaction_id = :id))
     ORDER BY business_at DESC, id DESC LIMIT :limit`,
    { id, billingRequestId: transaction.billingRequestId, limit: EVENTS_MAX },
  );
  return { transaction, events: events.toReversed() };
}
