import { unreachedThrough } from '../database/bank-file/unreached-bookings';
import { entityNames } from '../database/entity/create-entity';
import { readMonthTotals, type MonthTotal } from '../database/ledger/read-month-totals';
import type { Database } from '../database/pool/connection';
import { sumUnresolved } from '../database/reconciliation-exception/sum-unresolved';
import { readLastResult } from '../database/verify/nightly-result';
import { lastOfMonth } from '../domain/calendar';
import { groupBy } from '../domain/group';
import { inMoney, shownSum } from '../domain/money';
import type { Outcome } from './command';
import { atLeast, booksInWords } from './status';
import { firstDayOf } from './options';
import { shortName, tableOf } from './output';

/** The page of a closed month: what moved, and what is still open beside it. */

const KINDS = {
  charge: 'charges',
  refund: 'refunds',
  refund_return: 'refundReturns',
  reversal: 'reversals',
  credit: 'credits',
  write_off: 'writeOffs',
  write_off_return: 'writeOffReturns',
} as const satisfies Record<MonthTotal['kind'], string>;

export async function readMonthPage(db: Database, month: string): Promise<Outcome> {
  const totals = await readMonthTotals(db, firstDayOf(month));
  const exceptions = await sumUnresolved(db);
  const unreached = await unreachedThrough(db, lastOfMonth(month));
  const { differences, verifiedAt, ...books } = await readLastResult(db);
  const names = await entityNames(db, [...new Set(unreached.map(({ bankId }) => bankId))]);
  const bookings = unreached.map(({ amount, ...one }) => ({ ...one, amount: BigInt(amount) }));
  return {
    json: {
      totals: [...groupBy(totals, ({ currency }) => currency)].map(([currency, all]) => ({
        currency,
        ...movementsOf(all),
      })),
      exceptionsOpen: exceptions.map(({ amount, ...one }) => ({ ...one, ...shownSum(amount, one.currency) })),
      bookingsUnreached: bookings.map(({ amount, ...one }) => ({
        ...one,
        name: names.get(one.bankId) ?? '',
        ...shownSum(amount, one.currency),
      })),
      books: { differences, verifiedAt: differences === null ? null : verifiedAt },
    },
    text: [
      tableOf(
        ['in the month', 'count', 'sum'],
        totals.map((one) => [KINDS[one.kind], one.count, inMoney(one)]),
      ),
      tableOf(
        ['open exceptions', 'count', 'sum'],
        exceptions.map((one) => [one.kind, one.count, inMoney(one)]),
      ),
      tableOf(
        ['not reached by files', 'reached', 'count', 'sum'],
        bookings.map((one) => [
          `${shortName(names.get(one.bankId) ?? '')}\n${one.bankId}`,
          one.reached ?? 'no file',
          `${atLeast(one, one.bookings)}`,
          inMoney(one),
        ]),
      ),
      `Books: ${booksInWords({ differences, verifiedAt, ...books })}`,
    ].join('\n'),
  };
}

/** By kind: how many, and their sum. */
function movementsOf(all: MonthTotal[]) {
  return Object.fromEntries(
    Object.entries(KINDS).map(([kind, name]) => {
      const { count = 0, amount = 0n, currency = '' } = all.find((one) => one.kind === kind) ?? {};
      return [name, { count, ...(count > 0 ? shownSum(amount, currency) : { amount: 0 }) }];
    }),
  );
}
