import { unreachedThrough } from '../database/bank-file/unreached-bookings';
import { readMonthTotals } from '../database/ledger/read-month-totals';
import type { Database } from '../database/pool/connection';
import { sumUnresolved } from '../database/reconciliation-exception/sum-unresolved';
import { readLastResult } from '../database/verify/nightly-result';
import { firstOfMonth, lastOfMonth } from '../domain/calendar';
import { inMoney } from '../domain/money';
import type { Outcome } from './command';
import { atLeast, booksInWords } from './status';
import { partyCell, tableOf, withSum } from './output';

/** The page of a closed month: what moved, and what is still open beside it. */
export async function readMonthPage(db: Database, month: string): Promise<Outcome> {
  const totals = await readMonthTotals(db, firstOfMonth(month));
  const exceptions = await sumUnresolved(db);
  const unreached = await unreachedThrough(db, lastOfMonth(month));
  const books = await readLastResult(db);
  const { differences, verifiedAt } = books;
  const rows = [
    ...totals.map((one) => [`${one.kind.replaceAll('_', ' ')}s`, one.count, inMoney(one)]),
    ...exceptions.map((one) => [`open exceptions now: ${one.kind}`, one.count, inMoney(one)]),
    ...unreached.map((one) => [
      `settled and not reached by files of\n${partyCell(one.name, one.bankId)}`,
      atLeast(one, one.bookings),
      `${inMoney(one)}\nreached: ${one.reached ?? 'no day'}`,
    ]),
  ];
  return {
    json: {
      totals: totals.map(withSum),
      exceptionsOpen: exceptions.map(withSum),
      bookingsUnreached: unreached.map(withSum),
      books: { differences, verifiedAt: differences === null ? null : verifiedAt },
    },
    text: `${tableOf(['in the month', 'count', 'sum'], rows)}\nBooks: ${booksInWords(books)}`,
  };
}
