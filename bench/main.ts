import { setTimeout as wait } from 'node:timers/promises';
import { Command, Option } from 'commander';
import { untilAborted } from '../src/process/deadline';
import { HEAP } from '../src/start/own-program';
import { onDatabase } from '../src/database/pool/one-connection';
import { temporalOption } from '../test/launch/temporal-postgres';
import { startScript } from '../test/parties/process';
import { runCommand, say, wholeNumber, type Stops } from '../scripts/command';
import { compareBooks } from './audit';
import { built } from './build';
import { settingsInForce, type BenchEngine } from './engine';
import { SameShapeFloor } from './floor/same-shape';
import { TemporalFloor } from './floor/temporal';
import type { Gauges } from './gauges';
import type { Network } from './network';
import {
  AT_ONCE,
  CALL_SIZE,
  FULL,
  GROUPS,
  LARGEST_CALL,
  QUICK,
  WARM_UP,
  type Group,
  type Sizes,
  type Work,
} from './plan';
import type { Biller } from './biller';
import { untilWaiting } from './waiting';
import { read } from './reads';
import { inFlight } from './load';
import { areSteady, makeReport, printed, withoutIdle, type Report, type Samples } from './report';
import { beginRun, keepResult } from './result';
import { DueWork, measure, measureProbes, percentile, PROBE_EVERY_MS, type Sample } from './sample';
import { startNetwork } from './start-network';

/**
 * `npm run bench`: what a charge costs beside the least that Temporal and Express ask for such
 * work. All of it runs on this machine: an engine of its own, the floors, a bank and a merchant,
 * each in processes of their own, and the load from here. Exit code 1 where a charge was lost or
 * doubled; a goal that is missed is reported.
 */

interface Options {
  quick?: true;
  json?: true;
  rounds?: number;
  only?: Group;
  temporal: 'dev' | 'postgres';
  apis: number;
  workers: number;
  dueRate?: number;
}

const options = new Command('npm run bench --')
  .option('--quick', 'smaller rounds: five minutes on a free machine')
  .option('--json', 'the report as JSON on standard output')
  .option('--rounds <n>', 'how many rounds', wholeNumber(1, 100))
  .addOption(new Option('--only <group>', 'one group of work alone').choices(Object.keys(GROUPS)))
  .addOption(temporalOption('postgres'))
  .option('--apis <n>', 'how many API processes, with the load spread over them', wholeNumber(1, 8), 1)
  .option('--workers <n>', 'how many worker processes', wholeNumber(1, 8), 1)
  .option('--due-rate <n>', 'schedules of a moment charged a second', wholeNumber(1, 10_000))
  .parse()
  .opts<Options>();

async function main(signal: AbortSignal, stops: Stops): Promise<boolean> {
  const { report, samples } = await run(stops, signal);
  const kind = [options.quick ? 'quick' : 'full', options.only ?? 'all', options.temporal].join('-');
  keepResult(kind, { ...report, samples });
  process.stdout.write(options.json ? `${JSON.stringify(report, null, 2)}\n` : `${printed(report)}\n`);
  return report.books.problems.length === 0;
}

async function run(stops: Stops, signal: AbortSignal): Promise<{ report: Report; samples: Samples }> {
  const begun = beginRun('bench');
  const { rounds } = options;
  const sizes = { ...(options.quick ? QUICK : FULL), ...(rounds && { rounds, roundsMax: rounds }) };
  const { apis, workers, only, dueRate } = options;
  const customers = Math.max(sizes.schedules, sizes.charges, LARGEST_CALL);
  const setUp = await startNetwork(
    { temporal: options.temporal, apis, workers, customers, dueRate },
    signal,
    stops,
  );
  const { temporal, environment, engine, network, gauges, failing } = setUp;
  const floor = await TemporalFloor.start(engine.temporalAddress, engine.namespace);
  stops.push(() => floor.stop());
  const http = await startScript<{ port: number }>(
    built('bench/floor/http'),
    { API_URL: engine.apiUrl },
    { flags: HEAP.API },
  );
  stops.push(() => http.stop());
  const sameShape = await SameShapeFloor.start(engine, environment, network.merchant);
  stops.push(() => sameShape.stop());

  const groups = only ? [only] : (Object.keys(GROUPS) as Group[]);
  const floors = {
    workflows: floor,
    httpUrl: `http://127.0.0.1:${http.ready.port}`,
    sameShape: sameShape.merchant,
  };
  const work = workOn(engine, network, floors, gauges);
  const { idle, samples } = await untilAborted(
    Promise.race([
      inRounds(groups, work, gauges, sizes),
      ...[...network.billers, sameShape.merchant].map(({ failed }) => failed),
    ]),
    failing,
  );

  say('Comparing the books …');
  const report = makeReport({
    ...begun,
    temporal: temporal?.description ?? 'dev server, SQLite file',
    processes: { apis, workers },
    sizes,
    settings: settingsInForce(environment),
    idle,
    samples,
    historyEvents: await historyEvents(engine.ownerUrl, floor),
    books: await compareBooks(engine.ownerUrl, network),
  });
  return { report, samples };
}

type DoWork = Record<Work, (sizes: Sizes) => Promise<Sample>>;

