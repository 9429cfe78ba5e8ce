import { Command } from 'commander';

/** A module of a command, which gives it its options, its words below, and what it does. */
interface Module {
  fill(command: Command): void;
}

/** The first words of commands in the order of the help. A call loads its own command alone. */
const COMMANDS: [name: string, description: string, load: () => Module][] = [
  [
    'start',
    'run an engine here, with a Postgres and a Temporal server of its own',
    () => ({ fill: (start) => start.action(() => void require('../start/main')) }),
  ],
  ['entity', 'banks, merchants and providers', () => require('./entity') as Module],
  ['token', 'issue an access token', () => require('./token') as Module],
  ['keys', 'the keys that sign access tokens, and those that encrypt', () => require('./keys') as Module],
  [
    'audit',
    'who created, disabled, trusted, rotated, revoked and changed what, oldest first',
    () => require('./audit') as Module,
  ],
  ['books', 'the ledger, and the chains that prove it', () => require('./books') as Module],
  [
    'positions',
    'who owes whom of what settled on a day, of all parties, and their sum',
    () => require('./positions') as Module,
  ],
  [
    'trial-balance',
    'debits and credits of each account and currency, which add up to zero',
    () => require('./trial-balance') as Module,
  ],
  [
    'write-offs',
    'what was written off in a month, by whom and why, and what came back',
    () => require('./write-offs') as Module,
  ],
  ['forecast', 'what schedules will charge in the next 30 days', () => require('./forecast') as Module],
  ['period', 'months, whose statements stay once they are closed', () => require('./period') as Module],
  [
    'status',
    'workers, what waits, what is overdue, and where everything is',
    () => require('./status') as Module,
  ],
  [
    'doctor',
    'settings, servers, schema, keys, clocks, workers: what is wrong and what to do about it; exit code 1 where something is',
    () => require('./doctor') as Module,
  ],
  [
    'why',
    'what happened to a charge, refund, schedule, intent, agreement or webhook, oldest first',
    () => require('./why') as Module,
  ],
  [
    'queries',
    'links to lists of the Temporal UI: what waits, was declined, has expired, is past due, is stuck',
    () => require('./queries') as Module,
  ],
  [
    'reconcile',
    'find work that is overdue or has no workflow, and workflows without a row',
    () => require('./reconcile') as Module,
  ],
  [
    'exceptions',
    'where a bank’s word and the network’s may differ: somebody has to look',
    () => require('./exceptions') as Module,
  ],
  [
    'statement',
    'what a party is shown of a day, and what banks say that they booked',
    () => require('./statement') as Module,
  ],
  [
    'bank-files',
    'files of banks: how far they reach, and what is in none of them',
    () => require('./bank-files') as Module,
  ],
  ['batches', 'large batches of customers', () => require('./batches') as Module],
  ['database', 'the database itself: its logins, copies of it', () => require('./database') as Module],
  [
    'conformance',
    "play the network to a bank's webhook receiver, and say what it does not stand",
    () => require('#conformance') as Module,
  ],
  [
    'migrate',
    'bring the database schema, and the Temporal namespace, up to date',
    () => require('./migrate') as Module,
  ],
];

/**
 * `npx assent`.
 *
 * @param wanted the first word of what was called. Its command alone is loaded, because an operator
 *   waits for that each time; the help of all needs none
 */
export function createProgram(wanted?: string): Command {
  const program = new Command('assent')
    .description('Operates an Assent engine: the one of DATABASE_URL and ASSENT_KEYS, or of npm start here')
    .showHelpAfterError('(add --help for what there is)');
  for (const [name, description, load] of COMMANDS) {
    const command = program.command(name).description(description);
    if (name === wanted) load().fill(command);
  }
  return program;
}
