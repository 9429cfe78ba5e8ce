import { Option, type Command } from 'commander';
import { executorOf } from '../database/pool/connection';
import { migrateUp } from '../database/migrate';
import { readTemporalState } from '../database/engine/temporal-state';
import { counted } from '../domain/words/counted';
import { onDatabase } from '../database/pool/one-connection';
import { prepareGivenNamespace } from '../temporal/namespace';
import { schemaMigrated } from './awaited-schema';
import { reporting, takingJson } from './command';
import { databaseUrl, engineOf, withOwnerUrl } from './engine';
import { operator, reasonOption, type Explained } from './options';
import { progress } from './output';

/** Longest that `assent migrate` waits for Temporal, which may be starting beside it. */
const NAMESPACE_WITHIN_MS = 15_000;

export function fill(command: Command): void {
  takingJson(command)
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
          migrateUp(
            url,
            config.ASSENT_MODE,
            config.NETWORK_TIMEZONE,
            operator(options),
            ({ name, number, of }) =>
              progress.part(number - 1, of, `${number} of ${counted(of, 'migrations')}: ${name}`),
          ),
        );
        // `npm start` has prepared the embedded Temporal; only `migrate` prepares any other.
        const { TEMPORAL_ADDRESS } = config;
        if (TEMPORAL_ADDRESS !== undefined && engineOf(config) === undefined) {
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
