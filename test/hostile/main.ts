import { Command } from 'commander';
import { runCommand, wholeNumber, type Stops } from '../../scripts/command';
import { OperatorError } from '../../src/domain/failures';
import { poll } from '../../src/process/poll';
import { openTarget, type Parties } from '../fuzz/cast';
import { inLanes } from '../parties/read';
import { attacksOn, type Attack, type Target } from './attack';
import { attackWithBankFile, LINES_PER_DAY } from './bank-file';
import { bodyCrowds } from './bodies';
import { attackWithColons } from './colons';
import { send } from './connection';
import { crowdsAt, type Crowd } from './crowd';
import { attackWithItems, ITEMS_LIMIT } from './items';
import { pageTargets } from './page-targets';
import { vitals, type Vitals } from './process-watch';
import { attackReaders } from './readers';

/*
 * Sends an API process, which runs on its own, what nobody means: in every parameter, header and
 * field of every operation, also of those that are there for its pages alone. It must answer each
 * with a refusal, never with a fault, never end, never stand still, and need no more memory
 * afterwards. Nor may a crowd, of connections or of one provider's merchants, keep others out. What
 * reads bytes is tried in this process, by itself.
 */

const options = new Command('npm run hostile --')
  .option('--part <n>', 'every n-th attack alone, for a quick look', wholeNumber(1, 1000), 1)
  .option(
    '--only <pattern>',
    'operations whose method and path match, crowds by name, "items", "bank-file", "colons" or "readers"',
  )
  .parse()
  .opts<{ part: number; only?: string }>();

const say = (line: string) => void process.stdout.write(`${line}\n`);

/**
 * Attacks at a time: enough to keep the process busy, and few enough to tell which of them hurt.
 */
const AT_ONCE = 6;
const GROUP = 60;
const BLOCKED_MAX_MS = 200;
/**
 * Times that an attack which blocked is tried alone: on a busy machine a process may stand still
 * through no fault of its own.
 */
const TRIES = 3;
/** Garbage and caches take so much more than the process had once it was warm. */
const MEMORY_GROWTH_MAX_MB = 200;
/** A run that goes on for longer has met something that no finding names. */
const RUN_MAX_MS = 15 * 60_000;

interface Api {
  host: string;
  port: number;
  metricsUrl: string;
}

async function main(signal: AbortSignal, stops: Stops): Promise<boolean> {
  const settings = { RATE_LIMIT_ITEMS: ITEMS_LIMIT, STATEMENT_LINES_PER_DAY: String(LINES_PER_DAY) };
  const target = await openTarget(settings, say, signal, stops);
  const { engine, parties } = target;
  const { apiUrl, ownerUrl, metricsUrls } = engine;
  const { hostname, port } = new URL(apiUrl);
  if (!metricsUrls) throw new OperatorError('The API serves no metrics: unset METRICS_PORT');
  const wanted = new RegExp(options.only ?? '');
  const all = [...(await documentedTargets(apiUrl, parties)), ...(await pageTargets(apiUrl, parties))];
  const targets = all.filter(({ method, path }) => wanted.test(`${method} ${path}`));
  const crowds = [...crowdsAt(apiUrl, parties), ...(await bodyCrowds(target, signal, stops))].filter(
    ({ name }) => wanted.test(name),
  );
  const api = { host: hostname, port: Number(port), metricsUrl: metricsUrls.api };
  const parts = Object.entries({
    items: () => attackWithItems(apiUrl, parties, say),
    'bank-file': () => attackWithBankFile(apiUrl, ownerUrl, parties['bank']?.token ?? '', say, signal),
    colons: () => attackWithColons(apiUrl, api.metricsUrl, parties, say),
    readers: () => attackReaders(options.part, say, signal),
  }).filter(([name]) => wanted.test(name));
  const isClean =
    (parts.length > 0 && targets.length + crowds.length === 0) ||
    (await attackAll(api, targets, crowds, signal));
  const found: string[] = [];
  for (const [, attack] of parts) found.push(...(await attack()));
  for (const finding of found) say(`FOUND: ${finding}`);
  return isClean && found.length === 0;
}

interface Documented {
  'x-roles'?: string[];
  parameters?: { in?: string; name?: string }[];
  requestBody?: { content: Record<string, { example?: object } | undefined> };
}

