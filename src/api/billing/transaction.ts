import { z } from 'zod';
import { readCredit } from '../../database/customer/payment-credit';
import { readStoryOfCharge } from '../../database/timeline/read-timeline';
import {
  listTransactions,
  readTransaction,
  readTransactions,
  TRANSACTION_SORTS,
  type TransactionRecord,
} from '../../database/transaction';
import { addDays, formatInstant, startOfDay } from '../../domain/calendar';
import type { Viewer } from '../../database/viewer';
import type { Role } from '../../domain/entity';
import { TRANSACTION_STATUSES, TRANSACTION_TYPES } from '../../domain/lifecycle';
import { formatAmount } from '../../domain/money';
import { dayOrInstant, idFilter, instant, NAME_MAX, pagination, textFor } from '../http/fields';
import { withMetadataPair } from '../http/metadata';
import { listAnswer } from '../http/list';
import { EXAMPLE_REFERENCE } from '../openapi/example';
import type { QueryCall } from '../http/route';
import { invalidRequest } from '../http/validation';
import { timelineOf } from './timeline';

/** The history of money, for each party its own. */

export const historyQuery = withMetadataPair({
  from: instant.meta({ description: 'Only transactions created at this time or later' }).optional(),
  to: instant
    .meta({ description: 'Only transactions created before this time', example: '2026-04-01T00:00:00+01:00' })
    .optional(),
  settledFrom: dayOrInstant
    .meta({ description: 'Only transactions that settled on this settlement day, or at this time, or later' })
    .optional(),
  settledTo: dayOrInstant
    .meta({
      description: 'Only transactions that settled on this settlement day or before, or before this time',
    })
    .optional(),
  status: z.enum(TRANSACTION_STATUSES).meta({ description: 'Only transactions with this status' }).optional(),
  type: z.enum(TRANSACTION_TYPES).meta({ description: 'Only transactions of this type' }).optional(),
  customerId: idFilter('customer').optional(),
  merchantId: idFilter('merchant').optional(),
  reference: textFor('Only the transaction with this reference', NAME_MAX, EXAMPLE_REFERENCE).optional(),
  bankTransactionId: textFor(
    'For banks: only the transaction that the payer’s bank has given this id',
    NAME_MAX,
    'FT26081XK2',
  ).optional(),
  format: z
    .enum(['json', 'csv'])
    .meta({ description: 'Format of the answer; takes precedence over the header `Accept`' })
    .optional(),
  ...pagination(Object.keys(TRANSACTION_SORTS) as ['createdAt', 'amount']),
});

export async function listHistory({ caller, query, prefersCsv, deps }: QueryCall<typeof historyQuery>) {
  const { format, page, limit, sortBy, sortOrder, settledFrom, settledTo, ...others } = query;
  const dayBegins = (day: string) => startOfDay(day, deps.config.NETWORK_TIMEZONE);
  const filter = {
    ...others,
    settledFrom: typeof settledFrom === 'string' ? dayBegins(settledFrom) : settledFrom,
    settledTo: typeof settledTo === 'string' ? dayBegins(addDays(settledTo, 1)) : settledTo,
  };
  if (filter.bankTransactionId !== undefined && caller.role !== 'bank') {
    throw invalidRequest([{ path: 'query.bankTransactionId', message: 'is for banks' }]);
  }
  if (filter.metadata !== undefined && caller.role === 'bank') {
    throw invalidRequest([{ path: 'query.metadata', message: 'is for merchants and providers' }]);
  }
  if (format === 'csv' || (format === undefined && prefersCsv)) {
    return {
      fileName: 'transactions.csv',
      columns: columnsFor(caller.role),
      pages: csvPages(readTransactions(deps.db, caller, filter, { sortBy, sortOrder }), caller),
    };
  }
  const found = await listTransactions(deps.db, caller, filter, { page, limit, sortBy, sortOrder });
  return listAnswer(['transaction', 'transactions'], found, query, (record) => shown(record, caller));
}

/** Of the file, in this order. */
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

/** What banks have beyond that. */
const BANK_COLUMNS = ['bankTransactionId', 'payeeBankId', 'payeeLookupID'] as const;

export const columnsFor = (role: Role) =>
  role === 'bank' ? ([...COLUMNS, ...BANK_COLUMNS] as const) : ([...COLUMNS, 'metadata'] as const);

async function* csvPages(pages: AsyncIterable<TransactionRecord[]>, viewer: Viewer) {
  for await (const page of pages) yield page.map((record) => shown(record, viewer));
}

export const detailsQuery = z.strictObject({
  reference: textFor(
    'Reference of a charge, a refund, a refund return or a reversal, or its `transactionId`',
    NAME_MAX,
    EXAMPLE_REFERENCE,
  ),
});

export async function showTransaction({ caller, query, deps }: QueryCall<typeof detailsQuery>) {
  const { transaction, events } = await readTransaction(deps.db, caller, query.reference);
  const { type, billingRequestId, payeeBankId } = transaction;
  const credit =
    type === 'charge' && payeeBankId !== null ? await readCredit(deps.db, billingRequestId) : undefined;
  const story = await readStoryOfCharge(deps.db, deps.ring, billingRequestId);
  return {
    message: `The ${transaction.type} is ${transaction.status}`,
    data: {
      ...shown(transaction, caller),
      ...(credit && { credit: { ...credit, dueBy: formatInstant(credit.dueBy) } }),
      events: events.map(({ at, declineReason, exceptionId, kind, ...event }) => ({
        ...event,
        at: formatInstant(at),
        ...(declineReason !== null && { declineReason }),
        ...(exceptionId !== null && { exceptionId }),
        ...(exceptionId !== null && kind !== null && { kind }),
      })),
      timeline: story ? timelineOf(story, caller, payeeBankId) : [],
    },
  };
}

/** What no party may know of another stays out. */
function shown(transaction: TransactionRecord, viewer: Viewer) {
  const { bankTransactionId: _, payeeBankId, payeeLookupID, metadata, ...record } = transaction;
  return {
    ...record,
    ...(viewer.role !== 'bank' && { metadata }),
    ...(viewer.role === 'bank' && {
      bankTransactionId: bankTransactionIdFor(viewer, transaction),
      payeeBankId,
      payeeLookupID,
    }),
    ...written(record),
  };
}

/**
 * The id that the payer's bank has given is that bank's. The payee's bank has that of a debit, with
 * which it got `billing.credit`, and not that of a reversal.
 */
export const bankTransactionIdFor = (
  viewer: Viewer,
  {
    type,
    bankId,
    bankTransactionId,
  }: Pick<TransactionRecord, 'bankId' | 'bankTransactionId'> & { type: string },
): string | null => (bankId === viewer.entityId || type === 'charge' ? bankTransactionId : null);

/** Its amounts and moments, as they are shown. */
export function written({
  currency,
  amount,
  refundedAmount,
  reversedAmount,
  createdAt,
  settledAt,
}: Pick<
  TransactionRecord,
  'currency' | 'amount' | 'refundedAmount' | 'reversedAmount' | 'createdAt' | 'settledAt'
>) {
  return {
    amount: formatAmount(amount, currency),
    refundedAmount: formatAmount(refundedAmount, currency),
    reversedAmount: formatAmount(reversedAmount, currency),
    createdAt: formatInstant(createdAt),
    settledAt: settledAt && formatInstant(settledAt),
  };
}
