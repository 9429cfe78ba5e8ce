import type { Command } from 'commander';
import { setExpectationsBegin } from '../database/bank-file/begin-expectations';
import { listBankFiles, readReached } from '../database/bank-file/list-bank-files';
import { readBankFile } from '../database/bank-file/receive-bank-file';
import { bookingsWithoutLine } from '../database/bank-file/unreached-bookings';
import { forgottenFiles, withdrawBankFile } from '../database/bank-file/withdraw-bank-file';
import { findEntity, listEntities, type Entity } from '../database/entity/create-entity';
import type { Database } from '../database/pool/connection';
import { OperatorError } from '../domain/failures';
import { inMoney } from '../domain/money';
import { counted } from '../domain/words/counted';
import { differencesFile } from '../files/bank-file/differences-file';
import { eachChunk } from '../files/write-csv';
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
        const found = bank === undefined ? await listEntities(db) : [await requireBank(db, bank)];
        const banks: Bank[] = [];
        for (const one of found) if (one.type === 'bank') banks.push(await readBank(db, one));
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
        await eachChunk(file, (chunk) => write(chunk.toString()));
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
        const toSendAgain = await forgottenFiles(db, statementId);
        const hint =
          `. Of lines of the same days that ${toSendAgain.join(', ')} may have too, nothing is known any more: ` +
          'withdraw it as well, and have the bank send it again';
        return {
          json: { statementId, status: 'withdrawn', toSendAgain },
          text: `${statementId} is withdrawn${toSendAgain.length > 0 ? hint : ''}`,
        };
      }),
    );
}

export async function requireBank(db: Database, bankId: string): Promise<Entity> {
  const bank = await findEntity(db, bankId);
  if (bank?.type !== 'bank') throw new OperatorError(`${bankId} is no bank. See "assent entity list".`);
  return bank;
}

async function readBank(db: Database, { entityId: bankId, name }: Entity) {
  return {
    bankId,
    name,
    reached: await readReached(db, bankId),
    withoutLine: await bookingsWithoutLine(db, bankId),
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