async function documentedTargets(apiUrl: string, parties: Parties): Promise<Target[]> {
  const document = (await (await fetch(`${apiUrl}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, Documented>>;
  };
  return Object.entries(document.paths).flatMap(([at, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path: at,
      body: operation.requestBody?.content['application/json']?.example,
      query: (operation.parameters ?? []).flatMap(({ in: where, name }) =>
        where === 'query' && name !== undefined ? [name] : [],
      ),
      token: parties[operation['x-roles']?.[0] ?? 'public']?.token,
    })),
  );
}

async function attackAll(
  api: Api,
  targets: Target[],
  crowds: Crowd[],
  signal: AbortSignal,
): Promise<boolean> {
  const findings = new Set<string>();
  const find = (finding: string) => {
    if (findings.has(finding)) return;
    findings.add(finding);
    say(`FOUND: ${finding}`);
  };
  const startedAt = performance.now();
  const statuses = new Map<string, number>();
  let sent = 0;
  let longestMs = 0;
  let atFirst: Vitals | undefined;
  let before = await vitals(api.metricsUrl);

  for (const group of groupsOf(targets)) {
    signal.throwIfAborted();
    if (performance.now() - startedAt > RUN_MAX_MS) {
      find(`the run was not over within ${RUN_MAX_MS / 60_000} minutes`);
      break;
    }
    const attackOnce = async (attack: Attack) => {
      const outcome = await send(api.host, api.port, attack).catch((error: unknown) => String(error));
      statuses.set(String(outcome), (statuses.get(String(outcome)) ?? 0) + 1);
      if (isFault(outcome, attack)) find(`${attack.name}: ${outcome}`);
    };
    await inLanes(group, attackOnce, AT_ONCE);
    sent += group.length;
    const after = await vitalsOnceBack(api, signal);
    if (after.startedAt !== before.startedAt)
      find(`the process ended, between ${first(group)} and ${last(group)}`);
    else if (after.uncaught > before.uncaught)
      find(`something was not caught, between ${first(group)} and ${last(group)}`);
    const worst = stoodStill(before, after) ? await blockedBy(api, group, find, signal) : 0;
    longestMs = Math.max(longestMs, worst);
    // The first operations fill what is filled once: statements, caches, compiled code.
    if (sent > GROUP * 10) atFirst ??= after;
    before = await vitals(api.metricsUrl);
  }

  for (const crowd of crowds) {
    const { name } = crowd;
    signal.throwIfAborted();
    for (const fault of new Set(await crowd.meet())) find(`${name}: ${fault}`);
    const after = await vitalsOnceBack(api, signal);
    if (after.startedAt !== before.startedAt) find(`${name}: the process ended`);
    else if (after.uncaught > before.uncaught) find(`${name}: something was not caught`);
    before = after;
  }

  const grownMB = before.residentMB - (atFirst ?? before).residentMB;
  if (grownMB > MEMORY_GROWTH_MAX_MB) find(`memory has grown by ${grownMB.toFixed(0)} MB`);
  const counts = [...statuses].sort(([a], [b]) => (a < b ? -1 : 1)).map(([status, n]) => `${status}: ${n}`);
  say(
    `\n${sent} attacks on ${targets.length} operations in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`,
  );
  say(counts.join('  '));
  say(`Memory: ${before.residentMB.toFixed(0)} MB, ${grownMB.toFixed(0)} MB more than once warm`);
  say(`Event loop: longest stand of one attack alone ${longestMs.toFixed(0)} ms, where any was looked at`);
  say(`Crowds: ${crowds.length}`);
  if (sent + crowds.length === 0) throw new OperatorError('No operation is meant: see --only');
  say(findings.size === 0 ? 'Nothing was found.' : `${findings.size} found.`);
  return findings.size === 0;
}

const first = (group: Attack[]) => group[0]?.name ?? '';
const last = (group: Attack[]) => group.at(-1)?.name ?? '';

function isFault(outcome: number | string, { mayHangUp }: Attack): boolean {
  if (typeof outcome === 'number') return outcome >= 500;
  return !(outcome === 'hung up' && mayHangUp);
}

/**
 * Whether the event loop stood still over its own work: what the machine took from the process
 * shows in no time of the processor.
 */
function stoodStill(before: Vitals, after: Vitals): boolean {
  return after.blockedMs > BLOCKED_MAX_MS && (after.cpuS - before.cpuS) * 1000 > BLOCKED_MAX_MS;
}

/**
 * Tries each of a group alone.
 *
 * @returns the longest that one of them blocked each time it was tried, in milliseconds
 */
async function blockedBy(
  api: Api,
  group: Attack[],
  find: (finding: string) => void,
  signal: AbortSignal,
): Promise<number> {
  let worst = 0;
  for (const attack of group) {
    let least = Infinity;
    for (let n = 0; n < TRIES && least > BLOCKED_MAX_MS; n++) {
      const before = await vitals(api.metricsUrl);
      await send(api.host, api.port, attack).catch(() => undefined);
      const after = await vitalsOnceBack(api, signal);
      least = Math.min(least, stoodStill(before, after) ? after.blockedMs : 0);
    }
    if (least > BLOCKED_MAX_MS) find(`${attack.name}: the event loop stood still for ${least.toFixed(0)} ms`);
    worst = Math.max(worst, least);
  }
  return worst;
}

/** A process that ended is started anew by its supervisor, within seconds. */
const BACK_WITHIN_MS = 60_000;

const vitalsOnceBack = (api: Api, signal: AbortSignal): Promise<Vitals> =>
  poll('The process', BACK_WITHIN_MS, signal, () => vitals(api.metricsUrl));

function* groupsOf(targets: Target[]): Generator<Attack[], void, void> {
  let group: Attack[] = [];
  let n = 0;
  for (const target of targets) {
    for (const attack of attacksOn(target)) {
      // Another part of each operation's, for their number is not a multiple of it.
      if (n++ % options.part !== 0) continue;
      group.push(attack);
      if (group.length === GROUP) {
        yield group;
        group = [];
      }
    }
  }
  if (group.length > 0) yield group;
}

runCommand(main);
