import { Command } from 'commander';
import { runCommand, say, wholeNumber } from '../../scripts/command';
import { prepareTemporalOnPostgres, temporalOption } from '../launch/temporal-postgres';
import { makePlan, startYearFrom } from './make-plan';
import { proveMutants } from './mutants';
import { printed, verdictsPrinted } from './report';
import { prove } from './years';

/**
 * `npm run prove`: years of billing on the real engine, by test clocks, while its processes die; an
 * oracle that shares no code with the engine says beforehand what comes of them. Exit code 1 where
 * something else did.
 */

const { seed, billings, calm, mutations, temporal } = new Command('npm run prove --')
  .option('--billings <n>', 'about how many', wholeNumber(10, 1_000_000), 300)
  .option('--seed <n>', 'decides all of it', wholeNumber(0, 2 ** 31), 1)
  .option('--calm', 'nothing is killed', false)
  .option(
    '--mutations [words]',
    'on faulty engines in place of ours, one after the other: each must be found',
  )
  .addOption(temporalOption('dev'))
  .parse()
  .opts<{
    billings: number;
    seed: number;
    calm: boolean;
    mutations?: string | true;
    temporal: 'dev' | 'postgres';
  }>();

runCommand(async (signal, stops) => {
  if (mutations !== undefined) {
    const verdicts = await proveMutants(mutations === true ? '' : mutations, say, signal);
    process.stdout.write(`${verdictsPrinted(verdicts)}\n`);
    return verdicts.every(({ found }) => found !== undefined);
  }
  const options = {
    calm,
    temporal: temporal === 'postgres' ? await prepareTemporalOnPostgres(signal, stops) : undefined,
  };
  const proof = await prove(makePlan(seed, billings, startYearFrom(new Date())), options, say, signal);
  process.stdout.write(`${printed(proof, billings)}\n`);
  return proof.differences.length + proof.books.length === 0;
});
