import { Command } from 'commander';
import { untilAborted } from '../src/process/deadline';
import { runCommand, say, wholeNumber, type Stops } from '../scripts/command';
import { compareBooks } from './audit';
import { inFlight } from './load';
import { AT_ONCE, ENGINE } from './plan';
import { ProcessMemory } from './process-memory';
import { beginRun, keepResult } from './result';
import { measure, percentile } from './sample';
import { startNetwork } from './start-network';

/**
 * `npm run bench:sustained`: single charges without a pause, on several APIs and workers with one
 * Postgres, beside Temporal on a Postgres of its own. Tells the pace of each minute, so that a slow
 * decline shows. Exit code 1 where a charge was lost or doubled.
 */

const CUSTOMERS = 500;
/** Between two looks at the time: enough charges that the ends of a lot hardly count. */
const LOT = 200;

interface Minute {
  perSecond: number;
  /** A charge takes this much in all processes of the engine and of Temporal. */
  cpuMs: number;
  p95Ms: number;
  apiMb: number;
  workerMb: number;
}

const options = new Command('npm run bench:sustained --')
  .option('--minutes <n>', 'how long', wholeNumber(1, 600), 10)
  .option('--apis <n>', 'how many API processes', wholeNumber(1, 8), 2)
  .option('--workers <n>', 'how many worker processes', wholeNumber(1, 8), 2)
  .parse()
  .opts<{ minutes: number; apis: number; workers: number }>();

async function main(signal: AbortSignal, stops: Stops): Promise<boolean> {
  const { minutes, apis, workers } = options;
  const begun = beginRun('bench:sustained');
  const wanted = { temporal: 'postgres', apis, workers, customers: CUSTOMERS } as const;
  const { engine, network, gauges, failing } = await startNetwork(wanted, signal, stops);
  const { merchant } = network;
  const memory = { api: ProcessMemory.ofAll('api'), worker: ProcessMemory.ofAll('worker') };
  await inFlight(LOT, AT_ONCE.charges, () => merchant.bill(1));

  async function minute(): Promise<Minute> {
    const doneMs: number[] = [];
    const endsAt = performance.now() + 60_000;
    const sample = await measure(gauges, 1, async () => {
      while (performance.now() < endsAt) {
        await inFlight(LOT, AT_ONCE.charges, async () => {
          const startedAt = performance.now();
          await merchant.bill(1);
          doneMs.push(performance.now() - startedAt);
        });
      }
    });
    const cpuMs = ENGINE.reduce((sum, name) => sum + (sample.cpu[name] ?? 0), 0) / doneMs.length;
    return {
      perSecond: (doneMs.length / sample.ms) * 1000,
      cpuMs,
      p95Ms: percentile(
        doneMs.toSorted((a, b) => a - b),
        0.95,
      ),
      apiMb: mostMb(memory.api),
      workerMb: mostMb(memory.worker),
    };
  }

  const driven: Minute[] = [];
  while (driven.length < minutes) {
    const one = await untilAborted(Promise.race([minute(), merchant.failed]), failing);
    driven.push(one);
    say(`minute ${driven.length}: ${JSON.stringify(one)}`);
  }
  const books = await compareBooks(engine.ownerUrl, network);
  keepResult('sustained', { ...begun, apis, workers, minutes: driven, books });
  process.stdout.write(`${JSON.stringify({ minutes: driven, books }, null, 2)}\n`);
  return books.problems.length === 0;
}

const mostMb = (of: ProcessMemory[]) => Math.max(...of.map(({ nowMb }) => nowMb));

runCommand(main);
