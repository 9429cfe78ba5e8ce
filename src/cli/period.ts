import type { Command } from 'commander';
import { unreachedThrough } from '../database/bank-file/unreached-bookings';
import type { Database, Transaction } from '../database/pool/connection';
import { changedUntil, closePeriod, correctionsOf, reopenPeriod } from '../database/ledger/close-period';
import {
  keepDigest,
  longStatements,
  readDigest,
  readFinality,
  type StatementOf,
} from '../database/ledger/read-statement';
import { readMonthTotals } from '../database/ledger/read-month-totals';
import { sumUnresolved } from '../database/reconciliation-exception/list-exceptions';
import { readLastResult, type LastResult } from '../database/verify/nightly-result';
import { eachDay, HASHED_MAX, onDay } from '../domain/books/statement';
import { firstOfMonth, lastOfMonth } from '../domain/calendar';
import { OperatorError } from '../domain/failures';
import { inMoney } from '../domain/money';
import { counted } from '../domain/words/counted';
import { digestOf } from '../files/statement-file';
import { command, onEngine, type Outcome } from './command';
import { anyRing } from './engine';
import { monthArgument, operator, reasonOption, type Explained } from './options';
import { partyCell, progress, tableOf, withSum } from './output';
import { atLeast, booksInWords } from './status';

interface Closing extends Explained {
  despiteDifferences?: boolean;
}

export function fill(period: Command): void {
  command(period, 'close', 'close a month that is over: what comes later goes to the day that it is then')
    .addArgument(monthArgument())
    .option('--despite-differences', 'also where "books verify" has found differences, or has not run since')
    .addOption(reasonOption())
    .action(
      onEngine(async (db, _config, month: string, options: Closing) => {
        const { changed, statements } = await closeHashed(db, month, options);
        const page = await readMonthPage(db, month);
        const kept = `${counted(statements, 'statements')} of more than ${HASHED_MAX} lines kept by SHA-256`;
        return {
          json: { period: month, state: 'closed', changed, statements, ...page.json },
          text: `${month} is closed${changed ? '' : ' already'}: ${kept}\n${page.text}`,
        };
      }, anyRing),
    );

  command(period, 'show', 'the page that closing prints, of any month')
    .addArgument(monthArgument())
    .action(
      onEngine(async (db, _config, month: string) => {
        const { json, text } = await readMonthPage(db, month);
        return { json: { period: month, ...json }, text };
      }, anyRing),
    );

  command(period, 'reopen', 'reopen the last closed month: it takes what belongs to it until closed again')
    .addArgument(monthArgument())
    .addOption(reasonOption().makeOptionMandatory())
    .action(
      onEngine(async (db, _config, month: string, options: Explained) => {
        await db.transaction((trx) => reopenPeriod(trx, operator(options), firstOfMonth(month)));
        return {
          json: { period: month, state: 'reopened', changed: true },
          text: `${month} is open again: close it when what was missing is posted`,
        };
      }, anyRing),
    );
}

/** The page of a closed month: what moved, and what is still open beside it. */
async function readMonthPage(db: Database, month: string): Promise<Outcome> {
  const totals = await readMonthTotals(db, firstOfMonth(month));
  const exceptions = await sumUnresolved(db);
  const unreached = await unreachedThrough(db, lastOfMonth(month));
  const books = await readLastResult(db);
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
      books: compared(books),
    },
    text: `${tableOf(['in the month', 'count', 'sum'], rows)}\nBooks: ${booksInWords(books)}`,
  };
}

/**
 * Closes a month with the SHA-256 of each long statement, which is made before: a transaction that
 * writes holds back every party's feed.
 *
 * @throws OperatorError as `closeVerified` does, and where the reopened month has changed meanwhile
 */
async function closeHashed(db: Database, month: string, options: Closing) {
  const first = firstOfMonth(month);
  await refuseNow(db, first, options);
  const seen = await correctionsOf(db, first);
  const { statements, unkept } = await hashLong(db, month);
  const changed = await db.transaction(async (trx) => {
    const isNew = await closeVerified(trx, first, options);
    if ((await correctionsOf(trx, first)) !== seen)
      throw new OperatorError(`${month} has changed while its statements were hashed: close it again.`);
    const { edition } = await readFinality(trx, wholeOf(month), null);
    for (const { of, sha256 } of unkept) await keepDigest(trx, of, edition, sha256);
    return isNew;
  });
  return { changed, statements };
}

const UNDONE = new Error('undone');

/** A month that cannot be closed is refused before the hashing, which may take minutes. */
async function refuseNow(db: Database, first: string, options: Closing): Promise<void> {
  const probed = db.transaction(async (trx) => {
    await closeVerified(trx, first, options);
    throw UNDONE;
  });
  await probed.catch((error: unknown) => {
    if (error !== UNDONE) throw error;
  });
}

/**
 * A month that differs from its own record is not to be signed unawares.
 *
 * @returns false: it was closed before
 * @throws OperatorError (the books differ, or were not compared since the month last changed)
 */
async function closeVerified(trx: Transaction, first: string, options: Closing): Promise<boolean> {
  if (options.despiteDifferences && options.reason === undefined)
    throw new OperatorError('--despite-differences needs --reason, for the audit record');
  const books = await readLastResult(trx);
  const fault = await faultOf(trx, first, books);
  const despite = options.despiteDifferences && fault !== undefined ? compared(books) : undefined;
  const changed = await closePeriod(trx, operator(options), first, despite);
  if (!changed || fault === undefined || despite) return changed;
  throw new OperatorError(
    `${fault}: run "assent books verify", mend what it names, and close again; or close with --despite-differences --reason.`,
  );
}

const compared = ({ differences, verifiedAt }: LastResult) => ({
  differences,
  verifiedAt: differences === null ? null : verifiedAt,
});

/** @returns why the books' last comparison does not vouch for a month; undefined if it does */
async function faultOf(trx: Transaction, first: string, { differences, verifiedAt }: LastResult) {
  if (differences === null) return 'The books were never compared';
  if (differences > 0) return `The last "books verify" found ${counted(differences, 'differences')}`;
  const changedAt = await changedUntil(trx, first);
  if (verifiedAt >= changedAt) return undefined;
  const [ended, changed] = [verifiedAt, changedAt].map((at) => at.toISOString());
  return `The last "books verify" ended at ${ended}, and the month has changed until ${changed}`;
}

/** A statement whose file may change until its month is closed. */
interface Unkept {
  of: StatementOf;
  sha256: string;
}

/**
 * Keeps the SHA-256 of the month's long statements and of its days'. A short statement's is made on
 * request.
 *
 * @returns how many there are, and those that the close itself must keep
 */
async function hashLong(db: Database, month: string): Promise<{ statements: number; unkept: Unkept[] }> {
  let statements = 0;
  const unkept: Unkept[] = [];
  for (const days of [...eachDay(wholeOf(month)).map(onDay), wholeOf(month)]) {
    for (const of of await longStatements(db, days)) {
      const { final, edition } = await readFinality(db, days, of.party);
      if ((await readDigest(db, of, edition)) === undefined) {
        const sha256 = await digestOf(db, of);
        if (final) await keepDigest(db, of, edition, sha256);
        else unkept.push({ of, sha256 });
      }
      statements += 1;
      progress.say(`${days.last}: ${counted(statements, 'statements')}`);
    }
  }
  return { statements, unkept };
}

const wholeOf = (month: string) => ({ first: firstOfMonth(month), last: lastOfMonth(month) });
