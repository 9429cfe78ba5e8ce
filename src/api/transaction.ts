import { z } from 'zod';
import { listTransactions, TRANSACTION_SORTS, type TransactionRecord } from '../database/transaction';
import { formatInstant } from '../domain/calendar';
import type { Role } from '../domain/entity';
import { formatAmount } from '../domain/money';
import type { Answer } from './answer';
import { id, instant, NAME_MAX, pagination, text } from './fields';
import type { Call } from './route';

/** The history of money, for each party its own. */

export const historyQuery = z.strictObject({
  from: instant.optional(),
  to: instant.optional(),
  status: z.enum(['pending', 'successful', 'declined', 'completed', 'rejected']).optional(),
  type: z.enum(['charge', 'refund']).optional(),
  customerId: id('customer').optional(),
  merchantId: id('merchant').optional(),
  reference: text(NAME_MAX).optional(),
  ...pagination(Object.keys(TRANSACTION_SORTS) as ['createdAt', 'amount']),
});

export async function listHistory({
  caller,
  query,
  deps,
}: Call<unknown, z.output<typeof historyQuery>, unknown>): Promise<Answer> {
  const { page, limit, sortBy, sortOrder, ...filter } = query;
  const found = await listTransactions(deps.db, caller, filter, { page, limit, sortBy, sortOrder });
  return {
    message: found.total === 1 ? '1 transaction' : `${found.total} transactions`,
    data: {
      transactions: found.transactions.map((record) => shown(record, caller.role)),
      total: found.total,
      page,
      limit,
    },
  };
}

/** What no party may know of another stays out: the bank's own id of a debit is the bank's. */
function shown({ bankTransactionId, ...record }: TransactionRecord, role: Role) {
  return {
    ...record,
    amount: formatAmount(record.amount, record.currency),
    ...(role === 'bank' && { bankTransactionId }),
    refundedAmount: 0,
    createdAt: formatInstant(record.createdAt),
    settledAt: record.settledAt && formatInstant(record.settledAt),
  };
}
