import { readCredit } from '../../database/credit/follow-credit';
import { readTimelineOfCharge } from '../../database/timeline/read-timeline';
import {
  listTransactions,
  readTransaction,
  readTransactions,
  type TransactionRecord,
} from '../../database/ledger/list-transactions';
import { addDays, startOfDay } from '../../domain/calendar';
import type { Party } from '../../database/query/party';
import { bankTransactionIdFor, columnsFor, inMajorUnits } from '../../files/transaction-record';
import { ANYONE, BANK, BILLERS } from '../http/callers';
import { listAnswer } from '../http/list';
import type { QueryCall } from '../http/call';
import { section } from '../http/route';
import { pageOf } from '../http/response-fields';
import { belongingTo, timelineOf } from './timeline';
import * as schema from './transaction-schema';

/** The history of money, for each party its own. */

async function listHistory({ caller, query, prefersCsv, deps }: QueryCall<typeof schema.historyQuery>) {
  const { format, page, limit, sortBy, sortOrder, settledFrom, settledTo, ...others } = query;
  const begin = momentIn(deps.config.NETWORK_TIMEZONE);
  const filter = { ...others, settledFrom: begin(settledFrom), settledTo: begin(settledTo, 1) };
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

/** @returns a function that takes a day as its beginning, or that of so many days after it */
export const momentIn =
  (timeZone: string) =>
  (given: string | Date | undefined, daysAfter = 0): Date | undefined =>
    typeof given === 'string' ? startOfDay(addDays(given, daysAfter), timeZone) : given;

async function* csvPages(pages: AsyncIterable<TransactionRecord[]>, party: Party) {
  for await (const page of pages) yield page.map((record) => shown(record, party));
}

async function showTransaction({ caller, query, deps }: QueryCall<typeof schema.detailsQuery>) {
  const { transaction, events } = await readTransaction(deps.db, caller, query.reference);
  const { type, billingRequestId, payeeBankId } = transaction;
  const credit =
    type === 'charge' && payeeBankId !== null ? await readCredit(deps.db, billingRequestId) : undefined;
  const timeline = await readTimelineOfCharge(deps.db, billingRequestId);
  return {
    message: `The ${transaction.type} is ${transaction.status}`,
    data: {
      ...shown(transaction, caller),
      ...(timeline ? belongingTo(timeline, caller) : { related: [], exceptionIds: [], deliveries: [] }),
      ...(credit && { credit }),
      events: events.map(({ declineReason, exceptionId, kind, ...event }) => ({
        ...event,
        ...(declineReason !== null && { declineReason }),
        ...(exceptionId !== null && { exceptionId }),
        ...(exceptionId !== null && kind !== null && { kind }),
      })),
      timeline: timeline ? timelineOf(timeline, caller, payeeBankId) : [],
    },
  };
}

/** A transaction without the fields that belong to another party. */
export function shown<One extends TransactionRecord>(transaction: One, party: Party) {
  const { bankTransactionId: _, payeeBankId, payeeLookupID, metadata, ...record } = transaction;
  return {
    ...record,
    ...(party.role === 'bank'
      ? { bankTransactionId: bankTransactionIdFor(party, transaction), payeeBankId, payeeLookupID }
      : { metadata }),
    ...inMajorUnits(record),
  };
}

const route = section('Transactions');

export const transactionRoutes = [
  route('get', '/v1/transaction-history', {
    id: 'listTransactions',
    summary: 'List transactions',
    description:
      'Your charges, refunds, refund returns and reversals, newest first unless sorted otherwise. With `format=csv` or the header `Accept: text/csv` the answer is a CSV file of all transactions that match the filters; `page` and `limit` are then ignored.',
    takes: {
      ...ANYONE,
      query: schema.historyQuery,
      only: { 'query.bankTransactionId': BANK.roles, 'query.metadata': BILLERS.roles },
    },
    answers: {
      200: {
        description: '1 transaction',
        data: pageOf('transactions', schema.transaction),
        csv: 'offered',
      },
    },
    handle: listHistory,
  }),
  route('get', '/v1/transaction-details', {
    id: 'getTransaction',
    summary: 'Retrieve a transaction',
    description:
      'One transaction with its history in `events`. The history of a charge includes its refunds.',
    takes: { ...ANYONE, query: schema.detailsQuery },
    answers: { 200: { description: 'The charge is successful', data: schema.transactionWithEvents } },
    refusals: { not_found: 'You have no transaction with this reference' },
    handle: showTransaction,
  }),
];
