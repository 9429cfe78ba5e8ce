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

export const TRANSACTION_SORTS = { createdAt: 'created_at', amount: 'amount' } as const;

export interface Page {
  page: number;
  limit: number;
  sortBy: keyof typeof TRANSACTION_SORTS;
  sortOrder: 'asc' | 'desc';
}

export interface TransactionRecord {
  transactionId: string;
  reference: string;
  type: 'charge' | 'refund';
  status: 'pending' | 'successful' | 'declined' | 'completed' | 'rejected';
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
  /** Of a charge, what is on its way back or has arrived. */
  refundedAmount: bigint;
  createdAt: Date;
  settledAt: Date | null;
}

/** Whose transactions a caller sees: its own, and a provider's those of the merchants that it created. */
export interface Viewer {
  entityId: string;
  role: 'bank' | 'merchant' | 'provider';
}

export const OWN: Record<Viewer['role'], string> = {
  bank: 'bank_id = :entityId',
  merchant: 'merchant_id = :entityId',
  provider: 'merchant_id IN (SELECT id FROM entities WHERE provider_id = :entityId)',
};

const RECORD_COLUMNS = `transaction_id AS "transactionId", reference, type, status, amount, currency, description,
  customer_id AS "customerId", merchant_id AS "merchantId", bank_id AS "bankId",
  billing_request_id AS "billingRequestId", schedule_id AS "scheduleId", bank_transaction_id AS "bankTransactionId",
  decline_reason AS "declineReason", refunded_amount AS "refundedAmount", created_at AS "createdAt",
  settled_at AS "settledAt"`;

function conditions(viewer: Viewer, filter: TransactionFilter): string {
  return [
    OWN[viewer.role],
    filter.from !== undefined && 'created_at >= :from',
    filter.to !== undefined && 'created_at < :to',
    filter.status !== undefined && 'status = :status',
    filter.type !== undefined && 'type = :type',
    filter.customerId !== undefined && 'customer_id = :customerId',
    filter.merchantId !== undefined && 'merchant_id = :merchantId',
    filter.reference !== undefined && 'reference = :reference',
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
      `SELECT ${RECORD_COLUMNS} FROM transactions WHERE ${where}
       ORDER BY ${TRANSACTION_SORTS[sortBy]} ${order}, id ${order} LIMIT :limit OFFSET :offset`,
      bindings,
    ),
    rows<{ total: number }>(db, `SELECT count(*)::int AS total FROM transactions WHERE ${where}`, bindings),
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
      `SELECT ${RECORD_COLUMNS}, ${sort}::text AS position, id FROM transactions
       WHERE ${where} ${last ? `AND (${sort}, id) ${beyond} (:position, :id)` : ''}
       ORDER BY ${sort} ${order}, id ${order} LIMIT :limit`,
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
 * One transaction with all that has happened to it, oldest first; to a charge belong its refunds.
 *
 * @throws Failure not_found
 */
export async function readTransaction(
  db: Executor,
  viewer: Viewer,
  reference: string,
): Promise<{ transaction: TransactionRecord; events: TransactionEvent[] }> {
  const filter = { reference };
  const found = await row<TransactionRecord & { id: string }>(
    db,
    `SELECT ${RECORD_COLUMNS}, id FROM transactions WHERE ${conditions(viewer, filter)}`,
    { ...filter, entityId: viewer.entityId },
  );
  if (!found) throw new Failure('not_found', 'There is no transaction with this reference.');
  const { id, ...transaction } = found;
  const events = await rows<TransactionEvent>(
    db,
    `SELECT type, business_at AS at, cause, details->>'declineReason' AS "declineReason"
     FROM events
     WHERE resource_id = :id OR resource_id IN (SELECT id FROM refunds WHERE billing_request_id = :id)
     ORDER BY business_at, id`,
    { id },
  );
  return { transaction, events };
}
