import { Failure } from '../domain/failures';
import { row, rows, type Executor } from './connection';
import type { AuditEvent } from './event';

/** The history of money: every charge is a transaction from its acceptance on. */

export interface TransactionFilter {
  from?: Date | undefined;
  to?: Date | undefined;
  status?: string | undefined;
  type?: string | undefined;
  customerId?: string | undefined;
  merchantId?: string | undefined;
  reference?: string | undefined;
}

export const TRANSACTION_SORTS = { createdAt: 'b.created_at', amount: 'b.amount' } as const;

export interface Page {
  page: number;
  limit: number;
  sortBy: keyof typeof TRANSACTION_SORTS;
  sortOrder: 'asc' | 'desc';
}

export interface TransactionRecord {
  transactionId: string;
  reference: string;
  type: 'charge';
  status: 'pending' | 'successful' | 'declined';
  amount: bigint;
  currency: string;
  description: string;
  customerId: string;
  merchantId: string;
  bankId: string;
  billingRequestId: string;
  scheduleId: string | null;
  bankTransactionId: string | null;
  declineReason: string | null;
  createdAt: Date;
  settledAt: Date | null;
}

/** Whose transactions a caller sees: its own, and a provider's those of the merchants that it created. */
export interface Viewer {
  entityId: string;
  role: 'bank' | 'merchant' | 'provider';
}

const OWN: Record<Viewer['role'], string> = {
  bank: 'b.bank_id = :entityId',
  merchant: 'b.merchant_id = :entityId',
  provider: 'b.merchant_id IN (SELECT id FROM entities WHERE provider_id = :entityId)',
};

const RECORD_COLUMNS = `b.transaction_id AS "transactionId", b.reference, 'charge' AS type, b.status, b.amount, b.currency,
  b.description, b.customer_id AS "customerId", b.merchant_id AS "merchantId", b.bank_id AS "bankId",
  b.id AS "billingRequestId", b.schedule_id AS "scheduleId", b.bank_transaction_id AS "bankTransactionId",
  b.decline_reason AS "declineReason", b.created_at AS "createdAt",
  CASE WHEN b.status = 'successful' THEN b.closed_at END AS "settledAt"`;

function conditions(viewer: Viewer, filter: TransactionFilter): string {
  return [
    OWN[viewer.role],
    filter.from !== undefined && 'b.created_at >= :from',
    filter.to !== undefined && 'b.created_at < :to',
    filter.status !== undefined && 'b.status = :status',
    filter.type !== undefined && `:type = 'charge'`,
    filter.customerId !== undefined && 'b.customer_id = :customerId',
    filter.merchantId !== undefined && 'b.merchant_id = :merchantId',
    filter.reference !== undefined && 'b.reference = :reference',
  ]
    .filter(Boolean)
    .join(' AND ');
}

export async function listTransactions(
  db: Executor,
  viewer: Viewer,
  filter: TransactionFilter,
  { page, limit, sortBy, sortOrder }: Page,
): Promise<{ transactions: TransactionRecord[]; total: number }> {
  const bindings = { ...filter, entityId: viewer.entityId, limit, offset: (page - 1) * limit };
  const where = conditions(viewer, filter);
  // The id makes the order total, so that no row shows on two pages or on none.
  const order = sortOrder === 'asc' ? 'ASC' : 'DESC';
  const [transactions, counted] = await Promise.all([
    rows<TransactionRecord>(
      db,
      `SELECT ${RECORD_COLUMNS} FROM billing_requests b WHERE ${where}
       ORDER BY ${TRANSACTION_SORTS[sortBy]} ${order}, b.id ${order} LIMIT :limit OFFSET :offset`,
      bindings,
    ),
    rows<{ total: number }>(
      db,
      `SELECT count(*)::int AS total FROM billing_requests b WHERE ${where}`,
      bindings,
    ),
  ]);
  return { transactions, total: counted[0]?.total ?? 0 };
}

/** Rows in memory at once while a whole history is read: a megabyte, and some ten milliseconds of Postgres. */
const EXPORT_PAGE = 1000;

/**
 * A whole history, page by page, each a statement of its own: however slowly the reader takes it, no
 * connection waits with it. A page begins after the last row of the one before, so the millionth row costs
 * no more than the first. What is accepted meanwhile is in it where its place has not been passed.
 */
export async function* readTransactions(
  db: Executor,
  viewer: Viewer,
  filter: TransactionFilter,
  { sortBy, sortOrder }: Pick<Page, 'sortBy' | 'sortOrder'>,
): AsyncGenerator<TransactionRecord[], void, void> {
  const sort = TRANSACTION_SORTS[sortBy];
  const [order, beyond] = sortOrder === 'asc' ? ['ASC', '>'] : ['DESC', '<'];
  const where = conditions(viewer, filter);
  let last: { position: string; id: string } | undefined;
  for (;;) {
    const page = await rows<TransactionRecord & { position: string; id: string }>(
      db,
      // As text the position keeps the microseconds that a Date would lose, and with them rows.
      `SELECT ${RECORD_COLUMNS}, ${sort}::text AS position, b.id FROM billing_requests b
       WHERE ${where} ${last ? `AND (${sort}, b.id) ${beyond} (:position, :id)` : ''}
       ORDER BY ${sort} ${order}, b.id ${order} LIMIT :limit`,
      { ...filter, ...last, entityId: viewer.entityId, limit: EXPORT_PAGE },
    );
    if (page.length > 0) yield page;
    last = page[EXPORT_PAGE - 1];
    if (!last) return;
  }
}

/** One step of a transaction's time line. */
export interface TransactionEvent {
  type: string;
  at: Date;
  cause: AuditEvent['cause'];
  declineReason: string | null;
}

/**
 * One transaction with all that has happened to it, oldest first.
 *
 * @throws Failure not_found
 */
export async function readTransaction(
  db: Executor,
  viewer: Viewer,
  reference: string,
): Promise<{ transaction: TransactionRecord; events: TransactionEvent[] }> {
  const filter = { reference };
  const transaction = await row<TransactionRecord>(
    db,
    `SELECT ${RECORD_COLUMNS} FROM billing_requests b WHERE ${conditions(viewer, filter)}`,
    { ...filter, entityId: viewer.entityId },
  );
  if (!transaction) throw new Failure('not_found', 'There is no transaction with this reference.');
  const events = await rows<TransactionEvent>(
    db,
    `SELECT type, business_at AS at, cause, details->>'declineReason' AS "declineReason"
     FROM events WHERE resource_id = :billingRequestId ORDER BY sequence`,
    { billingRequestId: transaction.billingRequestId },
  );
  return { transaction, events };
}
