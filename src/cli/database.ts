import type { Command } from 'commander';
import { giveOwnId, renumberFeed } from '../database/engine/copied-database';
import { counted } from '../domain/words/counted';
import { command, onEngine, reporting } from './command';
import { anyRing } from './engine';
import { loginStatements } from './logins';
import { asOwner } from './owner';
import { operator, reasonOption, type Explained } from './operator';
import { progress } from './progress';

/** `assent database`: what is done to the database itself, from its logins on. */
export function addDatabaseCommands(program: Command): void {
  const database = program.command('database').description('the database itself: its logins, copies of it');

  command(
    database,
    'logins',
    'the SQL by which a superuser makes the logins of DATABASE_URL and DATABASE_OWNER_URL, and their database',
  ).action(reporting((config) => Promise.resolve(loginStatements(config))));

  command(database, 'restored', 'a dump was restored into another server: the events feed goes on from there')
    .addOption(reasonOption())
    .action(
      onEngine(async (_engine, config, options: Explained) => {
        const by = operator(options);
        const webhooks = await asOwner(config, (db) =>
          db.transaction((trx) =>
            renumberFeed(trx, by, (done) => progress.say(`${counted(done, 'webhooks')} renumbered`)),
          ),
        );
        return {
          json: { webhooks },
          text: `The feeds have ${webhooks} webhooks, in the order of their event ids`,
        };
      }, anyRing),
    );

  command(database, 'copied', 'it is to run beside its original: give it an id of its own')
    .addOption(reasonOption())
    .action(
      onEngine(async (_engine, config, options: Explained) => {
        const by = operator(options);
        const installation = await asOwner(config, (db) => db.transaction((trx) => giveOwnId(trx, by)));
        return {
          json: { installation },
          text: `Its id is ${installation} now: give it a namespace of Temporal of its own`,
        };
      }, anyRing),
    );
}