function workOn(
  engine: BenchEngine,
  network: Network,
  floor: { workflows: TemporalFloor; httpUrl: string; sameShape: Biller },
  gauges: Gauges,
): DoWork {
  const { merchant, neighbour } = network;
  const { charges: chargesAtOnce, calls: callsAtOnce, reads: readsAtOnce, starts } = AT_ONCE;
  const readFrom =
    (url: string) =>
    async ({ reads }: Sizes) => {
      const token = await network.token();
      return measure(gauges, reads, () => read(url, token, [...merchant.accepted], reads, readsAtOnce));
    };
  const bills = (count: number, size: number, atOnce: number) =>
    inFlight(count, atOnce, () => merchant.bill(size));
  const probe = (until: Promise<unknown>) => measureProbes(gauges, () => neighbour.bill(1), until);
  const sleepers = new DueWork((at, count) => floor.workflows.sleepUntil(at, count, starts));
  const schedules = new DueWork(async (at, count) => {
    const done = await merchant.schedule(at, count, starts);
    await untilWaiting(engine.ownerUrl, at);
    return done;
  });
  return {
    local: ({ charges }) => measure(gauges, charges, () => floor.workflows.run(charges, chargesAtOnce)),
    sameShape: ({ charges }) =>
      measure(gauges, charges, () => inFlight(charges, chargesAtOnce, () => floor.sameShape.bill(1))),
    single: ({ charges }) => measure(gauges, charges, () => bills(charges, 1, chargesAtOnce)),
    tens: ({ calls }) => measure(gauges, calls * CALL_SIZE, () => bills(calls, CALL_SIZE, callsAtOnce)),
    expressRead: readFrom(floor.httpUrl),
    read: readFrom(engine.apiUrl),
    sleeper: ({ schedules: count }) => sleepers.measure(gauges, count),
    due: ({ schedules: count }) => schedules.measure(gauges, count),
    quiet: ({ probes }) => probe(wait(probes * PROBE_EVERY_MS)),
    whileDue: async ({ schedules: count }) => probe(Promise.all(await schedules.fallsDue(count))),
    whileCrowd: ({ crowd }) => {
      const calls = crowd / LARGEST_CALL;
      return probe(bills(calls, LARGEST_CALL, calls));
    },
  };
}

async function inRounds(
  groups: Group[],
  work: DoWork,
  gauges: Gauges,
  sizes: Sizes,
): Promise<{ idle: Record<string, number>; samples: Samples }> {
  say('Warming up …');
  const warmUp = options.quick ? WARM_UP.quick : WARM_UP.full;
  // Reads need something to read, and probes a warm engine.
  if (options.only === 'reads' || options.only === 'starvation') await work.single(warmUp);
  for (const group of groups) for (const name of GROUPS[group]) await work[name](warmUp);
  say(`Measuring ${sizes.idleS} s in which nothing is asked …`);
  const { cpu, countedMs } = await measure(gauges, 1, () => wait(sizes.idleS * 1000));
  const idle = Object.fromEntries(Object.entries(cpu).map(([name, ms]) => [name, (ms / countedMs) * 1000]));

  const samples: Samples = {};
  for (const group of groups) {
    const works = GROUPS[group];
    for (let round = 1; round <= sizes.roundsMax; round++) {
      if (round > sizes.rounds && areSteady(works, samples)) break;
      for (const name of works) {
        const sample = withoutIdle(await work[name](sizes), idle);
        (samples[name] ??= []).push(sample);
        const { units, ms, probed } = sample;
        const result = probed
          ? `p95 ${percentile(probed.doneMs, 0.95).toFixed(0)} ms`
          : `${((units / ms) * 1000).toFixed(1)}/s`;
        say(`${group}, round ${round}: ${name} ${result}`);
      }
    }
  }
  return { idle, samples };
}

/** Workflows of each kind that are asked for the length of their history: they differ little. */
const HISTORIES = 20;

/** Events per unit, for every kind of work whose workflows there are. */
async function historyEvents(ownerUrl: string, floor: TemporalFloor): Promise<Partial<Record<Work, number>>> {
  const ofEngine = (pattern: string) =>
    onDatabase(ownerUrl, async (client) => {
      const { rows } = await client.query<{ id: string }>(
        `SELECT DISTINCT workflow_id AS id FROM billing_requests WHERE workflow_id LIKE $1 LIMIT ${HISTORIES}`,
        [pattern],
      );
      return rows.map(({ id }) => id);
    });
  const events: Partial<Record<Work, number>> = {};
  for (const [work, ids, units] of [
    ['local', floor.someOf('local', HISTORIES), 1],
    ['sleeper', floor.someOf('sleeper', HISTORIES), 1],
    ['single', await ofEngine('billing-request/%'), 1],
    ['tens', await ofEngine('billing-batch/%'), CALL_SIZE],
    ['due', await ofEngine('recurring/%'), 1],
  ] as const) {
    if (ids.length === 0) continue;
    const lengths = await floor.historyLengths(ids);
    events[work] = lengths.reduce((sum, length) => sum + length, 0) / ids.length / units;
  }
  return events;
}

runCommand(main);
