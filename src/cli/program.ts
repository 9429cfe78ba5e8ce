import { Command } from 'commander';
import type * as Audit from './audit';
import type * as Batches from './batches';
import type * as Books from './books';
import type * as Conformance from './conformance';
import type * as Database from './database';
import type * as Doctor from './doctor';
import type * as Entity from './entity';
import type * as Exceptions from './exceptions';
import type * as Forecast from './forecast';
import type * as Keys from './keys';
import type * as Migrate from './migrate';
import type * as Period from './period';
import type * as Positions from './positions';
import type * as Reconcile from './reconcile';
import type * as Statement from './statement';
import type * as Start from './start';
import type * as Status from './status';
import type * as Why from './why';

/** By the first word of a command, in the order of the help. */
const COMMANDS = new Map<string, () => (program: Command) => void>([
  ['start', () => (require('./start') as typeof Start).addStartCommand],
  ['entity', () => (require('./entity') as typeof Entity).addEntityCommands],
  ['keys', () => (require('./keys') as typeof Keys).addKeyCommands],
  ['audit', () => (require('./audit') as typeof Audit).addAuditCommand],
  ['books', () => (require('./books') as typeof Books).addBooksCommands],
  ['positions', () => (require('./positions') as typeof Positions).addPositionsCommand],
  ['period', () => (require('./period') as typeof Period).addPeriodCommands],
  ['status', () => (require('./status') as typeof Status).addStatusCommand],
  ['doctor', () => (require('./doctor') as typeof Doctor).addDoctorCommand],
  ['why', () => (require('./why') as typeof Why).addWhyCommand],
  ['forecast', () => (require('./forecast') as typeof Forecast).addForecastCommand],
  ['reconcile', () => (require('./reconcile') as typeof Reconcile).addReconcileCommand],
  ['exceptions', () => (require('./exceptions') as typeof Exceptions).addExceptionCommands],
  ['statement', () => (require('./statement') as typeof Statement).addStatementCommands],
  ['batches', () => (require('./batches') as typeof Batches).addBatchCommands],
  ['database', () => (require('./database') as typeof Database).addDatabaseCommands],
  ['conformance', () => (require('./conformance') as typeof Conformance).addConformanceCommand],
  ['migrate', () => (require('./migrate') as typeof Migrate).addMigrateCommand],
]);

/**
 * `npx assent`.
 *
 * @param wanted the first word of what was called. Its command alone is loaded, because an operator
 *   waits for that each time; for any other word, or none, all are
 */
export function createProgram(wanted?: string): Command {
  const program = new Command('assent')
    .description('Operates an Assent engine: the one of DATABASE_URL and ASSENT_KEYS, or of npm start here')
    .showHelpAfterError('(add --help for what there is)');
  const one = COMMANDS.get(wanted ?? '');
  for (const load of one ? [one] : COMMANDS.values()) load()(program);
  return program;
}
