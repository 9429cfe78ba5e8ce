import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Config } from '../settings/config';
import { recordAuditEvent } from '../database/record/audit-event';
import {
  acceptBankFile,
  discardPages,
  readBankFile,
  type BankFile,
} from '../database/bank-file/receive-bank-file';
import type { Database } from '../database/pool/connection';
import { findEntity } from '../database/entity/create-entity';
import { minorUnitDigits } from '../domain/currency';
import { Failure, OperatorError } from '../domain/failures';
import { counted } from '../domain/words/counted';
import { stageBankFile, type CoveredDays } from '../files/bank-file/intake';
import { readPartyStatement } from '../files/party-statement';
import { workerProblems } from '../temporal/readiness';
import { requireBank } from './bank-files';
import { command, onEngine, unknownEntity, type Outcome } from './command';
import { anyRing } from './engine';
import { dayOption, monthOption, operator, reasonOption, type Explained } from './options';
import { factsOf, progress, tableOf, type Cell } from './output';

/**
 * `assent statement show`: what a party is shown. `match`: the operator hands in a bank's file, as
 * the bank itself would, and the same workflow matches it.
 */

const POLL_MS = 500;
/** Longest that it is waited for while nothing moves. The workflow goes on all the same. */
const STANDS_STILL_MS = 120_000;

interface Given extends Explained, CoveredDays {
  bank: string;
}

export function fill(statements: Command): void {
  command(statements, 'match', 'compare a file with what the network has, and open what differs')
    .argument('<file>', 'CSV or camt.053')
    .requiredOption('--bank <id>', 'whose file it is')
    .addOption(dayOption('--from <date>', 'first file: what settled is expected from here on'))
    .addOption(dayOption('--through <date>', 'the file covers all currencies up to this day'))
    .addOption(reasonOption())
    .action(
      onEngine(async (db, config, file: string, given: Given) => {
        await requireBank(db, given.bank);
        const statement = await followed(db, await handIn(db, config, file, given));
        if (statement.status === 'failed') process.exitCode = 1;
        return outcome(statement);
      }, anyRing),
    );

  command(statements, 'show', 'a party’s statement, as it reads it by API')
    .requiredOption('--entity <id>', 'the bank, merchant or provider')
    .addOption(dayOption('--date <day>', 'a settlement day'))
    .addOption(monthOption())
    .option('--currency <code>', 'left out, the first of ACCEPTED_CURRENCIES')
    .action(
      onEngine(
        async (
          db,
          config,
          asked: { entity: string } & Partial<Record<'date' | 'month' | 'currency', string>>,
        ) => {
          const { entity: entityId, date, month, currency } = asked;
          const period = date ?? month;
          if (period === undefined || (date !== undefined && month !== undefined))
            throw new OperatorError('say either --date or --month');
          const party = await findEntity(db, entityId);
          if (!party) throw unknownEntity();
          const data = await readPartyStatement(
            { db, config, log: { warn: (_, said) => process.stderr.write(`${said}\n`) } },
            { entityId, role: party.type },
            period,
            currency,
          );
          return { json: data, text: statementInWords(data) };
        },
        anyRing,
      ),
    );
}

/** Without the movements and days that change nothing. */
function statementInWords(shown: Awaited<ReturnType<typeof readPartyStatement>>): string {
  const { days = [], exact, closingBalance, sha256, ...data } = shown;
  const { currency, openingBalance } = data;
  const digits = { minimumFractionDigits: minorUnitDigits(currency) ?? 0 };
  const money = (amount: number) => `${currency} ${amount.toLocaleString('en-US', digits)}`;
  const inOrder = { ...data, closingBalance, sha256 };
  const facts = Object.entries(inOrder).flatMap(([name, value]): [string, Cell][] => {
    const words = name.replaceAll(/[A-Z]/g, (capital) => ` ${capital.toLowerCase()}`);
    if (typeof value === 'object' && value !== null)
      return value.count > 0 ? [[words, `${value.count}, ${money(value.amount)}`]] : [];
    return [[words, typeof value === 'number' && name.endsWith('Balance') ? money(value) : value]];
  });
  const moved = days.filter(
    (day, n) => day.closingBalance !== (days[n - 1]?.closingBalance ?? openingBalance),
  );
  const rows = moved.map((day) => [
    day.date,
    money(day.closingBalance),
    day.final ? 'final' : 'not final yet',
  ]);
  return [
    factsOf(facts),
    ...(exact ? [`exactly: ${JSON.stringify(exact)}`] : []),
    ...(rows.length > 0 ? [tableOf(['day', 'closes with', ''], rows)] : []),
  ].join('\n');
}

