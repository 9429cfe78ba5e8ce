import { setMaxListeners } from 'node:events';
import { Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { StartError } from '../../src/start/start-error';
import { Watch } from './caller';
import { assemble, type Cast } from './cast';
import { startStormEngine, type StormEngine } from './engine';
import { Load, windUp } from './load';
import { observe } from './observe';
import { compare } from './oracle';
import { makePlan, type Plan } from './plan';
import { untilQuiet } from './quiet';
import { asMarkdown, counted, faultsOf, printed, type Report } from './report';
import { rage } from './weather';

/**
 * `npm run storm`: everything that the engine runs on dies and hangs in random order, under load,
 * and then all that anybody was told is compared. Exit code 1 where something is not as
 * `docs/reliability.md` promises.
 */

interface Options {
  seconds: number;
  seed: number;
  calm?: true;
  disk?: string;
  json?: true;
  markdown?: true;
}

const between = (least: number, most: number) => (text: string) => {
  const given = z.coerce.number().int().min(least).max(most).safeParse(text);
  if (!given.success) throw new InvalidArgumentError(`It must be a number from ${least} to ${most}.`);
  return given.data;
};

const options = new Command('npm run storm --')
  // Beyond that the lists that the oracle reads would have an end before the storm has.
  .option('--seconds <n>', 'how long it lasts', between(5, 600), 120)
  .option('--seed <n>', 'decides load and faults', between(0, 2 ** 31), 1)
  .option('--calm', 'the load alone, without faults')
  .option('--disk <folder>', 'of a small file system of its own, for Postgres, which is filled now and then')
  .option('--json', 'the report as JSON on standard output')
  .option('--markdown', 'the report as a row of the table in docs/reliability.md')
  .parse()
  .opts<Options>();

/**
 * Windows close, webhooks come again every five seconds, and two cores take minutes for what ten
 * minutes of faults left.
 */
const QUIET_WITHIN_MS = 300_000;
/** After all is well again, a caller who still has no answer will get none. */
const ANSWERED_WITHIN_MS = 60_000;

const say = (line: string) => void process.stderr.write(`${line}\n`);

async function main(): Promise<Report> {
  process.umask(0o077);
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => interrupted.abort(new Error('interrupted')));
  }
  const { signal } = interrupted;
  // Each call in flight listens to it.
  setMaxListeners(0, signal);
  const engine = await startStormEngine({ diskFolder: options.disk }, say, signal);
  const stops: (() => Promise<void>)[] = [];
  // Also where the storm itself does not come to its end.
  let keep = true;
  try {
    const report = await storm(engine, stops, signal);
    keep = report.findings.length > 0;
    return keep ? { ...report, folder: engine.folder } : report;
  } catch (error) {
    keep = !signal.aborted;
    if (keep) say(`Logs and data are kept in ${engine.folder}.`);
    throw error;
  } finally {
    await engine.stop(keep);
    for (const stop of stops.toReversed()) await stop();
  }
}

async function storm(
  engine: StormEngine,
  stops: (() => Promise<void>)[],
  signal: AbortSignal,
): Promise<Report> {
  const { seed, seconds, calm, disk } = options;
  const plan = makePlan(seed, seconds, calm ? 'calm' : disk === undefined ? 'foul' : 'disk');
  const watch = new Watch(signal);
  say('Bringing in banks, merchants and customers …');
  const cast = await assemble(engine, watch, stops);
  const load = new Load(cast, seed);
  // Only from here on does anybody have to bear anything.
  watch.answers.clear();

  const { operations, faults } = plan;
  say(`Seed ${seed}: ${operations.length} operations and ${faults.length} faults in ${seconds} s.`);
  await Promise.all([load.run(operations, signal), rage(faults, engine, cast, say, signal)]);

  say('The storm is over. Healing …');
  const overAt = Date.now();
  for (const party of [...cast.banks, cast.shop, cast.market, cast.club]) party.link.become('open');
  await engine.heal(signal);
  await windUp(cast.club, `storm-${seed}-end`);
  watch.giveUpAt = Date.now() + ANSWERED_WITHIN_MS;
  const servers = await untilQuiet(engine, cast, load, QUIET_WITHIN_MS, say, signal);
  const quietAfterMs = Date.now() - overAt;
  // The comparison reads as much as there is.
  watch.giveUpAt = Infinity;

  say('Quiet. Comparing …');
  return reportOn({ engine, plan, watch, cast, load, servers, quietAfterMs });
}

async function reportOn({
  engine,
  plan,
  watch,
  cast,
  load,
  servers,
  quietAfterMs,
}: {
  engine: StormEngine;
  plan: Plan;
  watch: Watch;
  cast: Cast;
  load: Load;
  servers: Awaited<ReturnType<typeof untilQuiet>>;
  quietAfterMs: number;
}): Promise<Report> {
  const answers = Object.fromEntries(watch.answers);
  const intentIds = load.acknowledged.flatMap(({ kind, id }) => (kind === 'intent' ? id : []));
  const { banks, merchants } = await observe(cast, intentIds);
  const { 'worker-1': one, 'worker-2': other, ...rest } = engine.processes;
  const met = [
    ...load.problems,
    ...watch.surprises,
    ...cast.banks.flatMap(({ bank }) => bank.unheard),
    // A worker ends when it cannot reach Temporal; nothing else may.
    ...Object.values(rest).flatMap(({ unexpected }) => unexpected.map((end) => `ended by itself: ${end}`)),
  ];
  const findings = compare({
    acknowledged: load.acknowledged,
    banks,
    merchants,
    servers,
    met,
    timeZone: 'Africa/Lagos',
  });
  const book = banks.flatMap((bank) => bank.book);
  const attempts = await Promise.all(
    [...cast.banks, cast.shop, cast.market, cast.club].map(({ server }) => server.attempts()),
  );
  const outcomes = counted(attempts.flat().map(({ outcome }) => outcome));
  return {
    seed: plan.seed,
    seconds: plan.seconds,
    faults: faultsOf(plan),
    endedByThemselves: counted([one, other].flatMap(({ unexpected }) => unexpected)),
    operations: load.begun,
    acknowledged: counted(load.acknowledged.map(({ kind }) => kind)),
    refused: Object.fromEntries(load.refused),
    ended: counted(
      merchants.flatMap(({ history }) =>
        history.map(({ type, status, declineReason }) =>
          [type, status, declineReason ?? ''].join(' ').trim(),
        ),
      ),
    ),
    debits: {
      standing: book.filter(({ state }) => state === 'standing').length,
      reversed: book.filter(({ state }) => state === 'reversed').length,
    },
    exceptions: servers.exceptions.length,
    answers,
    webhooks: { taken: outcomes['taken'] ?? 0, repeats: outcomes['repeat'] ?? 0 },
    quietAfterMs,
    findings,
  };
}

main().then(
  (report) => {
    const text = options.json
      ? JSON.stringify(report, null, 2)
      : options.markdown
        ? asMarkdown(report)
        : printed(report);
    process.stdout.write(`${text}\n`);
    // The row has their number alone.
    if (options.markdown) for (const found of report.findings) say(JSON.stringify(found));
    process.exit(report.findings.length === 0 ? 0 : 1);
  },
  (error: unknown) => {
    const known = error instanceof StartError;
    say(error instanceof Error ? (!known && error.stack) || error.message : String(error));
    process.exit(1);
  },
);
