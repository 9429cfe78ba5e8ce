import type { Client } from '@temporalio/client';
import type { Command } from 'commander';
import { ConfigError, type Config } from '../settings/config';
import { isUnavailable, ONLY_READS } from '../database/pool/availability';
import { openDatabase, type Database } from '../database/pool/connection';
import { NO_KEYRING, readKeyring } from '../database/keyring/keyring';
import { requireDeployment, requireSameCalendar, schemaDifference } from '../database/engine/deployment';
import { readTemporalState } from '../database/engine/temporal-state';
import { listWorkers } from '../database/engine/worker-heartbeat';
import { outboxBacklog } from '../database/outbox';
import { OperatorError } from '../domain/failures';
import { counted } from '../domain/words/counted';
import { temporalFault } from '../temporal/fault';
import { SCHEDULED, scheduleState } from '../temporal/schedules';
import { missingAttributes } from '../temporal/register-search-attributes';
import { namespaceId, ringProblems, workerProblems } from '../temporal/readiness';
import { OVERDUE_AFTER_S } from '../process/service-metrics';
import { VERSION } from '../process/version';
import { takingJson } from './command';
import { databaseUrl, deploymentOf, keysOf, readSettings } from './engine';
import { databaseFault, explained } from './explain';
import { write } from './output';
import { outboxInWords } from './status';
import { openTemporal } from './temporal';

/**
 * `assent doctor`: the faults of an installation, and their remedies. The checks run one after the
 * other, from the settings on. A check that needs a failed one is named, and not made.
 */

/** `unknown`: not checked, because an earlier check failed. */
type State = 'ok' | 'warning' | 'wrong' | 'unknown';

interface Finding {
  name: string;
  state: State;
  /** The state found; for a fault, its remedy too. */
  message: string;
}

/**
 * Tokens and webhook timestamps are judged by a machine's clock, windows by Postgres's clock;
 * receivers tolerate minutes.
 */
const CLOCKS_APART_MAX_MS = 5_000;
const ANSWER_WITHIN_MS = 5_000;
/** Longest that messages wait in the outbox; the signals of a large change take many minutes. */
const WAITS_MAX_S = { call: OVERDUE_AFTER_S, later: 3_600 };

export function fill(command: Command): void {
  takingJson(command).action(async ({ json = false }: { json?: boolean }) => {
    const checks = await examine();
    const healthy = checks.every(({ state }) => state === 'ok' || state === 'warning');
    await write(`${json ? JSON.stringify({ healthy, checks }) : inWords(checks)}\n`);
    if (!healthy) process.exitCode = 1;
  });
}

/** Connections of the checks. Each opens on first use, so that its own check reports a failure. */
interface Means {
  config: Config;
  db: () => Database;
  client: () => Client;
}

/** Makes a check, unless a needed one failed. @param ask says what was found */
type Check = (name: string, needs: Finding[], ask: () => Promise<string>) => Promise<Finding>;

