import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import { digestOf } from '../api/billing/statement';
import type { Actor } from '../database/audit';
import type { Database } from '../database/connection';
import { closePeriod, reopenPeriod, statementsOfMonth, type Closing } from '../database/ledger/period';
import { keepDigest, readDigest, readFinality } from '../database/ledger/statement';
import { parseDay } from '../domain/calendar';
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
        const closing = await close(db, operator(options), timeZone, month);
        const statements = await freeze(db, timeZone, month);
        const kept = `${counted(statements, 'statements')} kept by ${statements === 1 ? 'its' : 'their'} SHA-256`;
        return {
          json: { period: given, state: 'closed', changed: closing === 'closed', statements },
          text: `${given} is closed${closing === 'closed' ? '' : ' already'}: ${kept}`,
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

/** A transaction ends within ten seconds, or Postgres ends it. */
const SETTLED_WITHIN_S = 30;

/** Waits for what settled in the month's last moments, and has not committed. */
async function close(db: Database, by: Actor, timeZone: string, month: string): Promise<Closing> {
  for (let second = 0; second < SETTLED_WITHIN_S; second++) {
    const closing = await db.transaction((trx) => closePeriod(trx, by, timeZone, month));
    if (closing !== 'settling') return closing;
    progress.say('a charge of that month is being settled: waiting for it');
    await wait(1_000);
  }
  throw new CommandError('a charge of that month is still being settled: see "assent status", and try again');
}

/**
 * Works out the SHA-256 of every statement of the month. What was kept before stays, so it goes on
 * where it was interrupted.
 *
 * @returns how many there are
 * @throws CommandError where it was reopened meanwhile
 */
async function freeze(db: Database, timeZone: string, month: string): Promise<number> {
  let done = 0;
  for await (const page of statementsOfMonth(db, month)) {
    for (const of of page) {
      // Another operator may reopen it meanwhile: the next close makes those files anew.
      const { final, edition } = await readFinality(db, timeZone, of.date, of.party);
      if (!final) {
        throw new CommandError(
          `${month.slice(0, 7)} was reopened meanwhile: close it again when what was missing is posted`,
        );
      }
      if ((await readDigest(db, of, edition)) === undefined) {
        await keepDigest(db, of, edition, await digestOf(db, of));
      }
      done += 1;
      progress.say(`${of.date}: ${counted(done, 'statements')}`);
    }
  }
  return done;
}
