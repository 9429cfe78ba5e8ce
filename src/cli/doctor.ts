import type { Client } from '@temporalio/client';
import type { Command } from 'commander';
import { escapeIdentifier } from 'pg';
import { ConfigError, readConfig, type Config } from '../config';
import { isUnavailable } from '../database/availability';
import { APP_ROLE, oneRow, openDatabase, row, type Database } from '../database/connection';
import { readKeyring } from '../database/keys/keyring';
import { schemaDifference } from '../database/migrate';
import { requireDeployment, requireSameCalendar } from '../database/engine/deployment';
import { longTransactions } from '../database/engine/open-transactions';
import { overdueBacklog } from '../database/reconcile/open-work';
import { readTemporalState } from '../database/engine/temporal-state';
import { listWorkers } from '../database/engine/worker-heartbeat';
import { outboxBacklog } from '../database/outbox';
import { counted } from '../domain/words/counted';
import { temporalFault } from '../temporal/fault';
import { SCHEDULED, scheduleState } from '../temporal/schedules';
import { missingAttributes } from '../temporal/search-attributes';
import {
  namespaceId,
  restartProblems,
  ringProblems,
  serviceWarnings,
  workerProblems,
} from '../temporal/readiness';
import { OVERDUE_AFTER_S } from '../service-metrics';
import { VERSION } from '../version';
import { command, CommandError, explained } from './command';
import { databaseFault } from './database-fault';
import { databaseUrl, deploymentOf, keysOf, modeOf } from './engine';
import { closing } from './logins';
import { openTemporal } from './temporal';

/**
 * `assent doctor`: what of an installation is wrong, and what to do about it. One check comes after
 * the other, from the settings on. A check that needs what an earlier one found wrong is named, and
 * not made.
 */

/** `unknown`: not checked, for what was found before it. */
type State = 'ok' | 'warning' | 'wrong' | 'unknown';

interface Finding {
  name: string;
  state: State;
  /** What there is, or what is wrong and what to do about it. */
  message: string;
}

/**
 * Tokens and the stamps of webhooks are judged by the clock of a machine, windows by that of
 * Postgres; receivers tolerate minutes.
 */
const CLOCKS_APART_MAX_MS = 5_000;
/** What waits for longer has nobody who takes it. */
const OUTBOX_WAITS_MAX_S = 60;
/** Half a million of them take half an hour where calls leave room. */
const LATER_WAITS_MAX_S = 3_600;
/** Longest wait for one answer of Temporal. */
const ANSWER_WITHIN_MS = 5_000;

export function addDoctorCommand(program: Command): void {
  command(
    program,
    'doctor',
    'settings, servers, schema, keys, clocks, workers: what is wrong and what to do about it; exit code 1 where something is',
  ).action(async ({ json = false }: { json?: boolean }) => {
    const checks = await examine();
    const healthy = checks.every(({ state }) => state === 'ok' || state === 'warning');
    process.stdout.write(`${json ? JSON.stringify({ healthy, checks }) : inWords(checks)}\n`);
    if (!healthy) process.exitCode = 1;
  });
}

