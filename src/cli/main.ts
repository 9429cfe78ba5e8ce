import { Command } from 'commander';
import { migrateUp } from '../database/migrate';
import { prepareGivenNamespace } from '../start/temporal';
import { addAuditCommand } from './audit';
import { command, explained, telling } from './command';
import { modeOf, ownerUrl } from './engine';
import { addEntityCommands } from './entity';
import { addKeyCommands } from './keys';
import { addReconcileCommand } from './reconcile';
import { addSqlCommand } from './sql';
import { addStatusCommand } from './status';

/**
 * `npx assent`: what an operator does by hand. With `--json` a command prints one object on standard output
 * and nothing else; what goes wrong is told on standard error, with exit code 1.
 */

const program = new Command('assent')
  .description('Operates an Assent engine: the one of DATABASE_URL and ASSENT_KEYS, or of npm start here')
  .showHelpAfterError('(add --help for what there is)');
addEntityCommands(program);
addKeyCommands(program);
addAuditCommand(program);
addStatusCommand(program);
addReconcileCommand(program);
addSqlCommand(program);

/** Longest that `migrate` waits for Temporal, which may be starting beside it. */
const NAMESPACE_WITHIN_MS = 15_000;

command(program, 'migrate', 'bring the database schema, and the Temporal namespace, up to date')
  .option('--create-namespace', 'make the namespace first, if it is not there')
  .action(
    telling(async (config, { createNamespace = false }: { createNamespace?: boolean }) => {
      const migrations = await migrateUp(ownerUrl(config), modeOf(config));
      // The embedded Temporal has been prepared by `npm start`; any other one by nobody but this.
      if (config.TEMPORAL_ADDRESS !== undefined) {
        const { TEMPORAL_ADDRESS } = config;
        await prepareGivenNamespace({ ...config, TEMPORAL_ADDRESS }, NAMESPACE_WITHIN_MS, createNamespace);
      }
      const done = migrations.length === 0 ? 'The schema is up to date' : `Applied ${migrations.join(', ')}`;
      return { json: { migrations }, text: done };
    }),
  );

program.parseAsync().catch((error: unknown) => {
  process.stderr.write(`assent: ${explained(error)}\n`);
  process.exitCode = 1;
});
