import { chmodSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readConfig, type Config } from '../config';
import { executorOf } from '../database/connection';
import { readKeyring } from '../database/keys/keyring';
import { migrateUp } from '../database/migrate';
import { requireRing } from '../database/keys/sealing-key';
import { DeploymentError } from '../database/operation/deployment';
import { deleteAllHeartbeats } from '../database/operation/worker-heartbeat';
import { readTemporalState } from '../database/operation/temporal-state';
import { operatorActor } from '../operator';
import type { TemporalSettings } from '../temporal/connection';
import { prepareCast } from './cast';
import { holdsSealedData, onDatabase, requireDatabase } from './database';
import { removeEngineFile, writeEngineFile, type EngineFile } from './engine-file';
import { keysFile, requireSoundTemporal } from './kept-data';
import { embeddedKeys } from './keys';
import { takeLock } from './lock';
import { setAsideIfLong } from './log-file';
import { ownProgram } from './own-program';
import { enginePorts, requireFreePorts, type EnginePorts } from './ports';
import { preparePostgres, type DatabaseUrls } from './postgres';
import { Programs } from './programs';
import { StartError } from './start-error';
import { prepareGivenNamespace, prepareNamespace, temporalServer } from './temporal';
import { findTemporal } from './temporal-binary';

/**
 * The whole engine on one machine: a Postgres and a Temporal of its own where the settings name
 * none, the API and a worker, each a process that is watched over.
 */
export interface Engine {
  /** Where everything is; also in `engine.json` of the folder for as long as the engine runs. */
  file: EngineFile;
  /** Resolves, should a process of the engine keep dying. The engine must be stopped then. */
  failed: Promise<Error>;
  /** Stops all in order, within 10 s. */
  stop(): Promise<void>;
}

export interface EngineOptions {
  /** The settings, as the environment has them; the engine's processes inherit all of it. */
  environment: NodeJS.ProcessEnv;
  /** Where data, keys and log are kept. */
  folder: string;
  /** Prints a line for the operator. */
  say: (line: string) => void;
  /** Gives up starting. */
  signal: AbortSignal;
}

/** What the steps of a start share. */
interface Boot extends Omit<EngineOptions, 'signal'> {
  config: Config;
  ports: EnginePorts;
  programs: Programs;
  logFile: string;
}

/** Recovery after a kill included. */
const POSTGRES_READY_MS = 60_000;
/** The dev server starts in two seconds, and in ten on a busy machine with much history. */
const TEMPORAL_READY_MS = 60_000;
/** A given one that does not answer is to be told of within 5 s of the start. */
const TEMPORAL_ANSWERS_MS = 3_000;
/** The worker compiles the workflows first, which takes some seconds of a free core. */
const READY_MS = 120_000;
const READINESS_ANSWERS_MS = 5_000;

/**
 * Starts what is missing, migrates, and waits until the engine can work. On an error all that had
 * been started is stopped again.
 *
 * @throws ConfigError, KeyringError, StartError saying what to do; the signal's reason
 */
