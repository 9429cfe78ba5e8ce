import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { AGES, bookingsWithoutLine } from '../database/bank-file/age-bookings';
import { setExpectationsBegin } from '../database/bank-file/begin-expectations';
import { listBankFiles, readReached } from '../database/bank-file/list-bank-files';
import { readBankFile } from '../database/bank-file/receive-bank-file';
import { bankIds } from '../database/bank-file/unreached-bookings';
import { withdrawBankFile } from '../database/bank-file/withdraw-bank-file';
import { entityNames, findEntity } from '../database/entity/create-entity';
import type { Database } from '../database/pool/connection';
import { OperatorError } from '../domain/failures';
import { inMoney } from '../domain/money';
import { counted } from '../domain/words/counted';
import { differencesFile } from '../files/bank-file/differences-file';
import { csvOf, recordsOf } from '../files/write-csv';
import { command, onEngine } from './command';
import { anyRing } from './engine';
import { dayArgument, operator, reasonOption, type Explained } from './options';
import { progress, tableOf, withSum, write } from './output';

/** `assent bank-files`: what banks have sent of what they booked, and what is in none of it. */

/** Files of a bank: some months of daily files. */
const NEWEST = { page: 1, limit: 100, sortBy: 'createdAt', sortOrder: 'desc' } as const;

export function fill(files: Command): void {
  command(files, 'list', 'files of banks, newest first, days reached, and bookings without a line by age')
    .option('--bank <id>', 'only those of this bank')
    .action(
      onEngine(async (db, _config, { bank }: { bank?: string }) => {
        if (bank !== undefined) await requireBank(db, bank);
        const ids = bank === undefined ? await bankIds(db) : [bank];
        const names = await entityNames(db, ids);
        const banks: Bank[] = [];
        for (const id of ids) banks.push(await readBank(db, id, names.get(id) ?? ''));
        const json = banks.map((one) => ({ ...one, withoutLine: one.withoutLine.map(withSum) }));
        return { json: { banks: json }, text: banks.map(inWords).join('\n') };
      }, anyRing),
    );

  files
    .command('differences')
    .description('each line of a file that differs, as its bank reads it by API: CSV')
    .argument('<statementId>')
    .action(
      onEngine(async (db, _config, statementId: string) => {
        const file = differencesFile(db, await readBankFile(db, statementId));
        await pipeline(Readable.from(recordsOf(file.pages)), csvOf(file), printed);
      }, anyRing),
    );

  command(files, 'from', 'from which day on bookings are expected in a bank’s files')
    .argument('<bankId>')
    .addArgument(dayArgument())
    .addOption(reasonOption().makeOptionMandatory())
    .action(
      onEngine(async (db, _config, bankId: string, from: string, options: Explained) => {
        await requireBank(db, bankId);
        await db.transaction((trx) => setExpectationsBegin(trx, operator(options), bankId, from));
        return {
          json: { bankId, from },
          text: `Bookings of ${bankId} are expected in its files from ${from} on; nothing before is missing`,
        };
      }, anyRing),
    );

  command(files, 'withdraw', 'a wrong file: it counts no more, and the exceptions that it alone made end')
    .argument('<statementId>')
    .addOption(reasonOption().makeOptionMandatory())
    .action(
      onEngine(async (db, _config, statementId: string, options: Explained) => {
        progress.say(`${statementId} is withdrawn`);
        await withdrawBankFile(db, operator(options), statementId);
        return { json: { statementId, status: 'withdrawn' }, text: `${statementId} is withdrawn` };
      }),
    );
}

async function printed(chunks: AsyncIterable<Buffer>): Promise<void> {
  for await (const chunk of chunks) await write(chunk.toString());
}

/** @throws OperatorError where it is none */
export async function requireBank(db: Database, bankId: string): Promise<void> {
  if ((await findEntity(db, bankId))?.type !== 'bank')
    throw new OperatorError(`${bankId} is no bank. See "assent entity list".`);
}

/** How far the files of a bank reach, and what is in none of them. */
async function readBank(db: Database, bankId: string, name: string) {
  return {
    bankId,
    name,
    /** The last day that its files reach, by currency. */
    reached: Object.fromEntries(await readReached(db, bankId)),
    withoutLine: (await bookingsWithoutLine(db, bankId)).map(({ age, ...one }) => ({
      olderThanDays: AGES[age - 1] ?? 0,
      ...one,
    })),
    files: (await listBankFiles(db, bankId, NEWEST)).items,
  };
}

type Bank = Awaited<ReturnType<typeof readBank>>;

function inWords({ bankId, name, reached, withoutLine, files }: Bank): string {
  const days = Object.entries(reached).map(([currency, day]) => `${currency} ${day}`);
  const reach = days.length > 0 ? `its files reach ${days.join(', ')}` : 'its files reach no day';
  const said = files.length > 0 ? reach : 'it has sent no file';
  const lacks = withoutLine.map((one) => {
    const age = one.olderThanDays > 0 ? ` more than ${one.olderThanDays} days ago` : '';
    return `In no file: ${counted(one.bookings, 'bookings')}, ${inMoney(one)}, settled${age}, the oldest on ${one.since}.`;
  });
  return [
    `${name} (${bankId}): ${said}${lacks.length > 0 ? '.' : ', and no booking lacks its line.'}`,
    ...lacks,
    ...(files.length > 0 ? [filesTable(files)] : []),
  ].join('\n');
}

function filesTable(files: Bank['files']): string {
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
