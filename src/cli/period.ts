import { Argument, type Command } from 'commander';
import type { Transaction } from '../database/pool/connection';
import { closePeriod, reopenPeriod } from '../database/ledger/close-period';
import { keepDigest, longStatements, readDigest, readFinality } from '../database/ledger/read-statement';
import { eachDay, HASHED_MAX, onDay } from '../domain/books/statement';
import { lastOfMonth, parseMonth } from '../domain/calendar';
import { OperatorError } from '../domain/failures';
import { counted } from '../domain/words/counted';
import { digestOf } from '../files/statement-file';
import { command, onEngine } from './command';
import { anyRing } from './engine';
import { operator, reasonOption, type Explained } from './options';
import { progress } from './output';

const monthArgument = () =>
  new Argument('<month>', '2026-11').argParser((given) => {
    if (!parseMonth(given).ok) throw new OperatorError(`${given} is no month: say it as in 2026-11`);
    return given;
  });

const firstDayOf = (month: string) => `${month}-01`;

export function fill(period: Command): void {
  command(period, 'close', 'close a month that is over: what comes later goes to the day that it is then')
    .addArgument(monthArgument())
    .addOption(reasonOption())
    .action(
      onEngine(async (db, _config, month: string, options: Explained) => {
        const first = firstDayOf(month);
        const { changed, statements } = await db.transaction(async (trx) => ({
          changed: await closePeriod(trx, operator(options), first),
          statements: await keepLongDigests(trx, month),
        }));
        const kept = `${counted(statements, 'statements')} of more than ${HASHED_MAX} lines kept by SHA-256`;
        return {
          json: { period: month, state: 'closed', changed, statements },
          text: `${month} is closed${changed ? '' : ' already'}: ${kept}`,
        };
      }, anyRing),
    );

  command(period, 'reopen', 'reopen the last closed month: it takes what belongs to it until closed again')
    .addArgument(monthArgument())
    .addOption(reasonOption().makeOptionMandatory())
    .action(
      onEngine(async (db, _config, month: string, options: Explained) => {
        await db.transaction((trx) => reopenPeriod(trx, operator(options), firstDayOf(month)));
        return {
          json: { period: month, state: 'reopened', changed: true },
          text: `${month} is open again: close it when what was missing is posted`,
        };
      }, anyRing),
    );
}

/**
 * Keeps the SHA-256 of the month's long statements and of its days', so that a closed month has
 * each. A short statement's is made on request. A correction of a month that was reopened waits for
 * the end of it.
 *
 * @returns how many there are
 */
async function keepLongDigests(trx: Transaction, month: string): Promise<number> {
  let done = 0;
  const whole = { first: firstDayOf(month), last: lastOfMonth(month) };
  for (const days of [...eachDay(whole).map(onDay), whole]) {
    for (const of of await longStatements(trx, days)) {
      const { edition } = await readFinality(trx, days, of.party);
      if ((await readDigest(trx, of, edition)) === undefined) {
        await keepDigest(trx, of, edition, await digestOf(trx, of));
      }
      done += 1;
      progress.say(`${days.last}: ${counted(done, 'statements')}`);
    }
  }
  return done;
}
