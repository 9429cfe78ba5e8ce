import type { Command } from 'commander';
import { digestOf } from '../api/billing/statement';
import type { Transaction } from '../database/connection';
import { closePeriod, reopenPeriod } from '../database/ledger/period';
import { keepDigest, longStatements, readDigest, readFinality } from '../database/ledger/statement';
import { addDays, parseDay } from '../domain/calendar';
import { HASHED_MAX } from '../domain/books/statement';
import { counted } from '../domain/words/counted';
import { command, CommandError, onEngine } from './command';
import { anyRing } from './engine';
import { operator, reasonOption, type Explained } from './operator';
import { progress } from './progress';

/** `assent period`: the close of a month, after which its statements stay as they are. */

export function addPeriodCommands(program: Command): void {
  const period = program.command('period').description('months, whose statements stay once they are closed');

  command(period, 'close', 'close a month that is over: what comes later goes to the day that it is then')
    .argument('<month>', '2026-11')
    .addOption(reasonOption())
    .action(
      onEngine(async ({ db }, { NETWORK_TIMEZONE: timeZone }, given: string, options: Explained) => {
        const month = monthOf(given);
        const { changed, statements } = await db.transaction(async (trx) => ({
          changed: await closePeriod(trx, operator(options), timeZone, month),
          statements: await keepLongDigests(trx, timeZone, month),
        }));
        const kept = `${counted(statements, 'statements')} of more than ${HASHED_MAX} lines kept by SHA-256`;
        return {
          json: { period: given, state: 'closed', changed, statements },
          text: `${given} is closed${changed ? '' : ' already'}: ${kept}`,
        };
      }, anyRing),
    );

  command(period, 'reopen', 'reopen the last closed month: it takes what belongs to it until closed again')
    .argument('<month>', '2026-11')
    .addOption(reasonOption().makeOptionMandatory())
    .action(
      onEngine(async ({ db }, _config, given: string, options: Explained) => {
        const month = monthOf(given);
        await db.transaction((trx) => reopenPeriod(trx, operator(options), month));
        return {
          json: { period: given, state: 'reopened', changed: true },
          text: `${given} is open again: close it when what was missing is posted`,
        };
      }, anyRing),
    );
}

/** @returns its first day. @throws CommandError for what is no month */
function monthOf(given: string): string {
  const first = parseDay(`${given}-01`);
  if (!first.ok) throw new CommandError(`${given} is no month: say it as in 2026-11`);
  return first.value;
}

/**
 * Keeps the SHA-256 of the month's long statements, so that a closed month has each; that of others
 * is made when it is asked for. A correction of a month that was reopened waits for the end of it.
 *
 * @returns how many there are
 */
async function keepLongDigests(trx: Transaction, timeZone: string, month: string): Promise<number> {
  let done = 0;
  for (let date = month; date.slice(0, 7) === month.slice(0, 7); date = addDays(date, 1)) {
    for (const of of await longStatements(trx, date)) {
      const { edition } = await readFinality(trx, timeZone, date, of.party);
      if ((await readDigest(trx, of, edition)) === undefined) {
        await keepDigest(trx, of, edition, await digestOf(trx, of));
      }
      done += 1;
      progress.say(`${date}: ${counted(done, 'statements')}`);
    }
  }
  return done;
}
