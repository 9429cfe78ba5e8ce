import type { z } from 'zod';
import {
  searchTransactions,
  type FoundTransaction,
  type Place,
  type TransactionSearch,
} from '../../database/ledger/search-transactions';
import { totalTransactions } from '../../database/ledger/total-transactions';
import { inDecimals, parseAmount, shownSum } from '../../domain/money';
import { bankTransactionIdFor } from '../../files/transaction-record';
import type { Role } from '../../domain/entity';
import { ANYONE, BANK } from '../http/callers';
import type { BodyCall, Call } from '../http/call';
import type { ApiDeps } from '../http/deps';
import { section } from '../http/route';
import { invalidRequest } from '../http/validation';
import { momentIn, shownTransaction } from './transaction';
import * as schema from './transaction-search-schema';

/**
 * Searches for payments. The text stands in the body: it may be a person's name, and addresses are
 * kept in logs.
 */

type Filter = z.output<typeof schema.totalsBody>;
type SearchCall = BodyCall<typeof schema.searchBody>;

/** Rows of a file that are in memory at once. */
const FILE_PAGE = 1_000;

function searchOf(
  { amountFrom, amountTo, search: text, ...filter }: Filter,
  { NETWORK_TIMEZONE, ACCEPTED_CURRENCIES: currencies }: ApiDeps['config'],
): TransactionSearch {
  const begin = momentIn(NETWORK_TIMEZONE);
  const minor = (path: string, major: number | undefined) => {
    if (major === undefined) return undefined;
    const { currency } = filter;
    if (currency === undefined) throw invalidRequest([{ path, message: 'needs a currency' }]);
    const parsed = parseAmount(major, currency);
    if (!parsed.ok) throw invalidRequest([{ path, message: parsed.reason }]);
    return parsed.value;
  };
  return {
    ...filter,
    from: begin(filter.from),
    to: begin(filter.to, 1),
    settledFrom: begin(filter.settledFrom),
    settledTo: begin(filter.settledTo, 1),
    closedFrom: begin(filter.closedFrom),
    closedTo: begin(filter.closedTo, 1),
    amountFrom: minor('amountFrom', amountFrom),
    amountTo: minor('amountTo', amountTo),
    search: text === undefined ? undefined : { text, currencies },
  };
}

async function search({ caller, body, prefersCsv, deps }: SearchCall) {
  const { format, cursor, limit, ...given } = body;
  const filter = searchOf(given, deps.config);
  const page = (place: Place | undefined, most: number) =>
    searchTransactions(deps.db, caller, filter, { place, most });
  if (format === 'csv' || (format === undefined && prefersCsv)) {
    return {
      fileName: 'payments.csv',
      columns: COLUMNS[caller.role],
      numbers: ['amount', 'moved'],
      timeZone: deps.config.NETWORK_TIMEZONE,
      pages: fileOf(page, (one) => lineOf(one, caller)),
    };
  }
  const { items, next } = await page(cursor, limit);
  return {
    message: `${items.length} ${items.length === 1 ? 'transaction' : 'transactions'}`,
    data: {
      transactions: items.map((one) => found(one, caller)),
      next: next === undefined ? null : written(next),
    },
  };
}

const written = ({ rest, micros = '', id }: Place) =>
  `${rest ? 'r' : ''}${micros}${id === undefined ? '' : `.${id}`}`;

function found(one: FoundTransaction, caller: SearchCall['caller']) {
  const { sign: _, moved: __, ...record } = one;
  return shownTransaction(record, caller);
}

const COMMON = [
  'reference',
  'type',
  'status',
  'amount',
  'moved',
  'currency',
  'createdAt',
  'closedAt',
  'settledAt',
  'description',
  'declineReason',
  'merchantName',
  'bankName',
] as const;
const IDS = [
  'transactionId',
  'billingRequestId',
  'scheduleId',
  'customerId',
  'merchantId',
  'bankId',
] as const;
const MERCHANTS = [...COMMON, ...IDS, 'metadata'] as const;

const COLUMNS: Record<Role, readonly string[]> = {
  merchant: MERCHANTS,
  provider: MERCHANTS,
  bank: [...COMMON, 'customerName', 'payeeName', ...IDS, 'bankTransactionId', 'payeeBankId'],
};

async function* fileOf(
  page: (place: Place | undefined, most: number) => ReturnType<typeof searchTransactions>,
  line: (one: FoundTransaction) => object,
) {
  for (let place: Place | undefined; ;) {
    const { items, next } = await page(place, FILE_PAGE);
    yield items.map(line);
    if (next === undefined) return;
    place = next;
  }
}

/** Amounts have the sign by which they change, or would change, what the network owes the party. */
function lineOf(one: FoundTransaction, party: SearchCall['caller']) {
  const { currency } = one;
  return {
    ...one,
    bankTransactionId: bankTransactionIdFor(party, one),
    amount: inDecimals(BigInt(one.sign) * one.amount, currency),
    moved: inDecimals(one.moved, currency),
  };
}

async function showTotals({ caller, body, deps }: Call<Filter>) {
  const { totals, more } = await totalTransactions(deps.db, caller, searchOf(body, deps.config));
  const count = totals.reduce((sum, one) => sum + one.count, 0);
  const moved = new Map<string, bigint>();
  for (const one of totals) moved.set(one.currency, (moved.get(one.currency) ?? 0n) + one.moved);
  return {
    message: `${more ? 'At least ' : ''}${count} ${count === 1 ? 'transaction' : 'transactions'}`,
    data: {
      count,
      ...(more && { countIsMinimum: true as const }),
      moved: [...moved].map(([currency, sum]) => ({ currency, ...shownSum(sum, currency) })),
      totals: totals.map(({ currency, type, status, count: many, amount }) => ({
        currency,
        type,
        status,
        count: many,
        ...shownSum(amount, currency),
      })),
    },
  };
}

const route = section('Transactions');

export const transactionSearchRoutes = [
  route('post', '/v1/transaction-history/search', {
    id: 'searchTransactions',
    summary: 'Search transactions',
    description:
      'Your charges, refunds, refund returns and reversals that match all that is given, the latest first, with names. Follow `next` to the end, however long the history is. With `format: csv` or the header `Accept: text/csv` the answer is a CSV file of all that match: amounts with the sign by which they change what the network owes you and the decimals of their currency, times in the network’s zone. Its column `moved` adds up to `moved` of the totals. The filter stands in the body, because a name must be in no address.',
    takes: { ...ANYONE, scope: 'read', body: schema.searchBody, only: { side: BANK.roles } },
    answers: { 200: { description: '1 transaction', data: schema.found, csv: 'offered' } },
    handle: search,
  }),
  route('post', '/v1/transaction-history/totals', {
    id: 'totalTransactions',
    summary: 'Add up transactions',
    description: 'Counts and sums of what a search with the same filter finds.',
    takes: { ...ANYONE, scope: 'read', body: schema.totalsBody, only: { side: BANK.roles } },
    answers: { 200: { description: '2 transactions', data: schema.totals } },
    handle: showTotals,
  }),
];
