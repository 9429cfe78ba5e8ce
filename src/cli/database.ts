import type { Command } from 'commander';
import { giveOwnId, renumberFeed } from '../database/engine/copied-database';
import { counted } from '../domain/words/counted';
import { command, reporting } from './command';
import { asSchemaLogin } from './engine';
import { loginStatements } from './logins';
import { operator, reasonOption, type Explained } from './options';
import { progress } from './output';

export function fill(database: Command): void {
  command(
    database,
    'logins',
    'the SQL by which a superuser makes the logins of DATABASE_URL and DATABASE_OWNER_URL, and their database',
  ).action(reporting((config) => Promise.resolve(loginStatements(config))));

  command(database, 'restored', 'a dump was restored into another server: the events feed goes on from there')
    .addOption(reasonOption())
    .action(
      reporting(async (config, options: Explained) => {
        const webhooks = await asSchemaLogin(config, (db) =>
          db.transaction((trx) =>
            renumberFeed(trx, operator(options), (done) =>
              progress.say(`${counted(done, 'webhooks')} renumbered`),
            ),
          ),
        );
        return {
          json: { webhooks },
          text: `The feeds have ${webhooks} webhooks, in the order of their event ids`,
        };
      }),
    );

  command(database, 'copied', 'it is to run beside its original: give it an id of its own')
    .addOption(reasonOption())
    .action(
      reporting(async (config, options: Explained) => {
        const installation = await asSchemaLogin(config, (db) =>
          db.transaction((trx) => giveOwnId(trx, operator(options))),
        );
        return {
          json: { installation },
          text: `Its id is ${installation} now: give it a namespace of Temporal of its own`,
        };
      }),
    );
}