/** @returns the statement's id; that of an earlier one where it is the same file */
async function handIn(db: Database, config: Config, file: string, given: Given): Promise<string> {
  const by = operator(given);
  const { size } = await stat(file).catch((cause: unknown) => {
    throw new OperatorError(`${file} cannot be read`, { cause });
  });
  const { STATEMENT_LINES_PER_DAY: limit } = config;
  const { bank: bankId } = given;
  const bytes = readWith(file, size);
  try {
    const type = 'application/octet-stream';
    const arrived = await stageBankFile(db, limit, { ...given, bankId, type, bytes });
    const accepted = db.transaction(async (trx) => {
      const { isNew, statementId } = await acceptBankFile(trx, bankId, arrived, limit);
      const after = { statementId, lines: arrived.lines };
      if (isNew) await recordAuditEvent(trx, by, { action: 'statement.handed_in', entityId: bankId, after });
      return statementId;
    });
    const statementId = await accepted;
    // The pages of a file that was handed in before; after a refusal the sweep has them.
    await discardPages(db, arrived.statementId);
    return statementId;
  } catch (error) {
    if (error instanceof Failure) throw new OperatorError(`${file}: ${error.message}`, { cause: error });
    throw error;
  }
}

async function* readWith(file: string, size: number): AsyncGenerator<Buffer, void, void> {
  let read = 0;
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    read += chunk.length;
    progress.part(read, size, 'of the file read');
    yield chunk;
  }
}

/** Waits until the workflow has done it. @throws OperatorError where it does not go on */
async function followed(db: Database, statementId: string): Promise<BankFile> {
  let before = '';
  let deadline = performance.now() + STANDS_STILL_MS;
  for (;;) {
    const statement = await readBankFile(db, statementId);
    const { status, done, summary } = statement;
    if (status !== 'processing') return statement;
    const now = JSON.stringify(summary);
    if (now !== before) deadline = performance.now() + STANDS_STILL_MS;
    before = now;
    progress.part(done, summary.lines, `${done} of ${counted(summary.lines, 'lines')} matched`);
    if (performance.now() > deadline) {
      const goesOn = `${statementId} does not go on; it will by itself, and this command may be run again.`;
      const problems = (await workerProblems(db)).map(({ message }) => message);
      throw new OperatorError([goesOn, ...problems].join(' '));
    }
    await wait(POLL_MS);
  }
}

const FOUND = {
  matched: 'matched',
  pending: 'pending',
  duplicates: 'twice in the file',
  unknownHere: 'unknown here',
  amountDiffers: 'with another amount',
  malformed: 'malformed',
  missingAtBank: 'missing at the bank',
} as const;

function outcome({ statementId, status, summary }: BankFile): Outcome {
  const found = Object.entries(FOUND) as [keyof typeof FOUND, string][];
  const parts = found.flatMap(([name, words]) => (summary[name] > 0 ? `${summary[name]} ${words}` : []));
  const text = [
    `${statementId} is ${status}: ${[counted(summary.lines, 'lines'), ...parts].join(', ')}.`,
    `Differences, if any: assent bank-files differences ${statementId}, assent exceptions list.`,
  ];
  const differencesUrl = `/v1/bank/statements/${statementId}/differences.csv`;
  return { json: { statementId, status, summary, differencesUrl }, text: text.join('\n') };
}
