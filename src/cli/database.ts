import type { Command } from 'commander';
import type { Config } from '../config';
import { giveOwnId, renumberFeed } from '../database/operation/copies';
import { correctTimeZone } from '../database/operation/time-zone';
import { counted } from '../domain/words/counted';
import { timezone } from '../settings/kinds';
import { onDatabase } from '../start/database';
import { command, CommandError, onEngine, reporting } from './command';
import { anyRing, modeOf, ownerUrl } from './engine';
import { loginStatements } from './logins';
import { asOwner } from './owner';
import { operator, reasonOption, type Explained } from './operator';
import { progress } from './progress';
import { addTransactionCommands } from './transactions';

/** `assent database`: what is done to the database itself, from its logins on. */
export function addDatabaseCommands(program: Command): void {
  const database = program
    .command('database')
    .description('the database itself: its logins, its time zone, open transactions, copies of it');

  command(
    database,
    'logins',
    'the SQL by which a superuser makes the logins of DATABASE_URL and DATABASE_OWNER_URL, and their database',
  ).action(reporting((config) => Promise.resolve(loginStatements(config))));

  command(database, 'zone', 'correct the zone in which days begin; all processes are stopped meanwhile')
    .argument('<zone>', 'Europe/Berlin')
    .addOption(reasonOption().makeOptionMandatory())
    .action(
      reporting(async (config, zone: string, options: Explained) => {
        const by = operator(options);
        const parsed = timezone.safeParse(zone);
        if (!parsed.success) throw new CommandError(`${zone} is no IANA time zone, such as Africa/Lagos`);
        requireGiven(config);
        const before = await onDatabase(ownerUrl(config), (client) =>
          correctTimeZone(client, by, modeOf(config), zone),
        );
        return {
          json: { timeZone: zone, changed: before !== undefined },
          text:
            before === undefined
              ? `Days begin in ${zone} already`
              : `Days begin in ${zone}, no longer in ${before}: set NETWORK_TIMEZONE=${zone} for every process, then start them`,
        };
      }),
    );

  addTransactionCommands(database);

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

/**
 * The Postgres of `npm start` runs no longer than API and worker do.
 *
 * @throws CommandError where no other is given
 */
function requireGiven({ DATABASE_OWNER_URL, DATABASE_URL }: Config): void {
  if ((DATABASE_OWNER_URL ?? DATABASE_URL) !== undefined) return;
  throw new CommandError(
    'DATABASE_OWNER_URL is not set, and the database of "npm start" keeps the zone that it was made with: start with ' +
      'that, which the start names where NETWORK_TIMEZONE is another; or, where all of it may be lost, remove the ' +
      'folder .assent and start afresh',
  );
}