async function examine(): Promise<Finding[]> {
  let config: Config;
  try {
    config = readSettings(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message.split('\n').map((message) => ({ name: 'settings', state: 'wrong', message }));
  }
  const found: Finding[] = [];
  const check: Check = async (name, needs, ask) => {
    const first = needs.find(({ state }) => state === 'wrong' || state === 'unknown');
    const finding: Finding = first
      ? { name, state: 'unknown', message: `not checked: see ${first.name} first` }
      : await judge(name, ask);
    found.push(finding);
    return finding;
  };
  let db: Database | undefined;
  let client: Client | undefined;
  const means = {
    config,
    db: () =>
      (db ??= openDatabase(databaseUrl(config), 1, {
        keyring: NO_KEYRING,
        timeZone: config.NETWORK_TIMEZONE,
      })),
    client: () => (client ??= openTemporal(config)),
  };
  try {
    await check('settings', [], async () => {
      const { ASSENT_MODE, NETWORK_TIMEZONE } = config;
      return `${ASSENT_MODE}, days begin in ${NETWORK_TIMEZONE}, Node ${process.versions.node}`;
    });
    await examineTemporal(check, means, await examineDatabase(check, means));
    return found;
  } finally {
    await Promise.all([db?.destroy(), client?.connection.close()]);
  }
}

async function examineDatabase(check: Check, { config, db }: Means): Promise<Finding> {
  const { NETWORK_TIMEZONE } = config;
  const postgres = await check('postgres', [], async () => {
    const before = performance.now();
    const { version, onlyReads } = await db().oneRow<{ version: string; onlyReads: boolean }>`
      SELECT current_setting('server_version') AS version,
        current_setting('transaction_read_only')::boolean AS only_reads`;
    if (onlyReads) throw new Wrong(`${ONLY_READS}, as a standby does: promote it, or correct DATABASE_URL`);
    return `${version}, answered in ${Math.round(performance.now() - before)} ms`;
  });
  await check('clock', [postgres], () => judgeClock(db()));
  await check('calendar', [postgres], async () => {
    await requireSameCalendar(db(), NETWORK_TIMEZONE);
    return `Postgres and Node read ${NETWORK_TIMEZONE} alike for the next two years`;
  });
  const schema = await check('schema', [postgres], () => judgeSchema(db()));
  await check('deployment', [schema], async () => {
    await requireDeployment(db(), deploymentOf(config));
    return 'mode, zone and login are those of this database';
  });
  await check('triggers', [schema], () => judgeTriggers(db()));
  await check('keys', [schema], async () => {
    const problems = await ringProblems(db(), readKeyring(keysOf(config)));
    if (problems.length > 0) throw new Wrong(problems.map(({ message }) => message).join('\n'));
    return 'all that is encrypted can be decrypted';
  });
  await check('workers', [schema], () => judgeWorkers(db()));
  await check('outbox', [schema], () => judgeOutbox(db()));
  return schema;
}

async function examineTemporal(check: Check, { db, client }: Means, schema: Finding): Promise<void> {
  let id = '';
  const temporal = await check('temporal', [], async () => {
    id = await answerOf(client(), namespaceId);
    return `answers, and has the namespace "${client().options.namespace}"`;
  });
  await check('namespace', [temporal, schema], () => judgeNamespace(db(), id, client().options.namespace));
  await check('search attributes', [temporal], async () => {
    const missing = await answerOf(client(), (one) =>
      one.withDeadline(Date.now() + ANSWER_WITHIN_MS, () =>
        missingAttributes(one.connection, one.options.namespace),
      ),
    );
    if (missing.length > 0)
      throw new Wrong(`${missing.map(({ name }) => name).join(', ')} missing: run "assent migrate"`);
    return 'all registered';
  });
  await check('schedules', [temporal], () => judgeSchedules(client()));
}

async function judgeSchema(db: Database): Promise<string> {
  const { missing, unknown } = await schemaDifference(db);
  if (missing.length > 0)
    throw new Wrong(
      `${counted(missing.length, 'migrations')} missing, ${missing[0]} first: run "assent migrate"`,
    );
  if (unknown.length > 0)
    throw new Warned(
      `of a later version than this ${VERSION}, which has no ${unknown.at(-1)}: deploy that version here`,
    );
  return 'as this version has it';
}

/** A restore by hand may forget to enable the triggers that keep rows from being changed. */
async function judgeTriggers(db: Database): Promise<string> {
  const { off } = await db.oneRow<{ off: string | null }>`
    SELECT string_agg(DISTINCT format('ALTER TABLE %s ENABLE TRIGGER USER', tgrelid::regclass), '; ') AS off
    FROM pg_trigger WHERE NOT tgisinternal AND tgenabled = 'D'`;
  if (off !== null)
    throw new Wrong(
      `some are disabled, and rows can be changed that must not: as the schema login, run ${off}`,
    );
  return 'all are enabled';
}

async function judgeClock(db: Database): Promise<string> {
  const before = Date.now();
  const server = await db.oneRow<{ now: Date }>`SELECT clock_timestamp() AS now`;
  // Postgres answered at some moment between the two readings.
  const apartMs = Math.round(server.now.getTime() - (before + Date.now()) / 2);
  const words = `${Math.abs(apartMs)} ms ${apartMs < 0 ? 'ahead of' : 'behind'} that of Postgres`;
  if (Math.abs(apartMs) > CLOCKS_APART_MAX_MS)
    throw new Wrong(`this machine's clock is ${words}: have both follow one source of time (NTP)`);
  return `this machine's is ${words}`;
}

/** Windows and retries depend on a worker. Two versions for long mean a hanging deploy. */
async function judgeWorkers(db: Database): Promise<string> {
  const alive = (await listWorkers(db)).filter((one) => one.alive);
  if (alive.length === 0)
    throw new Wrong('none lives: calls are taken, and nothing of them is done. Start a worker');
  const [problem] = await workerProblems(db);
  if (problem) throw new Wrong(`${problem.message}: see their log, and TEMPORAL_ADDRESS of theirs`);
  const other = [...new Set(alive.map(({ version }) => version))].filter((one) => one !== VERSION);
  const words = counted(alive.length, 'workers');
  if (other.length > 0)
    throw new Warned(`${words}, some of version ${other.join(', ')} beside this ${VERSION}: end the deploy`);
  return `${words} of version ${VERSION}`;
}

async function judgeOutbox(db: Database): Promise<string> {
  const outbox = await outboxBacklog(db);
  const { call, later } = outbox;
  if (call.oldestAgeS > WAITS_MAX_S.call || later.oldestAgeS > WAITS_MAX_S.later)
    throw new Wrong(`${outboxInWords(outbox)}: see "Stuck outbox" in docs/operations.md`);
  return outboxInWords(outbox);
}

/** @throws Wrong in words where Temporal gives no answer */
function answerOf<Answer>(client: Client, ask: (client: Client) => Promise<Answer>): Promise<Answer> {
  return ask(client).catch((error: unknown) => {
    throw new Wrong(temporalFault(error, client.options.namespace).inWords);
  });
}

/** A worker takes a new namespace over within seconds, unless it is another installation's. */
async function judgeNamespace(db: Database, id: string, namespace: string): Promise<string> {
  const { namespaceId: known } = await readTemporalState(db);
  if (known !== null && known !== id)
    throw new Wrong(
      `"${namespace}" is not the one that the workflows of this database are in: correct TEMPORAL_ADDRESS or ` +
        'TEMPORAL_NAMESPACE; where Temporal has lost its data, start a worker, which starts all that is open again',
    );
  return known === null ? 'no worker has been here yet' : 'is the one of this database';
}

/** Temporal Schedules find lost work, verify the books and sweep. An operator may pause them. */
async function judgeSchedules(client: Client): Promise<string> {
  const schedules = [];
  for (const id of SCHEDULED) {
    schedules.push({ id, ...(await answerOf(client, (one) => scheduleState(one, id))) });
  }
  const stopped = schedules.filter(({ is }) => is !== 'running').map(({ id, is }) => `${id} is ${is}`);
  if (stopped.length > 0)
    throw new Warned(
      `${stopped.join(', ')}: unpause it in the Temporal UI; a worker that starts makes one that is missing`,
    );
  const next = schedules.flatMap(({ id, nextAt }) => (nextAt ? [`${id} at ${nextAt.toISOString()}`] : []));
  return `all run, next ${next.join(', ')}`;
}

class Wrong extends OperatorError {}
/** A fault that stops no work now. */
class Warned extends OperatorError {}

async function judge(name: string, ask: () => Promise<string>): Promise<Finding> {
  try {
    return { name, state: 'ok', message: await ask() };
  } catch (error) {
    const away = isUnavailable(error) && databaseFault(error) === undefined;
    const message = away ? 'does not answer: start it, or correct DATABASE_URL' : explained(error);
    return { name, state: error instanceof Warned ? 'warning' : 'wrong', message };
  }
}

function inWords(checks: Finding[]): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  return checks
    .flatMap(({ name, state, message }) => {
      const [first, ...more] = message.split('\n');
      const indented = more.map((line) => `${' '.repeat(width + 11)}${line}`);
      return [`${name.padEnd(width)}  ${state.padEnd(7)}  ${first}`, ...indented];
    })
    .join('\n');
}
