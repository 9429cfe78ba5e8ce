import { Command, Option } from 'commander';
import { Client } from 'pg';
import { z } from 'zod';
import type { StoryEngine } from '../demo/engine';
import { compareBooks } from './audit';
import { startChild } from './child';
import { settingsInForce, startEngine } from './engine';
import { TemporalFloor } from './floor/temporal';
import { Network } from './network';
import { AT_ONCE, CALL_SIZE, FULL, GROUPS, QUICK, type Group, type Sizes, type Work } from './plan';
import { read } from './reads';
import { inFlight } from './load';
import { loadNow, makeReport, printed, type Report, type Samples } from './report';
import { measure, measureDue, type Sample } from './sample';

/**
 * `npm run bench`: what a charge costs beside the least that Temporal and Express ask for such work. All of it runs
 * on this machine: an engine of its own, the floors, a bank and a merchant, each in processes of their own, and the
 * load from here. Exit code 1 where a charge was lost or doubled; a goal that is missed is reported.
 */

interface Options {
  quick?: true;
  json?: true;
  rounds?: number;
  only?: Group;
}

const options = new Command('npm run bench --')
  .option('--quick', 'smaller rounds: three minutes on a free machine')
  .option('--json', 'the report as JSON on standard output')
  .option('--rounds <n>', 'how many rounds', (text) => z.coerce.number().int().min(1).max(100).parse(text))
  .addOption(new Option('--only <group>', 'one group of work alone').choices(Object.keys(GROUPS)))
  .parse()
  .opts<Options>();

const say = (line: string) => void process.stderr.write(`${line}\n`);

async function main(): Promise<Report> {
  process.umask(0o077);
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => interrupted.abort(new Error('interrupted')));
  }
  const stops: (() => Promise<void>)[] = [];
  try {
    const stopped = new Promise<never>((_, reject) => {
      interrupted.signal.addEventListener('abort', () => reject(interrupted.signal.reason as Error));
    });
    return await Promise.race([run(stops, interrupted.signal), stopped]);
  } finally {
    for (const stop of stops.toReversed()) await stop();
  }
}

/** @param stops takes what ends each thing that was started */
async function run(stops: (() => Promise<void>)[], signal: AbortSignal): Promise<Report> {
  const loadBefore = loadNow();
  const sizes = { ...(options.quick ? QUICK : FULL), ...(options.rounds && { rounds: options.rounds }) };
  const engine = await startEngine(say, signal);
  stops.push(() => engine.stop());
  const floor = await TemporalFloor.start(engine.temporalAddress, engine.namespace);
  stops.push(() => floor.stop());
  const http = await startChild<{ port: number }>('floor/http.ts', { API_URL: engine.apiUrl });
  stops.push(() => http.stop());
  say('Bringing in customers …');
  const network = await Network.open(engine, Math.max(sizes.schedules, sizes.charges));
  stops.push(() => network.close());

  const groups = options.only ? [options.only] : (Object.keys(GROUPS) as Group[]);
  const floors = { workflows: floor, httpUrl: `http://127.0.0.1:${http.ready.port}` };
  const work = workOn(engine, network, floors, await network.token());
  const samples = await Promise.race([inRounds(groups, work, sizes), network.failed]);

  say('Comparing the books …');
  return makeReport({
    temporal: 'dev server, SQLite file',
    sizes,
    settings: settingsInForce(),
    loadBefore,
    samples,
    historyEvents: await historyEvents(engine.ownerUrl, floor),
    books: await compareBooks(engine.ownerUrl, network),
  });
}

type DoWork = Record<Work, (sizes: Sizes) => Promise<Sample>>;

function workOn(
  engine: StoryEngine,
  network: Network,
  floor: { workflows: TemporalFloor; httpUrl: string },
  token: string,
): DoWork {
  const { charges: chargesAtOnce, calls: callsAtOnce, reads: readsAtOnce, starts } = AT_ONCE;
  const noOp =
    (shape: 'textbook' | 'local') =>
    ({ charges }: Sizes) =>
      measure(charges, () => floor.workflows.run(shape, charges, chargesAtOnce));
  const readFrom =
    (url: string) =>
    ({ reads }: Sizes) =>
      measure(reads, () => read(url, token, [...network.accepted], reads, readsAtOnce));
  return {
    textbook: noOp('textbook'),
    local: noOp('local'),
    single: ({ charges }) => measure(charges, () => inFlight(charges, chargesAtOnce, () => network.bill(1))),
    tens: ({ calls }) =>
      measure(calls * CALL_SIZE, () => inFlight(calls, callsAtOnce, () => network.bill(CALL_SIZE))),
    expressRead: readFrom(floor.httpUrl),
    read: readFrom(engine.apiUrl),
    sleeper: ({ schedules }) =>
      measureDue(schedules, (at) => floor.workflows.sleepUntil(at, schedules, starts)),
    due: ({ schedules }) => measureDue(schedules, (at) => network.schedule(at, schedules, starts)),
  };
}

/** Compiled code and open connections, for all that is measured after. */
const WARM_UP: Sizes = { rounds: 1, charges: 50, calls: 5, reads: 1_000, schedules: 20 };

async function inRounds(groups: Group[], work: DoWork, sizes: Sizes): Promise<Samples> {
  const samples: Samples = {};
  say('Warming up …');
  // Charges in any case, for there must be something to read.
  await work.single(WARM_UP);
  for (const group of groups) {
    for (const name of GROUPS[group]) await work[name](WARM_UP);
    for (let round = 1; round <= sizes.rounds; round++) {
      for (const name of GROUPS[group]) {
        const sample = await work[name](sizes);
        (samples[name] ??= []).push(sample);
        say(`${group}, round ${round}: ${name} ${((sample.units / sample.ms) * 1000).toFixed(1)}/s`);
      }
    }
  }
  return samples;
}

/** Workflows of each kind that are asked for the length of their history: they differ little. */
const HISTORIES = 20;

/** Events per unit, for every kind of work whose workflows there are. */
async function historyEvents(ownerUrl: string, floor: TemporalFloor): Promise<Partial<Record<Work, number>>> {
  const client = new Client(ownerUrl);
  await client.connect();
  const ofEngine = async (pattern: string) => {
    const found = await client.query<{ id: string }>(
      `SELECT DISTINCT workflow_id AS id FROM billing_requests WHERE workflow_id LIKE $1 LIMIT ${HISTORIES}`,
      [pattern],
    );
    return found.rows.map(({ id }) => id);
  };
  try {
    const events: Partial<Record<Work, number>> = {};
    for (const [work, ids, units] of [
      ['textbook', floor.someOf('textbook', HISTORIES), 1],
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
  } finally {
    await client.end();
  }
}

main().then(
  (report) => {
    process.stdout.write(options.json ? `${JSON.stringify(report, null, 2)}\n` : `${printed(report)}\n`);
    process.exit(report.books.problems.length === 0 ? 0 : 1);
  },
  (error: unknown) => {
    say(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exit(1);
  },
);
