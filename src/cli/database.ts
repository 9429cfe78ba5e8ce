import type { Command } from 'commander';
import { giveOwnId, renumberFeed } from '../database/operation/copies';
import { counted } from '../domain/counted';
import { command, onEngine } from './command';
import { anyRing } from './engine';
import { asOwner } from './owner';
import { operator, reasonOption, type Explained } from './operator';
import { progress } from './progress';

/** `assent database`: what has to be done to a copy before anything of it starts. */
export function addDatabaseCommands(program: Command): void {
  const database = program.command('database').description('a database that was copied');

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
