import { Option, type Command } from 'commander';
import { refusedAppLogin } from '../database/pool/availability';
import { APP_ROLE, statementsOf } from '../database/pool/connection';
import { schemaDifference } from '../database/engine/deployment';
import { migrateUp } from '../database/migrate';
import { readTemporalState } from '../database/engine/temporal-state';
import { counted } from '../domain/words/counted';
import { onDatabase } from '../database/pool/one-connection';
import { OperatorError } from '../domain/failures';
import { poll } from '../process/poll';
import { prepareGivenNamespace } from '../temporal/namespace';
import { reporting, takingJson } from './command';
import { databaseUrl, engineOf, withSchemaLoginUrl } from './engine';
import { operator, reasonOption, type Explained } from './options';
import { progress } from './output';

/** Longest that `assent migrate` waits for Temporal, which may be starting beside it. */
const NAMESPACE_WITHIN_MS = 15_000;
/** Longest that `--wait` waits: a migration of a large table takes minutes. */
const MIGRATED_WITHIN_MS = 600_000;

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
          await schemaMigrated(databaseUrl(config));
          return { json: { migrations: [] }, text: 'The schema is up to date' };
        }
        const migrations = await withSchemaLoginUrl(config, (url) =>
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
          const { installation } = await withSchemaLoginUrl(config, (url) =>
            onDatabase(url, (client) => readTemporalState(statementsOf(client))),
          );
          await prepareGivenNamespace(settings, NAMESPACE_WITHIN_MS, installation, createNamespace);
        }
        const done =
          migrations.length === 0 ? 'The schema is up to date' : `Applied ${migrations.join(', ')}`;
        return { json: { migrations }, text: done };
      }),
    );
}

/**
 * Waits until another process has migrated: a process rolled out together with its migrations must
 * not begin before they have run. Migrations of a later version are ignored.
 *
 * @param url the login of API and worker
 * @throws OperatorError where it takes too long, or the login is refused
 */
export async function schemaMigrated(url: string, withinMs = MIGRATED_WITHIN_MS): Promise<void> {
  const attempt = async () => {
    const { missing } = await onDatabase(url, (client) => schemaDifference(statementsOf(client)), {
      role: APP_ROLE,
    }).catch((cause: unknown) => {
      const refused = refusedAppLogin(cause);
      throw refused === undefined ? cause : new OperatorError(refused, { cause });
    });
    if (missing.length > 0)
      throw new Error(
        `it lacks ${counted(missing.length, 'migrations')}, ${missing[0]} first: run "assent migrate"`,
      );
  };
  await poll('The schema', withinMs, new AbortController().signal, attempt);
}
