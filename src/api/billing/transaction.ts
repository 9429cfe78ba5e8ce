import { readCredit } from '../../database/credit/follow-credit';
import { readTimelineOfCharge } from '../../database/timeline/read-timeline';
import {
  listTransactions,
  readTransaction,
  readTransactions,
  type TransactionRecord,
  TRANSACTION_SORTS,
} from '../../database/ledger/list-transactions';
import { addDays, startOfDay } from '../../domain/calendar';
import type { Party } from '../../database/query/party';
import { bankTransactionIdFor, columnsFor, inMajorUnits } from '../../files/transaction-record';
import { ANYONE, BANK, BILLERS } from '../http/callers';
import { listAnswer } from '../http/list';
import type { QueryCall } from '../http/call';
import { rowsOf } from '../http/download';
import { section } from '../http/route';
import * as shown from '../http/response-fields';
import { belongingTo, timelineOf } from './timeline';
import { formatAsked, transactionShown, names } from './transaction-schema';
import { z } from 'zod';
import { EXCEPTION_KINDS } from '../../domain/books/reconciliation-exception';
import { TRANSACTION_STATUSES, TRANSACTION_TYPES } from '../../domain/lifecycle';
import {
  dayOrInstant,
  idFilter,
  instant,
  NAME_MAX,
  oneOf,
  pagination,
  textFor,
} from '../http/request-fields';
import { withMetadataPair } from '../http/metadata';
import { EXAMPLE_REFERENCE } from '../http/example';
import { CAUSES } from './reconciliation-exception';

const historyQuery = withMetadataPair({
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
  status: oneOf(TRANSACTION_STATUSES, 'Only transactions with this status').optional(),
  type: oneOf(TRANSACTION_TYPES, 'Only transactions of this type').optional(),
  customerId: idFilter('customer').optional(),
  merchantId: idFilter('merchant').optional(),
  reference: textFor('Only the transaction with this reference', NAME_MAX, EXAMPLE_REFERENCE).optional(),
  bankTransactionId: textFor(
    'For banks: only the transaction that the payer’s bank has given this id',
    NAME_MAX,
    'FT26081XK2',
  ).optional(),
  format: formatAsked,
  ...pagination(Object.keys(TRANSACTION_SORTS) as ['createdAt', 'amount']),
});

const detailsQuery = z.strictObject({
  reference: textFor(
    'Reference of a charge, a refund, a refund return or a reversal, or its `transactionId`',
    NAME_MAX,
    EXAMPLE_REFERENCE,
  ),
});

const related = z
  .strictObject({
    type: oneOf(TRANSACTION_TYPES, 'Type of the transaction', 'charge'),
    reference: shown.reference,
    status: shown.words('Its status', 'successful'),
    amount: shown.money('The amount'),
    currency: shown.currency,
  })
  .meta({ id: 'RelatedTransaction' });

const deliveryShown = z
  .strictObject({
    deliveryId: shown.id('delivery'),
    webhookType: shown.words('Type of the webhook', 'billing.response'),
    status: shown.words('Status of the delivery; `withdrawn` where it is not sent', 'delivered'),
    createdAt: shown.moment('When it was created'),
  })
  .meta({ id: 'DeliveryOfTransaction' });

const eventShown = z.strictObject({
  type: shown.words('Type of the event', 'billing_request.accepted'),
  at: shown.moment('When it happened'),
  cause: oneOf(CAUSES, 'Who caused it; `network` for a schedule, or a response window that ended'),
  declineReason: shown.seldom(z.string(), 'Why it was declined; only for a decline'),
  exceptionId: shown.seldom(
    shown.id('exception'),
    'Id of the reconciliation exception; only for events of type `exception.…`',
  ),
  kind: shown.seldom(
    z.enum(EXCEPTION_KINDS),
    'Kind of the reconciliation exception. `exception.updated`: a late answer to what was `unanswered`',
  ),
});