export async function startEngine(options: EngineOptions): Promise<Engine> {
  const { environment, say, signal } = options;
  const config = readConfig(environment);
  const folder = resolve(options.folder);
  makeFolder(folder);
  const lock = await takeLock(folder, say);
  const logFile = join(folder, 'assent.log');
  const programs = new Programs(logFile, say, lock, signal);
  const stop = async () => {
    await programs.stop();
    removeEngineFile(folder);
    lock.release();
  };
  try {
    // An engine that was killed has left its own.
    removeEngineFile(folder);
    setAsideIfLong(logFile);
    const ports = enginePorts(config);
    const file = await boot({ environment, folder, say, config, ports, programs, logFile });
    return { file, failed: programs.failed, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
    // As root, Postgres runs as a user of its own, who must get through to its data. What is secret
    // in here has a mode of its own.
    chmodSync(folder, process.getuid?.() === 0 ? 0o711 : 0o700);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new StartError(
      `The folder ${folder}, where data is kept, cannot be used (${code}). It must be writable and belong to ` +
        'whoever starts the engine: start as the user who did so first, or in another folder.',
      { cause },
    );
  }
}

async function boot(common: Boot): Promise<EngineFile> {
  const { config, environment, folder, logFile, ports, programs, say } = common;
  await requireFreePorts(config, ports);
  await requireGiven(config);
  const { ownerUrl, databaseUrl } = await bootDatabase(common);
  const temporalAddress = await bootTemporal(common);

  const migrations = await programs.unlessStopped(migrate(common, ownerUrl));
  if (migrations.length > 0) say(`Applied ${migrations.length} migrations.`);
  await claimNamespace({ ...config, TEMPORAL_ADDRESS: temporalAddress }, ownerUrl, programs);

  const keys = config.ASSENT_KEYS ?? embeddedKeys(keysFile(folder), await holdsSealedData(ownerUrl));

  const apiUrl = reachedAt(config.HOST, ports.api);
  const temporalUiUrl =
    config.TEMPORAL_ADDRESS === undefined ? `http://127.0.0.1:${ports.temporalUi}` : undefined;
  await onDatabase(ownerUrl, async (client) => {
    await requireRing(executorOf(client), readKeyring(keys));
    // Its workers were those of this folder, and none of them runs any more.
    if (config.DATABASE_URL === undefined) await deleteAllHeartbeats(executorOf(client));
  });
  const cast =
    config.ASSENT_MODE === 'sandbox'
      ? await prepareCast(folder, databaseUrl, readKeyring(keys), {
          apiUrl,
          workflowUrl: temporalUiUrl && workflowsAt(temporalUiUrl, config.TEMPORAL_NAMESPACE),
        })
      : undefined;

  say('Starting the API and the worker …');
  const settings = {
    ...environment,
    ASSENT_MODE: config.ASSENT_MODE,
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: temporalAddress,
    ASSENT_KEYS: keys,
    ...(cast !== undefined && { SANDBOX_CAST: cast }),
  };
  programs.start(ownProgram('worker', { ...settings, ...workerMetrics(config) }));
  programs.start(ownProgram('API', settings));
  await programs.until('The engine', READY_MS, () => requireReady(apiUrl));

  const file: EngineFile = {
    pid: process.pid,
    mode: config.ASSENT_MODE,
    apiUrl,
    ...(ports.metrics && {
      metricsUrls: {
        api: `${reachedAt(config.METRICS_HOST, ports.metrics.api)}/metrics`,
        worker: `${reachedAt(config.METRICS_HOST, ports.metrics.worker)}/metrics`,
      },
    }),
    ...(cast !== undefined && { sandboxUrl: `${apiUrl}/sandbox` }),
    ...(config.ASSENT_CONSOLE && { consoleUrl: `${apiUrl}/console` }),
    ...(temporalUiUrl !== undefined && { temporalUiUrl }),
    temporalAddress,
    namespace: config.TEMPORAL_NAMESPACE,
    databaseUrl,
    ownerUrl,
    ...(config.ASSENT_KEYS === undefined && { keysFile: keysFile(folder) }),
    logFile: config.LOG_FILE === undefined ? logFile : resolve(config.LOG_FILE),
  };
  writeEngineFile(folder, file);
  return file;
}

/** @throws StartError for data of another zone, or of another version's schema */
async function migrate({ config, folder }: Boot, ownerUrl: string): Promise<string[]> {
  try {
    const by = operatorActor('npm start');
    return await migrateUp(ownerUrl, config.ASSENT_MODE, config.NETWORK_TIMEZONE, by);
  } catch (cause) {
    const fault = cause instanceof DeploymentError ? cause.fault : undefined;
    if (config.DATABASE_URL !== undefined) throw cause;
    if (fault?.wrong === 'other_schema') {
      throw new StartError(
        `Another version made the data in ${folder}, and this version has no upgrade from it. Run the version that ` +
          'made it; or move the folder away, or remove it if all of its data may be lost, and start again.',
        { cause },
      );
    }
    if (fault?.wrong !== 'other_time_zone') throw cause;
    // It runs no longer than the engine: nobody can correct its zone while nothing else runs.
    throw new StartError(
      `NETWORK_TIMEZONE: is ${fault.wanted}, but the days of the data in ${folder} begin in ${fault.found}. ` +
        `Start with NETWORK_TIMEZONE=${fault.found}; or, where all of it may be lost, remove that folder and start afresh.`,
      { cause },
    );
  }
}

/** What a workflow's id is put behind. */
function workflowsAt(temporalUiUrl: string, namespace: string): string {
  return `${temporalUiUrl}/namespaces/${encodeURIComponent(namespace)}/workflows/`;
}

/** On one machine both cannot have the same port: the worker has the next. */
function workerMetrics({ METRICS_PORT }: Config): { METRICS_PORT?: string } {
  return METRICS_PORT === 0 ? {} : { METRICS_PORT: String(METRICS_PORT + 1) };
}

/** What listens on an address, as it is reached from this machine. */
function reachedAt(address: string, port: number): string {
  const host = address.replace(/^0\.0\.0\.0$/, '127.0.0.1').replace(/^::$/, '::1');
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/**
 * What the settings name is looked at before anything is started: what is wrong with it shows
 * within 5 s.
 */
async function requireGiven(config: Config): Promise<void> {
  const { ASSENT_KEYS, DATABASE_URL, DATABASE_OWNER_URL, TEMPORAL_ADDRESS } = config;
  if (ASSENT_KEYS !== undefined) readKeyring(ASSENT_KEYS);
  await Promise.all([
    DATABASE_URL !== undefined && requireDatabase('DATABASE_URL', DATABASE_URL),
    DATABASE_OWNER_URL !== undefined && requireDatabase('DATABASE_OWNER_URL', DATABASE_OWNER_URL),
    TEMPORAL_ADDRESS !== undefined &&
      prepareGivenNamespace({ ...config, TEMPORAL_ADDRESS }, TEMPORAL_ANSWERS_MS),
  ]);
}

async function bootDatabase({ config, folder, ports, programs, say }: Boot): Promise<DatabaseUrls> {
  const { DATABASE_URL, DATABASE_OWNER_URL } = config;
  if (DATABASE_URL !== undefined) {
    return { databaseUrl: DATABASE_URL, ownerUrl: DATABASE_OWNER_URL ?? DATABASE_URL };
  }
  const postgres = await preparePostgres(folder, ports.postgres, say);
  say('Starting Postgres …');
  programs.start(postgres.program);
  await programs.until('Postgres', POSTGRES_READY_MS, () => postgres.setUp());
  return postgres;
}

async function bootTemporal({ config, environment, folder, ports, programs, say }: Boot): Promise<string> {
  const { TEMPORAL_ADDRESS, TEMPORAL_CLI_PATH, TEMPORAL_NAMESPACE } = config;
  if (TEMPORAL_ADDRESS !== undefined) return TEMPORAL_ADDRESS;
  requireSoundTemporal(folder);
  const command = await programs.unlessStopped(findTemporal({ cliPath: TEMPORAL_CLI_PATH, say }));
  say('Starting Temporal …');
  programs.start(temporalServer(command, environment, folder, ports, TEMPORAL_NAMESPACE));
  const address = `127.0.0.1:${ports.temporal}`;
  await programs.until('Temporal', TEMPORAL_READY_MS, () =>
    prepareNamespace({ TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE }, TEMPORAL_ANSWERS_MS),
  );
  return address;
}

/** Before anything is started in it: the namespace is that of this database, or of none yet. */
async function claimNamespace(
  settings: TemporalSettings,
  ownerUrl: string,
  programs: Programs,
): Promise<void> {
  const { installation } = await onDatabase(ownerUrl, (client) => readTemporalState(executorOf(client)));
  await programs.until('Temporal', TEMPORAL_READY_MS, () =>
    prepareNamespace(settings, TEMPORAL_ANSWERS_MS, installation),
  );
}

async function requireReady(apiUrl: string): Promise<void> {
  const answer = await fetch(`${apiUrl}/readyz`, { signal: AbortSignal.timeout(READINESS_ANSWERS_MS) });
  if (!answer.ok) throw new Error(await answer.text());
}
