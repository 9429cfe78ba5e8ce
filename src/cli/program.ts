import { Command } from 'commander';

/** First words of commands, in the order of the help. */
const COMMANDS = {
  start: 'run an engine here, with a Postgres and a Temporal server of its own',
  entity: 'banks, merchants and providers',
  client: 'clients of a party, each with the scopes that its system needs',
  person: 'people who act for an entity in the console',
  token: 'issue an access token',
  keys: 'the keys that sign access tokens, and those that encrypt',
  audit: 'who created, disabled, trusted, rotated, revoked and changed what, oldest first',
  books: 'the ledger, and the chains that prove it',
  positions: 'who owes whom of what settled on a day, of all parties, and their sum',
  'trial-balance': 'debits and credits of each account and currency, which add up to zero',
  'write-offs': 'what was written off in a month, by whom and why, and what came back',
  forecast: 'what schedules will charge in the next 30 days',
  period: 'months, whose statements stay once they are closed',
  status: 'workers, what waits, what is overdue, and where everything is',
  doctor:
    'settings, servers, schema, keys, clocks, workers: what is wrong and what to do about it; exit code 1 where something is',
  why: 'what happened to a charge, refund, schedule, intent, agreement or webhook, oldest first',
  queries: 'links to lists of the Temporal UI: what waits, was declined, has expired, is past due, is stuck',
  reconcile: 'find work that is overdue or has no workflow, and workflows without a row',
  exceptions: 'where a bank’s word and the network’s may differ: somebody has to look',
  statement: 'what a party is shown of a day, and what banks say that they booked',
  'bank-files': 'files of banks: how far they reach, and what is in none of them',
  batches: 'large batches of customers',
  database: 'the database itself: its logins, copies of it',
  conformance: "play the network to a bank's webhook receiver, and say what it does not stand",
  migrate: 'bring the database schema, and the Temporal namespace, up to date',
};

/** Modules of commands, each of which is loaded when it is called. */
const MODULES: Record<keyof typeof COMMANDS, () => unknown> = {
  start: () => ({ fill: (start: Command) => start.action(() => void require('../start/main')) }),
  entity: () => require('./entity'),
  client: () => require('./client'),
  person: () => require('./person'),
  token: () => require('./token'),
  keys: () => require('./keys'),
  audit: () => require('./audit'),
  books: () => require('./books'),
  positions: () => require('./positions'),
  'trial-balance': () => require('./trial-balance'),
  'write-offs': () => require('./write-offs'),
  forecast: () => require('./forecast'),
  period: () => require('./period'),
  status: () => require('./status'),
  doctor: () => require('./doctor'),
  why: () => require('./why'),
  queries: () => require('./queries'),
  reconcile: () => require('./reconcile'),
  exceptions: () => require('./exceptions'),
  statement: () => require('./statement'),
  'bank-files': () => require('./bank-files'),
  batches: () => require('./batches'),
  database: () => require('./database'),
  conformance: () => require('#conformance'),
  migrate: () => require('./migrate'),
};

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
  for (const [name, description] of Object.entries(COMMANDS)) {
    const command = program.command(name).description(description);
    const load = MODULES[name as keyof typeof COMMANDS] as () => { fill(command: Command): void };
    if (name === wanted) load().fill(command);
  }
  return program;
}