const timelineEntry = z.strictObject({
  at: shown.moment('When it happened, in real time'),
  what: oneOf(
    ['call', 'event', 'webhook', 'attempt', 'receipt', 'ledger', 'act'],
    'A call of the API, a transition, a webhook to you, an attempt at one, what is left of a forgotten one, an entry of the ledger, an act of an operator or of yours on your own settings',
  ),
  text: shown.words(
    'The same in words',
    'attempt 1 at billing.response dlv_… to mch_…: answered 200, after 12 ms',
  ),
});

const transactionWithEvents = transactionShown
  .extend({
    ...names,
    approvalRequired: shown.flag(
      'The charge is `pending` and waits for its customer’s approval, so that it can be cancelled',
      false,
    ),
    related: z.array(related).meta({
      description: 'The charge with its refunds, their returns, and its reversals',
    }),
    exceptionIds: z
      .array(shown.id('exception'))
      .meta({ description: 'Reconciliation exceptions about it, or about what is related', example: [] }),
    deliveries: z.array(deliveryShown).meta({
      description:
        'Webhooks about all of that to you, oldest first; for as long as webhooks are kept, 30 days by default',
    }),
    credit: shown.credit,
    events: z.array(eventShown).meta({ description: 'Oldest first; of more than 1 000 the latest' }),
    timeline: z.array(timelineEntry).meta({
      description:
        'All of it that is yours, also of what belongs to it (a charge, its refunds, reversals and exceptions), oldest first; of more than 1 000 the latest',
    }),
  })
  .meta({ id: 'TransactionWithEvents' });

/** The history of money, for each party its own. */

async function listHistory({ caller, query, prefersCsv, deps }: QueryCall<typeof historyQuery>) {
  const { format, page, limit, sortBy, sortOrder, settledFrom, settledTo, ...others } = query;
  const begin = momentIn(deps.config.NETWORK_TIMEZONE);
  const filter = { ...others, settledFrom: begin(settledFrom), settledTo: begin(settledTo, 1) };
  if (format === 'csv' || (format === undefined && prefersCsv)) {
    return {
      fileName: 'transactions.csv',
      columns: columnsFor(caller.role),
      pages: rowsOf(readTransactions(deps.db, caller, filter, { sortBy, sortOrder }), (record) =>
        shownTransaction(record, caller),
      ),
    };
  }
  const found = await listTransactions(deps.db, caller, filter, { page, limit, sortBy, sortOrder });
  return listAnswer(['transaction', 'transactions'], found, query, (record) =>
    shownTransaction(record, caller),
  );
}

/** @returns a function that takes a day as its beginning, or that of so many days after it */
export const momentIn =
  (timeZone: string) =>
  (given: string | Date | undefined, daysAfter = 0): Date | undefined =>
    typeof given === 'string' ? startOfDay(addDays(given, daysAfter), timeZone) : given;

async function showTransaction({ caller, query, deps }: QueryCall<typeof detailsQuery>) {
  const { transaction, events } = await readTransaction(deps.db, caller, query.reference);
  const { type, billingRequestId, payeeBankId } = transaction;
  const credit =
    type === 'charge' && payeeBankId !== null ? await readCredit(deps.db, billingRequestId) : undefined;
  const timeline = await readTimelineOfCharge(deps.db, billingRequestId);
  return {
    message: `The ${transaction.type} is ${transaction.status}`,
    data: {
      ...shownTransaction(transaction, caller),
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
export function shownTransaction<One extends TransactionRecord>(transaction: One, party: Party) {
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
      query: historyQuery,
      only: { 'query.bankTransactionId': BANK.roles, 'query.metadata': BILLERS.roles },
    },
    answers: {
      200: {
        description: '1 transaction',
        data: shown.pageOf('transactions', transactionShown),
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
    takes: { ...ANYONE, query: detailsQuery },
    answers: { 200: { description: 'The charge is successful', data: transactionWithEvents } },
    refusals: { not_found: 'You have no transaction with this reference' },
    handle: showTransaction,
  }),
];
