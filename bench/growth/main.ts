import Table from 'cli-table3';
import { Command } from 'commander';
import { z } from 'zod';
import { runCommand, say, type Stops } from '../../scripts/command';
import { generate, volume } from './generate';
import { measure, type Measured } from './measure';
import { openFolder, startServer, WHILE_MEASURING } from './server';

/**
 * `npm run bench:growth`: whether the statements of every hot path keep to their indexes when two
 * years of a large network are in the tables, and how long they take. Exit code 1 where one does
 * not.
 */

interface Options {
  scale: number;
  keep?: string;
  json?: true;
  only?: RegExp;
}

const options = new Command('npm run bench:growth --')
  .option(
    '--scale <n>',
    'share of the full size (1 000 000 schedules, 10 000 000 transactions)',
    (text) => z.coerce.number().positive().max(10).parse(text),
    1,
  )
  .option('--keep <folder>', 'where the data stays, to be measured again')
  .option('--only <pattern>', 'measures only paths whose names match', (text) => new RegExp(text))
  .option('--json', 'the report as JSON on standard output')
  .parse()
  .opts<Options>();

async function main(signal: AbortSignal, stops: Stops): Promise<boolean> {
  const folder = openFolder(options.keep, options.scale);
  stops.push(() => folder.remove());
  if (!folder.complete) {
    say(`Generating, at ${options.scale} of the full size …`);
    const server = await startServer(folder.path, 'generating', signal);
    stops.push(() => server.stop());
    await generate(server, volume(options.scale), say);
    await server.stop();
    folder.finish();
  }
  const server = await startServer(folder.path, 'measuring', signal);
  stops.push(() => server.stop());
  say(`Measuring, with ${WHILE_MEASURING.join(', ')} …`);
  const measured = await measure(server, options.only ?? /./, say);
  process.stdout.write(`${options.json ? JSON.stringify(measured, null, 2) : printed(measured)}\n`);
  return measured.every(({ faults }) => faults.length === 0);
}

function printed(measured: Measured[]): string {
  const table = new Table({ head: ['path', 'median ms', 'p99 ms', 'statements', 'pages', 'indexes'] });
  for (const one of measured) {
    table.push([
      one.name,
      one.medianMs.toFixed(1),
      one.p99Ms.toFixed(1),
      one.statements,
      one.buffers,
      one.indexes.join(' '),
    ]);
  }
  const lines = measured.flatMap(({ name, faults }) => faults.map((fault) => `${name}: ${fault}`));
  return [table.toString(), ...lines].join('\n');
}

runCommand(main);
