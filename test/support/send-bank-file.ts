import { acceptBankFile } from '../../src/database/bank-file/receive-bank-file';
import type { Database } from '../../src/database/pool/connection';
import { stageBankFile, type CoveredDays } from '../../src/files/bank-file/intake';
import { readConfig } from '../../src/settings/config';
import { workOnFile } from './bank-file';

const { STATEMENT_LINES_PER_DAY: limit } = readConfig({});

/**
 * A bank's CSV file, matched as its workflow does.
 *
 * @param lines without the header
 * @returns its id
 */
export async function sendBankFile(
  db: Database,
  bankId: string,
  lines: string[],
  days: CoveredDays = {},
): Promise<string> {
  const file = ['bankTransactionId,bookingDate,amount,currency,direction', ...lines, ''].join('\n');
  async function* bytes() {
    yield await Promise.resolve(Buffer.from(file));
  }
  const given = { ...days, bankId, type: 'text/csv' as const, bytes: bytes() };
  const arrived = await stageBankFile(db, limit, given);
  const { statementId } = await db.transaction((trx) => acceptBankFile(trx, bankId, arrived, limit));
  await workOnFile(db, statementId);
  return statementId;
}
