import { setMaxListeners } from 'node:events';
import { Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { StartError } from '../../src/start/start-error';
import { rollOut } from './story';

/**
 * `npm run rollout`: a changed workflow is rolled out while schedules sleep, and rolled back. Exit
 * code 1 where a charge was not made, or made twice.
 */

const schedules = (text: string) => {
  const given = z.coerce.number().int().min(1).max(1_000).safeParse(text);
  if (!given.success) throw new InvalidArgumentError('It must be a number from 1 to 1000.');
  return given.data;
};

const options = new Command('npm run rollout --')
  .option('--schedules <n>', 'how many sleep meanwhile', schedules, 100)
  .parse()
  .opts<{ schedules: number }>();

const startedAt = Date.now();
const say = (line: string) =>
  void process.stderr.write(`${((Date.now() - startedAt) / 1000).toFixed(0).padStart(4)} s  ${line}\n`);

async function main(): Promise<number> {
  process.umask(0o077);
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => interrupted.abort(new Error('interrupted')));
  }
  // Each call in flight listens to it.
  setMaxListeners(0, interrupted.signal);
  const { problems, summary } = await rollOut(options.schedules, say, interrupted.signal);
  process.stdout.write(`${[...problems, summary].join('\n')}\n`);
  return problems.length;
}

main().then(
  (found) => process.exit(found === 0 ? 0 : 1),
  (error: unknown) => {
    const known = error instanceof StartError;
    say(error instanceof Error ? (!known && error.stack) || error.message : String(error));
    process.exit(1);
  },
);
