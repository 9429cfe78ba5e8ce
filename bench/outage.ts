import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { Command } from 'commander';
import { onDatabase } from '../src/database/pool/one-connection';
import { poll } from '../src/process/poll';
import { untilAborted } from '../src/process/deadline';
import { runCommand, say, wholeNumber, type Stops } from '../scripts/command';
import { compareBooks } from './audit';
import { AT_ONCE } from './plan';
import { ProcessMemory } from './process-memory';
import { beginRun, keepResult } from './result';
import { measureProbes, percentile } from './sample';
import { startNetwork, type MeasuredNetwork } from './start-network';
import { untilWaiting } from './waiting';

/**
 * `npm run bench:outage`: what sleeping schedules cost one worker, and how it catches up. The
 * worker is stopped while some of them fall due, and killed: its successor must charge all that was
 * due, while a small merchant's charges go on. Exit code 1 where a charge was lost or doubled.
 */

const CUSTOMERS = 500;
/** Schedules that are asleep fall due after any run of this. */
const FAR_MS = 60 * 86_400_000;
/** Moments of the outage at which schedules fall due, evenly spread. */
const MOMENTS = 20;
/** Time to make one schedule that falls due in the outage, and to let it fall asleep. */
const MAKE_MS = 300;
const LEAD_MS = 10_000;
const READY_WITHIN_MS = 120_000;

const options = new Command('npm run bench:outage --')
  .option('--schedules <n>', 'how many are asleep', wholeNumber(1, 1_000_000), 100_000)
  .option('--due <n>', 'how many fall due in the outage', wholeNumber(MOMENTS, 100_000), 2_000)
  .option('--outage-s <n>', 'how long the worker is away', wholeNumber(1, 86_400), 3_600)
  .parse()
  .opts<{ schedules: number; due: number; outageS: number }>();

async function main(signal: AbortSignal, stops: Stops): Promise<boolean> {
  const { schedules, due, outageS } = options;
  const begun = beginRun('bench:outage');
  const wanted = { temporal: 'postgres', apis: 1, workers: 1, customers: CUSTOMERS } as const;
  const measured = await startNetwork(wanted, signal, stops);
  const { engine, network, gauges, failing } = measured;
  const { merchant, neighbour } = network;
  const watched = <Result>(work: Promise<Result>) =>
    untilAborted(Promise.race([work, merchant.failed, neighbour.failed]), failing);

  const before = await sizes(measured);
  const startedAt = performance.now();
  await watched(fallAsleep(measured, schedules - due));
  // The books compare what was to be charged.
  merchant.schedules.clear();
  const made = { seconds: seconds(startedAt), before, after: await sizes(measured) };
  say(`asleep: ${JSON.stringify(made)}`);

  const outageAt = Date.now() + due * MAKE_MS + LEAD_MS;
  const done: Promise<number>[] = [];
  for (let n = 0; n < MOMENTS; n++) {
    const at = outageAt + ((n + 1) * outageS * 1000) / (MOMENTS + 1);
    done.push(...(await watched(merchant.schedule(at, Math.round(due / MOMENTS), AT_ONCE.starts))));
    await watched(untilWaiting(engine.ownerUrl, at));
  }
  if (Date.now() > outageAt) throw new Error('the schedules were not made in time: this machine is too busy');
  await wait(outageAt - Date.now());
  const worker = ProcessMemory.of('worker');
  process.kill(worker.pid, 'SIGSTOP');
  say(`The worker is away for ${outageS} s …`);
  await watched(wait(outageS * 1000));

  const starts = await workerStarts(engine.logFile);
  process.kill(worker.pid, 'SIGKILL');
  const killedAt = performance.now();
  let readyS = 0;
  const isReady = poll('A worker', READY_WITHIN_MS, signal, async () => {
    if ((await workerStarts(engine.logFile)) === starts) throw new Error('it is not ready');
  }).then(() => void (readyS = seconds(killedAt)));
  const all = Promise.all([isReady, ...done]);
  const probes = await watched(measureProbes(gauges, () => neighbour.bill(1), all));
  const chargedS = (await Promise.all(done)).map((at) => (at - killedAt) / 1000).toSorted((a, b) => a - b);
  const caughtUp = {
    readyS,
    firstS: chargedS[0],
    medianS: percentile(chargedS, 0.5),
    lastS: chargedS.at(-1),
    neighbourP95Ms: percentile(probes.probed?.doneMs ?? [], 0.95),
    after: await sizes(measured),
  };
  const books = await compareBooks(engine.ownerUrl, network);
  const result = { schedules, due, outageS, made, caughtUp, books };
  keepResult('outage', { ...begun, ...result });
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  return books.problems.length === 0;
}

/** Many at once, in lots, so that the time that is left can be told. */
async function fallAsleep({ engine, network }: MeasuredNetwork, count: number): Promise<void> {
  const lot = 1_000;
  for (let from = 0; from < count; from += lot) {
    const at = Date.now() + FAR_MS;
    void (await network.merchant.schedule(at, Math.min(lot, count - from), AT_ONCE.starts));
    await untilWaiting(engine.ownerUrl, at);
    if (from % 10_000 === 0) say(`${from + lot} of ${count} are asleep`);
  }
}

/** Memory of the processes, and disk of the databases, in MB. */
async function sizes({ engine, temporal }: MeasuredNetwork): Promise<Record<string, number>> {
  return {
    apiMb: ProcessMemory.of('api').nowMb,
    workerMb: ProcessMemory.of('worker').nowMb,
    diskMb: await diskOf(engine.ownerUrl, ['assent']),
    temporalDiskMb: temporal ? await diskOf(temporal.postgres.url, temporal.postgres.databases) : 0,
  };
}

function diskOf(url: string, databases: string[]): Promise<number> {
  return onDatabase(url, async (client) => {
    const { rows } = await client.query<{ mb: number }>(
      'SELECT sum(pg_database_size(datname))::float8 / 1e6 AS mb FROM pg_database WHERE datname = ANY($1)',
      [databases],
    );
    return Math.round(rows[0]?.mb ?? 0);
  });
}

async function workerStarts(logFile: string): Promise<number> {
  return (await readFile(logFile, 'utf8')).split('"msg":"worker is ready"').length;
}

const seconds = (since: number) => (performance.now() - since) / 1000;

runCommand(main);
