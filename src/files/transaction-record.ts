import type { TransactionRecord } from '../database/ledger/list-transactions';
import type { Party } from '../database/query/party';
import type { Role } from '../domain/entity';
import { formatAmount } from '../domain/money';

/** A transaction as its parties read it, in responses and in files. */

const COLUMNS = [
  'transactionId',
  'reference',
  'type',
  'status',
  'amount',
  'currency',
  'description',
  'customerId',
  'merchantId',
  'bankId',
  'billingRequestId',
  'scheduleId',
  'declineReason',
  'refundedAmount',
  'reversedAmount',
  'createdAt',
  'settledAt',
] as const;

const BANK_COLUMNS = ['bankTransactionId', 'payeeBankId', 'payeeLookupID'] as const;

export const columnsFor = (role: Role) =>
  role === 'bank' ? ([...COLUMNS, ...BANK_COLUMNS] as const) : ([...COLUMNS, 'metadata'] as const);

/**
 * The payer's bank gave the id and may read it. The payee's bank has the id of a debit from its
 * `billing.credit`, and none of a reversal.
 */
export const bankTransactionIdFor = (
  party: Party,
  {
    type,
    bankId,
    bankTransactionId,
  }: Pick<TransactionRecord, 'bankId' | 'bankTransactionId'> & { type: string },
): string | null => (bankId === party.entityId || type === 'charge' ? bankTransactionId : null);

export const inMajorUnits = ({
  currency,
  amount,
  refundedAmount,
  reversedAmount,
}: Pick<TransactionRecord, 'currency' | 'amount' | 'refundedAmount' | 'reversedAmount'>) => ({
  amount: formatAmount(amount, currency),
  refundedAmount: formatAmount(refundedAmount, currency),
  reversedAmount: formatAmount(reversedAmount, currency),
});
