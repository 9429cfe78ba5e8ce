import { setMaxListeners } from 'node:events';
import { Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { StartError } from '../../src/start/start-error';
import { makePlan, startYearFrom } from './make-plan';
import { proveMutants } from './mutants';
import { printed, verdictsPrinted } from './report';
import { prove } from './years';

/**
 * `npm run prove`: years of billing on the real engine, by test clocks, while its processes die; an
 * oracle that shares no code with the engine says beforehand what comes of them. Exit code 1 where
 * something else did.
 */

interface Options {
  billings: number;
  seed: number;
  calm?: true;
  mutations?: string | true;
}

const between = (least: number, most: number) => (text: string) => {
  const given = z.coerce.number().int().min(least).max(most).safeParse(text);
  if (!given.success) throw new InvalidArgumentError(`It must be a number from ${least} to ${most}.`);
  return given.data;
};

const options = new Command('npm run prove --')
  .option('--billings <n>', 'about how many', between(10, 1_000_000), 300)
  .option('--seed <n>', 'decides all of it', between(0, 2 ** 31), 1)
  .option('--calm', 'nothing is killed')
  .option(
    '--mutations [words]',
    'on faulty engines in place of ours, one after the other: each must be found',
  )
  .parse()
  .opts<Options>();

const say = (line: string) => void process.stderr.write(`${line}\n`);

async function main(): Promise<number> {
  process.umask(0o077);
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => interrupted.abort(new Error('interrupted')));
  }
  // Each call in flight listens to it.
  setMaxListeners(0, interrupted.signal);
  const { seed, billings, calm = false, mutations } = options;
  if (mutations !== undefined) {
    const only = mutations === true ? '' : mutations;
    const verdicts = await proveMutants(only, say, interrupted.signal);
    process.stdout.write(`${verdictsPrinted(verdicts)}\n`);
    return verdicts.filter(({ found }) => found === undefined).length;
  }
  const plan = makePlan(seed, billings, startYearFrom(new Date()));
  const proof = await prove(plan, { calm }, say, interrupted.signal);
  process.stdout.write(`${printed(proof, billings)}\n`);
  return proof.differences.length + proof.books.length;
}

main().then(
  (found) => process.exit(found === 0 ? 0 : 1),
  (error: unknown) => {
    const known = error instanceof StartError;
    say(error instanceof Error ? (!known && error.stack) || error.message : String(error));
    process.exit(1);
  },
);