async function examine(): Promise<Finding[]> {
  let config: Config;
  try {
    config = readConfig(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message.split('\n').map((message) => ({ name: 'settings', state: 'wrong', message }));
  }
  const settings: Finding = {
    name: 'settings',
    state: 'ok',
    message: `${config.ASSENT_MODE}, days begin in ${config.NETWORK_TIMEZONE}, Node ${process.versions.node}`,
  };
  const opened = attempt('postgres', () => openDatabase(databaseUrl(config), 1));
  if ('state' in opened) return [settings, opened, ...(await examineTemporal(config, opened))];
  const db = opened.made;
  try {
    const found = await examineDatabase(config, db);
    // What it knows of Temporal can be read where the schema fits.
    const lacking = found.find(
      ({ name, state }) => ['postgres', 'schema'].includes(name) && state === 'wrong',
    );
    return [settings, ...found, ...(await examineTemporal(config, lacking ?? db))];
  } finally {
    await db.destroy();
  }
}

/** Postgres, and all that only it can tell. */
async function examineDatabase(config: Config, db: Database): Promise<Finding[]> {
  const postgres = await judge('postgres', async () => {
    const before = performance.now();
    const server = await row<{ version: string }>(db, `SELECT current_setting('server_version') AS version`);
    return `${server?.version}, answered in ${Math.round(performance.now() - before)} ms`;
  });
  if (postgres.state !== 'ok') return [postgres];
  const schema = await judge('schema', () => judgeSchema(db));
  const clock = await judge('clock', () => judgeClock(db));
  const calendar = await judge('calendar', async () => {
    await requireSameCalendar(db, config.NETWORK_TIMEZONE);
    return `Postgres and Node read ${config.NETWORK_TIMEZONE} alike for the next two years`;
  });
  const first = [postgres, clock, calendar, schema];
  if (schema.state === 'wrong') return [...first, notChecked('deployment, logins, keys, workers', schema)];
  const deployment = await judge('deployment', async () => {
    await requireDeployment(db, deploymentOf(config));
    return 'mode, zone and login are those of this database';
  });
  const logins = await judge('logins', () => judgeLogins(config, db));
  const keys = await judge('keys', async () => {
    const problems = await ringProblems(db, readKeyring(keysOf(config)));
    if (problems.length > 0) throw new Wrong(problems.map(({ message }) => message).join('\n'));
    return 'all that is sealed can be opened';
  });
  return [
    ...first,
    deployment,
    logins,
    await judge('triggers', () => judgeTriggers(db)),
    keys,
    await examineWorkers(db),
    await examineWork(db),
    await examineTransactions(db),
  ];
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

/**
 * Whoever may connect, and is a member of `assent_app` for another database of the server, reads
 * and writes this one. Of a sandbox no money is at stake.
 */
async function judgeLogins(config: Config, db: Database): Promise<string> {
  if (modeOf(config) === 'sandbox') return 'a sandbox may be open to all logins of its server';
  const found = await oneRow<{
    /** Who may connect without being named. */
    open: string | null;
    database: string;
    login: string;
    schemaOwner: string;
    /** Set where the owner of the schema may not grant and revoke on the database. */
    otherOwner: string | null;
  }>(
    db,
    `SELECT CASE WHEN has_database_privilege('public', d.oid, 'CONNECT') THEN 'every login of this server'
         WHEN has_database_privilege('${APP_ROLE}', d.oid, 'CONNECT') THEN 'every login that is a member of ${APP_ROLE}'
       END AS open, d.datname::text AS database, session_user::text AS login,
       pg_get_userbyid(c.relowner)::text AS schema_owner,
       CASE WHEN NOT pg_has_role(c.relowner, d.datdba, 'USAGE') THEN pg_get_userbyid(d.datdba)::text END AS other_owner
     FROM pg_database d, pg_class c WHERE d.datname = current_database() AND c.oid = 'entities'::regclass`,
  );
  const { open, database, login, schemaOwner, otherOwner } = found;
  const named = [...new Set([schemaOwner, login])].map((one) => escapeIdentifier(one));
  const statements = closing(escapeIdentifier(database), named).join('; ');
  const by =
    otherOwner === null
      ? 'Run this as the owner of the schema'
      : `Run this as the owner of the database, "${otherOwner}"`;
  if (open !== null)
    throw new Warned(
      `${open} may connect to "${database}", and that of another installation could write it. ` +
        `${by}, with every other login that works in it beside these: ${statements}`,
    );
  return `only those that are named may connect to "${database}"`;
}

/** A restore by hand may forget to switch on again what keeps rows from being changed. */
async function judgeTriggers(db: Database): Promise<string> {
  const { off } = await oneRow<{ off: string | null }>(
    db,
    `SELECT string_agg(DISTINCT format('ALTER TABLE %s ENABLE TRIGGER USER', tgrelid::regclass), '; ') AS off
     FROM pg_trigger WHERE NOT tgisinternal AND tgenabled = 'D'`,
  );
  if (off !== null)
    throw new Wrong(`some are disabled, and rows can be changed that must not: as the owner, run ${off}`);
  return 'all are enabled';
}

async function judgeClock(db: Database): Promise<string> {
  const before = Date.now();
  const server = await row<{ now: Date }>(db, `SELECT clock_timestamp() AS now`);
  // The answer was made at some moment between the two.
  const apartMs = Math.round((server?.now.getTime() ?? 0) - (before + Date.now()) / 2);
  const words = `${Math.abs(apartMs)} ms ${apartMs < 0 ? 'ahead of' : 'behind'} that of Postgres`;
  if (Math.abs(apartMs) > CLOCKS_APART_MAX_MS)
    throw new Wrong(`this machine's clock is ${words}: have both follow one source of time (NTP)`);
  return `this machine's is ${words}`;
}

/**
 * Windows and retries hang on a worker; two versions for longer than a deploy is one that hangs.
 */
function examineWorkers(db: Database): Promise<Finding> {
  return judge('workers', async () => {
    const alive = (await listWorkers(db)).filter((one) => one.alive);
    if (alive.length === 0)
      throw new Wrong('none lives: calls are taken, and nothing of them is done. Start a worker');
    const [problem] = await workerProblems(db);
    if (problem) throw new Wrong(`${problem.message}: see their log, and TEMPORAL_ADDRESS of theirs`);
    const other = [...new Set(alive.map(({ version }) => version))].filter((one) => one !== VERSION);
    const words = counted(alive.length, 'workers');
    if (other.length > 0)
      throw new Warned(
        `${words}, some of version ${other.join(', ')} beside this ${VERSION}: end the deploy`,
      );
    return `${words} of version ${VERSION}`;
  });
}

function examineWork(db: Database): Promise<Finding> {
  return judge('work', async () => {
    const [restart] = await restartProblems(db);
    if (restart)
      throw new Wrong(`Temporal ${restart.message}: wait, and see "assent status" for how far it is`);
    const [{ call, later }, overdue] = await Promise.all([
      outboxBacklog(db),
      overdueBacklog(db, OVERDUE_AFTER_S),
    ]);
    const late = overdue.filter(({ count }) => count > 0);
    if (late.length > 0)
      throw new Wrong(
        `${late.map(({ count, kind }) => counted(count, kind)).join(', ')} past their moment: see "assent reconcile"`,
      );
    if (call.oldestAgeS > OUTBOX_WAITS_MAX_S)
      throw new Wrong(
        `what is meant for Temporal waits for ${Math.round(call.oldestAgeS)} s: see docs/operations.md, "Stuck outbox"`,
      );
    if (later.oldestAgeS > LATER_WAITS_MAX_S)
      throw new Warned(
        `webhooks and large changes wait for Temporal for ${Math.round(later.oldestAgeS)} s: see docs/operations.md, "Stuck outbox"`,
      );
    return 'nothing is overdue';
  });
}

/** One that writes holds up the events feed, and any may hold a lock that others need. */
function examineTransactions(db: Database): Promise<Finding> {
  return judge('transactions', async () => {
    // Of one that hides since when it is open, it is not known whether it is about to end.
    const found = (await longTransactions(db)).filter(({ since, waiting }) => since !== null || waiting > 0);
    if (found.length > 0)
      throw new Warned(
        `${counted(found.length, 'transactions')} open for long or in the way, of ${found[0]?.login ?? 'nobody'} first: see "assent status"`,
      );
    return 'none is open for long';
  });
}

/** @param db or what keeps it from being asked what it knows of Temporal */
async function examineTemporal(config: Config, db: Database | Finding): Promise<Finding[]> {
  const opened = attempt('temporal', () => openTemporal(config));
  if ('state' in opened) return [opened];
  const client = opened.made;
  try {
    const { namespace } = client.options;
    let id = '';
    const temporal = await judge('temporal', async () => {
      id = await answerOf(client, namespaceId(client));
      return `answers, and has the namespace "${namespace}"`;
    });
    if (temporal.state === 'wrong')
      return [temporal, notChecked('namespace, search attributes, schedules', temporal)];
    const own =
      'state' in db
        ? notChecked('namespace', db)
        : await judge('namespace', () => judgeNamespace(db, id, namespace));
    const attributes = await judge('search attributes', async () => {
      const missing = await answerOf(
        client,
        client.withDeadline(Date.now() + ANSWER_WITHIN_MS, () =>
          missingAttributes(client.connection, namespace),
        ),
      );
      if (missing.length > 0)
        throw new Wrong(`${missing.map(({ name }) => name).join(', ')} missing: run "assent migrate"`);
      return 'all registered';
    });
    return [temporal, own, attributes, await examineSchedules(client, db)];
  } finally {
    await client.connection.close();
  }
}

/** @throws Wrong in words where Temporal gives none */
function answerOf<Answer>(client: Client, asked: Promise<Answer>): Promise<Answer> {
  return asked.catch((error: unknown) => {
    throw new Wrong(temporalFault(error, client.options.namespace).inWords);
  });
}

/** A worker takes a namespace over within seconds, unless it is another installation's. */
async function judgeNamespace(db: Database, id: string, namespace: string): Promise<string> {
  const { namespaceId: known } = await readTemporalState(db);
  if (known !== null && known !== id)
    throw new Wrong(
      `"${namespace}" is not the one that the workflows of this database are in: correct TEMPORAL_ADDRESS or ` +
        'TEMPORAL_NAMESPACE; where Temporal has lost its data, start a worker, which starts all that is open again',
    );
  return known === null ? 'no worker has been here yet' : 'is the one of this database';
}

/**
 * What finds lost work, what seals the books, and what keeps the SHA-256 of long statements run on
 * Temporal Schedules that a hand may stop. Each may also fail each time that it runs.
 *
 * @param db or what keeps it from being asked when they last did
 */
function examineSchedules(client: Client, db: Database | Finding): Promise<Finding> {
  return judge('schedules', async () => {
    const silent = 'state' in db ? [] : await serviceWarnings(db, client);
    if (silent.length > 0)
      throw new Wrong(silent.map(({ path, message }) => `${path} ${message}`).join('\n'));
    const stopped: string[] = [];
    const next: string[] = [];
    for (const id of SCHEDULED) {
      const schedule = await answerOf(client, scheduleState(client, id));
      if (schedule.is !== 'running') stopped.push(`${id} is ${schedule.is}`);
      else if (schedule.nextAt) next.push(`${id} at ${schedule.nextAt.toISOString()}`);
    }
    if (stopped.length > 0)
      throw new Warned(
        `${stopped.join(', ')}: unpause it in the Temporal UI; a worker that starts makes one that is missing`,
      );
    return `all run, next ${next.join(', ')}`;
  });
}

/** Of a thing that is wrong; the message says what to do. */
class Wrong extends CommandError {}
/** Of a thing that keeps nobody from work now. */
class Warned extends CommandError {}

/** @param ask answers what there is */
async function judge(name: string, ask: () => Promise<string>): Promise<Finding> {
  try {
    return { name, state: 'ok', message: await ask() };
  } catch (error) {
    return { name, state: error instanceof Warned ? 'warning' : 'wrong', message: saidOf(error) };
  }
}

/** The same for what the other checks need: they get it, or are told that it is not to be had. */
function attempt<Made>(name: string, make: () => Made): { made: Made } | Finding {
  try {
    return { made: make() };
  } catch (error) {
    return { name, state: 'wrong', message: saidOf(error) };
  }
}

function saidOf(error: unknown): string {
  if (isUnavailable(error))
    return databaseFault(error) ?? 'does not answer: start it, or correct DATABASE_URL';
  return explained(error);
}

const notChecked = (name: string, first: Finding): Finding => ({
  name,
  state: 'unknown',
  message: `not checked: see ${first.name} first`,
});

function inWords(checks: Finding[]): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  return checks
    .map(({ name, state, message }) => {
      const lines = message.split('\n');
      return lines
        .map(
          (line, i) => `${(i === 0 ? name : '').padEnd(width)}  ${(i === 0 ? state : '').padEnd(7)}  ${line}`,
        )
        .join('\n');
    })
    .join('\n');
}
