import { Option, type Command } from 'commander';
import { executorOf } from '../database/connection';
import { migrateUp } from '../database/migrate';
import { readTemporalState } from '../database/engine/temporal-state';
import { counted } from '../domain/words/counted';
import { onDatabase } from '../start/database';
import { prepareGivenNamespace } from '../start/temporal';
import { schemaMigrated } from './awaited-schema';
import { command, reporting } from './command';
import { databaseUrl, modeOf } from './engine';
import { operator, reasonOption, type Explained } from './operator';
import { withOwnerUrl } from './owner';
import { progress } from './progress';

/** Longest that `assent migrate` waits for Temporal, which may be starting beside it. */
const NAMESPACE_WITHIN_MS = 15_000;

export function addMigrateCommand(program: Command): void {
  command(program, 'migrate', 'bring the database schema, and the Temporal namespace, up to date')
    .option('--create-namespace', 'make the namespace first, if it is not there')
    .addOption(
      new Option('--wait', 'change nothing, but wait until the schema is as this version needs it').conflicts(
        ['createNamespace', 'reason'],
      ),
    )
    .addOption(reasonOption())
    .action(
      reporting(async (config, options: Explained & { createNamespace?: boolean; wait?: boolean }) => {
        const { createNamespace = false } = options;
        if (options.wait === true) {
          await schemaMigrated(databaseUrl(config), (line) => process.stderr.write(`${line}; waiting\n`));
          return { json: { migrations: [] }, text: 'The schema is up to date' };
        }
        const migrations = await withOwnerUrl(config, (url) =>
          migrateUp(url, modeOf(config), config.NETWORK_TIMEZONE, operator(options), ({ name, number, of }) =>
            progress.part(number - 1, of, `${number} of ${counted(of, 'migrations')}: ${name}`),
          ),
        );
        // The embedded Temporal has been prepared by `npm start`; any other one by nobody but this.
        if (config.TEMPORAL_ADDRESS !== undefined) {
          const { TEMPORAL_ADDRESS } = config;
          const settings = { ...config, TEMPORAL_ADDRESS };
          const { installation } = await withOwnerUrl(config, (url) =>
            onDatabase(url, (client) => readTemporalState(executorOf(client))),
          );
          await prepareGivenNamespace(settings, NAMESPACE_WITHIN_MS, installation, createNamespace);
        }
        const done =
          migrations.length === 0 ? 'The schema is up to date' : `Applied ${migrations.join(', ')}`;
        return { json: { migrations }, text: done };
      }),
    );
}
