import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { InvalidArgumentError, Option, type Command } from 'commander';
import {
  coveredDays,
  FORMATS,
  linesLimit,
  stageStatement,
  startStatement,
  type StatementType,
} from '../api/bank-statement/intake';
import type { Config } from '../config';
import { recordAct } from '../database/audit';
import { discardPages, statementProgress, type Statement } from '../database/bank-statement/statement';
import type { Database } from '../database/connection';
import { findEntity } from '../database/entity/entity';
import { parseDay } from '../domain/calendar';
import { counted } from '../domain/words/counted';
import { Failure } from '../domain/failures';
import { workerProblems } from '../temporal/readiness';
import { command, CommandError, onEngine, type Outcome } from './command';
import { anyRing } from './engine';
import { operator, reasonOption, type Explained } from './operator';
import { progress } from './progress';

/**
 * `assent statement match`: the operator hands in a bank's file, as the bank itself would. The same
 * workflow matches it.
 */

const POLL_MS = 500;
/** Longest that it is waited for while nothing moves. The workflow goes on all the same. */
const STANDS_STILL_MS = 120_000;

interface Given extends Explained {
  bank: string;
  type?: StatementType;
  from?: string | undefined;
  through?: string | undefined;
}

/** What is told of it, with the differences where the API serves them. */
type Result = Pick<Statement, 'status' | 'summary'> & { statementId: string; differencesUrl: string };

export function addStatementCommands(program: Command): void {
  const statements = program.command('statement').description('what banks say that they booked');
  command(statements, 'match', 'compare a file with what the network has, and open what differs')
    .argument('<file>', 'CSV, or camt.053 where its name ends in .xml')
    .requiredOption('--bank <id>', 'whose file it is')
    .addOption(new Option('--type <type>', 'in place of what its name says').choices(Object.keys(FORMATS)))
    .addOption(
      new Option('--from <date>', 'first file: what settled is expected from here on').argParser(aDay),
    )
    .addOption(
      new Option('--through <date>', 'the file covers all currencies up to this day').argParser(aDay),
    )
    .addOption(reasonOption())
    .action(
      onEngine(async ({ db }, config, file: string, { bank, type, from, through, ...explained }: Given) => {
        const by = operator(explained);
        if ((await findEntity(db, bank))?.type !== 'bank') {
          throw new CommandError(`${bank} is no bank. See "assent entity list".`);
        }
        const days = { from, through };
        const statementId = await handIn(db, config, file, type ?? typeOf(file), bank, days, by);
        const result = await followed(db, statementId);
        if (result.status === 'failed') process.exitCode = 1;
        return outcome(result);
      }, anyRing),
    );
}

function aDay(given: string): string {
  if (!parseDay(given).ok) throw new InvalidArgumentError('Write it as in 2026-11-01.');
  return given;
}

const typeOf = (file: string): StatementType =>
  file.toLowerCase().endsWith('.xml') ? 'application/xml' : 'text/csv';

/** @returns the statement's id; that of an earlier one where it is the same file */
async function handIn(
  db: Database,
  config: Config,
  file: string,
  type: StatementType,
  bankId: string,
  days: Pick<Given, 'from' | 'through'>,
  by: ReturnType<typeof operator>,
): Promise<string> {
  const { size } = await stat(file).catch((cause: unknown) => {
    throw new CommandError(`${file} cannot be read`, { cause });
  });
  const limit = linesLimit(config);
  try {
    const covered = await coveredDays(db, bankId, limit.timeZone, days);
    const arrived = await stageStatement(db, type, readWith(file, size), covered, limit);
    try {
      const { statementId } = await db.transaction(async (trx) => {
        const statement = await startStatement(trx, bankId, arrived, limit);
        if (statement.isNew) {
          await recordAct(trx, by, {
            action: 'statement.handed_in',
            entityId: bankId,
            after: { statementId: statement.statementId, lines: arrived.lines },
          });
        }
        return statement;
      });
      return statementId;
    } finally {
      await discardPages(db, arrived.statementId);
    }
  } catch (error) {
    if (error instanceof Failure) throw new CommandError(`${file}: ${error.message}`, { cause: error });
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

/** Waits until the workflow has done it. @throws CommandError where it does not go on */
async function followed(db: Database, statementId: string): Promise<Result> {
  let before = '';
  let deadline = performance.now() + STANDS_STILL_MS;
  for (;;) {
    const { status, summary, done } = await statementProgress(db, statementId);
    const differencesUrl = `/v1/bank/statements/${statementId}/differences.csv`;
    if (status !== 'processing') return { statementId, status, summary, differencesUrl };
    const now = JSON.stringify(summary);
    if (now !== before) deadline = performance.now() + STANDS_STILL_MS;
    before = now;
    progress.part(done, summary.lines, `${done} of ${counted(summary.lines, 'lines')} matched`);
    if (performance.now() > deadline) {
      const problems = (await workerProblems(db)).map(({ message }) => message);
      throw new CommandError(
        [
          `${statementId} does not go on; it will by itself, and this command may be run again.`,
          ...problems,
        ].join(' '),
      );
    }
    await wait(POLL_MS);
  }
}

function outcome(result: Result): Outcome {
  const { statementId, status, summary, differencesUrl } = result;
  const { lines, matched, duplicates, unknownHere, missingAtBank, amountDiffers, malformed } = summary;
  const text = [
    `${statementId} is ${status}: ${counted(lines, 'lines')}, ${matched} matched, ${counted(duplicates, 'duplicates')}, ${unknownHere} unknown here, ${amountDiffers} with another amount, ${malformed} malformed; ${missingAtBank} missing at the bank.`,
    `Differences: GET ${differencesUrl}, as the bank; what is to be done about them: assent exceptions list.`,
  ];
  return { json: result, text: text.join('\n') };
}
