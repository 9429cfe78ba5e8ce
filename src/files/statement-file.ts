import { createHash } from 'node:crypto';
import type { Executor } from '../database/pool/connection';
import { readLines, type StatementOf } from '../database/ledger/read-statement';
import { sumInFull } from '../domain/money';
import { eachChunk, type CsvFile } from './write-csv';
import { bankTransactionIdFor, columnsFor, inMajorUnits } from './transaction-record';

/** The SHA-256 of the statement's file, in hexadecimal. In memory is a page of it. */
export async function digestOf(db: Executor, of: StatementOf): Promise<string> {
  const hash = createHash('sha256');
  await eachChunk(statementFile(db, of), (chunk) => hash.update(chunk));
  return hash.digest('hex');
}

/** The lines of the statement, and a last one with how many they are and their sum. */
export function statementFile(db: Executor, of: StatementOf): CsvFile {
  return { columns: columnsFor(of.party.role), pages: pagesOf(db, of) };
}

async function* pagesOf(db: Executor, of: StatementOf): AsyncGenerator<object[], void, void> {
  let count = 0;
  let sum = 0n;
  for await (const page of readLines(db, of)) {
    count += page.length;
    sum += page.reduce((total, { amount }) => total + amount, 0n);
    yield page.map((line) => ({
      ...line,
      bankTransactionId: bankTransactionIdFor(of.party, line),
      ...inMajorUnits(line),
    }));
  }
  // In the first three columns, under any name.
  const [label, counted, summed] = columnsFor(of.party.role);
  yield [{ [label]: 'total', [counted]: String(count), [summed]: sumInFull(sum, of.currency) }];
}
