import { Command } from 'commander';
import { runCommand, say, wholeNumber, type Stops } from '../../scripts/command';
import { prepareTemporalOnPostgres, temporalOption } from '../launch/temporal-postgres';
import { Watch } from '../parties/watch';
import { assemble, partiesOf } from './cast';
import { startStormEngine, type StormEngine } from './engine';
import { Load, windUp } from './load';
import { observe } from './observe';
import { compare } from './oracle';
import { makePlan } from './plan';
import { untilQuiet } from './quiet';
import { counted, faultsOf, printed, type Report } from './report';
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
  temporal: 'dev' | 'postgres';
  json?: true;
}

const options = new Command('npm run storm --')
  // Beyond that the lists that the oracle reads would have an end before the storm has.
  .option('--seconds <n>', 'how long it lasts', wholeNumber(5, 600), 120)
  .option('--seed <n>', 'decides load and faults', wholeNumber(0, 2 ** 31), 1)
  .option('--calm', 'the load alone, without faults')
  .option('--disk <folder>', 'of a small file system of its own, for Postgres, which is filled now and then')
  .addOption(temporalOption('dev'))
  .option('--json', 'the report as JSON on standard output')
  .parse()
  .opts<Options>();

/**
 * Windows close, webhooks come again every five seconds, and two cores take minutes for what ten
 * minutes of faults left.
 */
const QUIET_WITHIN_MS = 300_000;
/** After all is well again, a caller who still has no answer will get none. */
const ANSWERED_WITHIN_MS = 60_000;

async function main(signal: AbortSignal, stops: Stops): Promise<boolean> {
  const temporal =
    options.temporal === 'postgres' ? await prepareTemporalOnPostgres(signal, stops) : undefined;
  const engine = await startStormEngine({ diskFolder: options.disk, temporal }, say, signal);
  // Also where the storm itself does not come to its end.
  let keep = true;
  stops.push(async () => {
    if (keep && !signal.aborted) say(`Logs and data are kept in ${engine.folder}.`);
    await engine.stop(keep && !signal.aborted);
  });
  const report = await storm(engine, signal, stops);
  keep = report.findings.length > 0;
  process.stdout.write(`${options.json ? JSON.stringify(report, null, 2) : printed(report)}\n`);
  return !keep;
}

async function storm(engine: StormEngine, signal: AbortSignal, stops: Stops): Promise<Report> {
  const { seed, seconds, calm, disk } = options;
  const plan = makePlan(seed, seconds, calm ? 'calm' : disk === undefined ? 'foul' : 'disk');
  const watch = new Watch(signal);
  say('Bringing in banks, merchants and customers …');
  const cast = await assemble(engine, watch, stops);
  const load = new Load(cast, seed);
  watch.answers.clear();

  const { operations, faults } = plan;
  say(`Seed ${seed}: ${operations.length} operations and ${faults.length} faults in ${seconds} s.`);
  await Promise.all([load.run(operations, signal), rage(faults, engine, cast, say, signal)]);

  say('The storm is over. Healing …');
  const overAt = Date.now();
  for (const { link } of partiesOf(cast)) link.become('open');
  await engine.heal(signal);
  await windUp(cast.club, `storm-${seed}-end`, signal);
  await load.releasePaused(cast.stall);
  watch.giveUpAt = Date.now() + ANSWERED_WITHIN_MS;
  const servers = await untilQuiet(engine, cast, load, QUIET_WITHIN_MS, say, signal);
  const quietAfterMs = Date.now() - overAt;
  watch.giveUpAt = Infinity;

  say('Quiet. Comparing …');
  const answers = Object.fromEntries(watch.answers);
  const { acknowledged, revoked } = load;
  const intentIds = acknowledged.flatMap(({ kind, id }) => (kind === 'intent' ? id : []));
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
    acknowledged,
    revoked,
    banks,
    merchants,
    servers,
    met,
    timeZone: 'Africa/Lagos',
  });
  const book = banks.flatMap((bank) => bank.book);
  const outcomes = partiesOf(cast).flatMap(({ receiver }) => receiver.received.map(({ outcome }) => outcome));
  const ends = merchants.flatMap(({ history }) =>
    history.map(({ type, status, declineReason }) => [type, status, declineReason ?? ''].join(' ').trim()),
  );
  return {
    seed,
    seconds,
    faults: faultsOf(plan),
    endedByThemselves: counted([one, other].flatMap(({ unexpected }) => unexpected)),
    operations: load.begun,
    acknowledged: counted(acknowledged.map(({ kind }) => kind)),
    refused: Object.fromEntries(load.refused),
    ended: counted(ends),
    debits: counted(book.map(({ state }) => state)),
    exceptions: servers.exceptions.length,
    answers,
    webhooks: counted(outcomes),
    quietAfterMs,
    findings,
  };
}

runCommand(main);
