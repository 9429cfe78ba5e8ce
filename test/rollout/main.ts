import { Command } from 'commander';
import { runCommand, say, wholeNumber } from '../../scripts/command';
import { rollOut } from './story';

/**
 * `npm run rollout`: a changed workflow is rolled out while schedules wait, and rolled back. Exit
 * code 1 where a charge was not made, or made twice.
 */

const { schedules } = new Command('npm run rollout --')
  .option('--schedules <n>', 'how many wait meanwhile', wholeNumber(1, 1_000), 100)
  .parse()
  .opts<{ schedules: number }>();

const startedAt = Date.now();
const timed = (line: string) => say(`${((Date.now() - startedAt) / 1000).toFixed(0).padStart(4)} s  ${line}`);

runCommand(async (signal, stops) => {
  const { problems, summary } = await rollOut(schedules, timed, signal, stops);
  process.stdout.write(`${[...problems, summary].join('\n')}\n`);
  return problems.length === 0;
});
