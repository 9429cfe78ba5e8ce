import { Command } from 'commander';
import { runCommand, wholeNumber, type Stops } from '../../scripts/command';
import { OperatorError } from '../../src/domain/failures';
import { openTarget, type Party, type Target } from './cast';
import { findSchemathesis, fuzz, type Counts } from './schemathesis';

const options = new Command('npm run fuzz --')
  .option('--seed <n>', 'what the requests are made from', wholeNumber(0, 2 ** 31), 1)
  .option('--examples <n>', 'requests of a phase for each operation', wholeNumber(1, 10_000), 100)
  .option('--as <caller>', 'one caller alone: public, merchant, provider, bank or sandbox')
  .option('--only <pattern>', 'operations whose id matches')
  .parse()
  .opts<{ seed: number; examples: number; as?: string; only?: string }>();

const say = (line: string) => void process.stdout.write(`${line}\n`);

async function main(signal: AbortSignal, stops: Stops): Promise<boolean> {
  const command = await findSchemathesis(say);
  // Open seeds stay open.
  const target = await openTarget({ APPROVAL_WINDOW_S: '86400' }, say, signal, stops);
  return fuzzAll(command, target, signal);
}

interface Documented {
  operationId: string;
  tags: string[];
  'x-roles'?: string[];
}

const isFor =
  ({ role, sandbox }: Party) =>
  ({ 'x-roles': roles, tags }: Documented) =>
    role === undefined ? roles === undefined : roles?.includes(role) && tags.includes('Sandbox') === sandbox;

/**
 * @returns whether nothing was found, and each operation that was tried has answered with success
 */
async function fuzzAll(
  command: string,
  { engine: { apiUrl }, parties, environment }: Target,
  signal: AbortSignal,
): Promise<boolean> {
  const document = (await (await fetch(`${apiUrl}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, Documented>>;
  };
  const wanted = new RegExp(options.only ?? '');
  const operations = Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .filter(({ operationId }) => wanted.test(operationId));
  const total: Counts = {};
  const failed: string[] = [];
  for (const [name, party] of Object.entries(parties)) {
    if (options.as !== undefined && options.as !== name) continue;
    const own = operations.filter(isFor(party)).map(({ operationId }) => operationId);
    if (own.length === 0) continue;
    for (const id of own) total[id] ??= {};
    say(`\n--- ${name}: ${own.length} operations, seed ${options.seed}`);
    const startedAt = Date.now();
    const outcome = await fuzz(command, apiUrl, party, own, { ...options, environment, signal });
    say(`--- ${name}: ${((Date.now() - startedAt) / 1000).toFixed(0)} s`);
    if (outcome.failed) failed.push(name);
    for (const [id, statuses] of Object.entries(outcome.counts)) add(statuses, (total[id] ??= {}));
  }
  const never = Object.entries(total).filter(([, statuses]) => !Object.keys(statuses).some(isSuccess));
  say('');
  for (const [id, statuses] of Object.entries(total)) say(`${id.padEnd(32)} ${line(statuses)}`);
  if (Object.keys(total).length === 0) throw new OperatorError('No operation is meant: see --as and --only');
  if (never.length > 0) say(`\nNever answered with success: ${never.map(([id]) => id).join(', ')}`);
  if (failed.length > 0) say(`\nSomething was found as: ${failed.join(', ')}`);
  return failed.length === 0 && never.length === 0;
}

type Statuses = Counts[string];

function add(statuses: Statuses, sum: Statuses): void {
  for (const [status, count] of Object.entries(statuses)) sum[status] = (sum[status] ?? 0) + count;
}

const isSuccess = (status: string) => status.startsWith('2');

const line = (statuses: Statuses) =>
  Object.entries(statuses)
    .map(([status, count]) => `${status}: ${count}`)
    .join('  ');

runCommand(main);
