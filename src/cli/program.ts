import { Command } from 'commander';
import { addAuditCommand } from './audit';
import { addBooksCommands } from './books';
import { addEntityCommands } from './entity';
import { addExceptionCommands } from './exceptions';
import { addForecastCommand } from './forecast';
import { addKeyCommands } from './keys';
import { addMigrateCommand } from './migrate';
import { addReconcileCommand } from './reconcile';
import { addSqlCommand } from './sql';
import { addStatusCommand } from './status';
import { addWhyCommand } from './why';

/** All commands of `npx assent`. */
export function createProgram(): Command {
  const program = new Command('assent')
    .description('Operates an Assent engine: the one of DATABASE_URL and ASSENT_KEYS, or of npm start here')
    .showHelpAfterError('(add --help for what there is)');
  addEntityCommands(program);
  addKeyCommands(program);
  addAuditCommand(program);
  addBooksCommands(program);
  addForecastCommand(program);
  addStatusCommand(program);
  addWhyCommand(program);
  addReconcileCommand(program);
  addExceptionCommands(program);
  addSqlCommand(program);
  addMigrateCommand(program);
  return program;
}
