import { DIFFERENCE_COLUMNS, readDifferences } from '../../database/bank-file/open-differences';
import type { BankFile } from '../../database/bank-file/receive-bank-file';
import type { Executor } from '../../database/pool/connection';
import { formatIfAny } from '../../domain/money';
import { counted } from '../../domain/words/counted';
import type { CsvFile } from '../write-csv';

/** Each line of a bank's file that differs, and what it lacks; the last says what was not kept. */
export const differencesFile = (db: Executor, file: BankFile): CsvFile => ({
  columns: DIFFERENCE_COLUMNS,
  pages: shownPages(db, file),
});

async function* shownPages(
  db: Executor,
  { statementId, summary: { notKept } }: BankFile,
): AsyncGenerator<object[], void, void> {
  for await (const page of readDifferences(db, statementId)) {
    yield page.map((one) => ({
      ...one,
      amount: formatIfAny(one.amount, one.currency),
      networkAmount: formatIfAny(one.networkAmount, one.networkCurrency),
    }));
  }
  if (notKept > 0) yield [{ problem: `counted and not kept: ${counted(notKept, 'differences')}` }];
}
