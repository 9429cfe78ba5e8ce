import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { AGES, bookingsWithoutLine, type WithoutLine } from '../database/bank-file/age-bookings';
import { listBankFiles, readReached } from '../database/bank-file/list-bank-files';
import { readBankFile } from '../database/bank-file/receive-bank-file';
import { bankIds } from '../database/bank-file/unreached-bookings';
import { entityNames, findEntity } from '../database/entity/create-entity';
import type { Database } from '../database/pool/connection';
import { OperatorError } from '../domain/failures';
import { inMoney, shownSum } from '../domain/money';
import { differencesFile } from '../files/bank-file/differences-file';
import { csvOf, recordsOf, type CsvFile } from '../files/write-csv';
import { command, onEngine, type Outcome } from './command';
import { anyRing } from './engine';
import { tableOf, write } from './output';

/** `assent bank-files`: what banks have sent of what they booked, and what is in none of it. */

/** Files of a bank: some months of daily files. */
const NEWEST = { page: 1, limit: 100, sortBy: 'createdAt', sortOrder: 'desc' } as const;

export function fill(files: Command): void {
  command(files, 'list', 'files of banks, newest first, days reached, and bookings without a line by age')
    .option('--bank <id>', 'only those of this bank')
    .action(
      onEngine(async (db, _config, { bank = null }: { bank?: string | null }) => {
        if (bank !== null) await requireBank(db, bank);
        const banks = await readBanks(db, bank);
        return {
          json: {
            banks: banks.map(shown),
            files: banks.flatMap(({ files: all }) => all),
          },
          text: banks.flatMap(bankInWords).join('\n'),
        };
      }, anyRing),
    );

  command(files, 'differences', 'each line of a file that differs, as its bank reads it by API: CSV')
    .argument('<statementId>')
    .action(
      onEngine(async (db, _config, statementId: string, { json = false }: { json?: boolean }) => {
        const differences = differencesFile(db, await readBankFile(db, statementId));
        return json ? collected(statementId, differences) : printed(differences);
      }, anyRing),
    );
}

/** Kept differences are bounded, so they fit the memory. */
async function collected(statementId: string, { pages }: CsvFile): Promise<Outcome> {
  const differences = [];
  for await (const page of pages) differences.push(...page);
  return { json: { statementId, differences }, text: '' };
}

function printed(file: CsvFile): Promise<void> {
  return pipeline(
    Readable.from(recordsOf(file.pages)),
    csvOf(file),
    async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) await write(chunk.toString());
    },
  );
}

async function requireBank(db: Database, bankId: string): Promise<void> {
  if ((await findEntity(db, bankId))?.type !== 'bank')
    throw new OperatorError(`${bankId} is no bank. See "assent entity list".`);
}

type File = Awaited<ReturnType<typeof listBankFiles>>['items'][number];

interface Bank {
  bankId: string;
  name: string;
  /** The last day that its files reach, by currency. */
  reached: Record<string, string>;
  withoutLine: WithoutLine[];
  /** The newest, newest first. */
  files: File[];
}

/** How far the files of each bank reach, and what is in none of them. */
async function readBanks(db: Database, bankId: string | null): Promise<Bank[]> {
  const ids = bankId === null ? await bankIds(db) : [bankId];
  const names = await entityNames(db, ids);
  const banks: Bank[] = [];
  for (const id of ids) {
    banks.push({
      bankId: id,
      name: names.get(id) ?? '',
      reached: Object.fromEntries(await readReached(db, id)),
      withoutLine: await bookingsWithoutLine(db, id),
      files: (await listBankFiles(db, id, NEWEST)).items,
    });
  }
  return banks;
}

const shown = ({ bankId, name, reached, withoutLine }: Bank) => ({
  bankId,
  name,
  reached,
  withoutLine: withoutLine.map(({ age, amount, ...one }) => ({
    olderThanDays: AGES[age - 1] ?? 0,
    ...one,
    ...shownSum(BigInt(amount), one.currency),
  })),
});

/** An age in words, by its place in `AGES`. */
function ageInWords(age: number): string {
  const [more, most] = [AGES[age - 1], AGES[age]];
  if (more === undefined) return `up to ${most} days`;
  return most === undefined ? `more than ${more} days` : `${more + 1} to ${most} days`;
}

function bankInWords({ bankId, name, reached, withoutLine, files }: Bank): string[] {
  const days = Object.entries(reached).map(([currency, day]) => `${currency} ${day}`);
  const reach = days.length > 0 ? `its files reach ${days.join(', ')}` : 'its files reach no day';
  const said = files.length > 0 ? reach : 'it has sent no file';
  const listed = files.length > 0 ? [filesTable(files)] : [];
  if (withoutLine.length === 0)
    return [`${name} (${bankId}): ${said}, and no booking lacks its line.`, ...listed];
  const rows = withoutLine.map((one) => [
    ageInWords(one.age),
    one.bookings,
    inMoney({ ...one, amount: BigInt(one.amount) }),
    one.since,
  ]);
  const head = ['settled ago', 'bookings without a line', 'sum', 'the oldest'];
  return [`${name} (${bankId}): ${said}.`, tableOf(head, rows), ...listed];
}

function filesTable(files: File[]): string {
  const head = ['file', 'status\nsent', 'from\nthrough', 'lines', 'matched', 'differ', 'missing'];
  const table = files.map(({ statementId, status, createdAt, from, through, summary }) => [
    statementId,
    `${status}\n${createdAt.toISOString().slice(0, 10)}`,
    `${from ?? ''}\n${through ?? ''}`,
    summary.lines,
    summary.matched,
    summary.unknownHere + summary.amountDiffers + summary.duplicates + summary.malformed,
    summary.missingAtBank,
  ]);
  return tableOf(head, table);
}
