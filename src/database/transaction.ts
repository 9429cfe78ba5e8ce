import { rows, type Executor } from './connection';

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

export async function listTransactions(
  db: Executor,
  viewer: Viewer,
  filter: TransactionFilter,
  { page, limit, sortBy, sortOrder }: Page,
): Promise<{ transactions: TransactionRecord[]; total: number }> {
  const conditions = [
    OWN[viewer.role],
    filter.from !== undefined && 'b.created_at >= :from',
    filter.to !== undefined && 'b.created_at < :to',
    filter.status !== undefined && 'b.status = :status',
    filter.type !== undefined && `:type = 'charge'`,
    filter.customerId !== undefined && 'b.customer_id = :customerId',
    filter.merchantId !== undefined && 'b.merchant_id = :merchantId',
    filter.reference !== undefined && 'b.reference = :reference',
  ].filter(Boolean);
  const bindings = { ...filter, entityId: viewer.entityId, limit, offset: (page - 1) * limit };
  const where = conditions.join(' AND ');
  // The id makes the order total, so that no row shows on two pages or on none.
  const order = sortOrder === 'asc' ? 'ASC' : 'DESC';
  const [transactions, counted] = await Promise.all([
    rows<TransactionRecord>(
      db,
      `SELECT b.transaction_id AS "transactionId", b.reference, 'charge' AS type, b.status, b.amount, b.currency,
         b.description, b.customer_id AS "customerId", b.merchant_id AS "merchantId", b.bank_id AS "bankId",
         b.id AS "billingRequestId", b.schedule_id AS "scheduleId", b.bank_transaction_id AS "bankTransactionId",
         b.decline_reason AS "declineReason", b.created_at AS "createdAt",
         CASE WHEN b.status = 'successful' THEN b.closed_at END AS "settledAt"
       FROM billing_requests b WHERE ${where}
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
