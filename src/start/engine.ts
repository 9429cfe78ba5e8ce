import { chmodSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DeploymentError } from '../database/engine/deployment';
import { readTemporalState } from '../database/engine/temporal-state';
import { deleteAllHeartbeats } from '../database/engine/worker-heartbeat';
import { readKeyring } from '../database/keyring/keyring';
import { migrateUp } from '../database/migrate';
import { statementsOf } from '../database/pool/connection';
import { onDatabase } from '../database/pool/one-connection';
import { OperatorError } from '../domain/failures';
import { untilAborted } from '../process/deadline';
import { sharedSettings, type EngineFile } from '../process/engine-file';
import { operatorActor } from '../process/operator';
import { poll } from '../process/poll';
import { readConfig, type Config } from '../settings/config';
import { prepareGivenNamespace, prepareNamespace } from '../temporal/namespace';
import { prepareCast } from './cast';
import { requireDatabase } from './given-database';
import { openKeyring } from './keys';
import { takeFolder } from './lock';
import { ownProgram } from './own-program';
import { enginePorts, requireFreePorts, type EnginePorts } from './ports';
import { preparePostgres } from './postgres';
import { Supervisor } from './supervisor';
import { temporalServer } from './temporal';
import { findTemporal } from './temporal-binary';

/**
 * The whole engine on one machine: the API, a worker, and an own Postgres and Temporal unless the
 * settings name them. Each process is supervised.
 */
interface Engine {
  /** Also in `engine.json` of the folder while the engine runs. */
  file: EngineFile;
  /** Aborted with the error if a process keeps dying; the engine must be stopped then. */
  failing: AbortSignal;
  /** Stops all processes in order, within 10 s. */
  stop(): Promise<void>;
}

interface EngineOptions {
  /** The settings. The engine's processes inherit the whole environment. */
  environment: NodeJS.ProcessEnv;
  /** Folder of the data, the keys and the log. */
  folder: string;
  /** Prints a line for the operator. */
  say: (line: string) => void;
  /** Aborts the start. */
  signal: AbortSignal;
}

interface Boot extends EngineOptions {
  config: Config;
  ports: EnginePorts;
  supervisor: Supervisor;
}

/** The operator hears of a given Temporal that is silent within 5 s of the start. */
const TEMPORAL_ANSWERS_MS = 3_000;
/** Postgres recovers after a kill, and the dev server takes ten seconds on a busy machine. */
const SERVER_READY_MS = 60_000;
/** The worker compiles the workflows first, which takes some seconds of a free core. */
const READY_MS = 120_000;
const READINESS_ANSWERS_MS = 5_000;
/** Weeks of a sandbox. One earlier log is kept: both take at most twice this and one run. */
const LONG_LOG_BYTES = 50 * 1024 * 1024;

/**
 * Starts missing servers, migrates, and waits until the engine is ready. An error stops all
 * processes that it started.
 *
 * @throws OperatorError with a remedy; the signal's reason
 */
export async function startEngine(options: EngineOptions): Promise<Engine> {
  const config = readConfig(options.environment);
  const folder = resolve(options.folder);
  makeFolder(folder);
  const held = await takeFolder(folder, options.say);
  const logFile = logOf(folder);
  const supervisor = new Supervisor(logFile, options.say, held.record);
  const { failing } = supervisor;
  const stop = async () => {
    await supervisor.stop();
    held.release();
  };
  try {
    const { size = 0 } = statSync(logFile, { throwIfNoEntry: false }) ?? {};
    if (size > LONG_LOG_BYTES) renameSync(logFile, `${logFile}.1`);
    const signal = AbortSignal.any([options.signal, failing]);
    const ports = enginePorts(config);
    const file = await untilAborted(boot({ ...options, folder, signal, config, ports, supervisor }), signal);
    held.publish(file);
    return { file, failing, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const logOf = (folder: string) => join(folder, 'assent.log');

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
    // Under root, Postgres runs as another user, who must pass through to its data. Secret files
    // in the folder have modes of their own.
    chmodSync(folder, process.getuid?.() === 0 ? 0o711 : 0o700);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new OperatorError(
      `The folder ${folder}, where data is kept, cannot be used (${code}). It must be writable and belong to ` +
        'whoever starts the engine: start as the user who did so first, or in another folder.',
      { cause },
    );
  }
}

async function boot(common: Boot): Promise<EngineFile> {
  const { config, environment, folder, ports, say, signal, supervisor } = common;
  const { ASSENT_MODE, TEMPORAL_NAMESPACE } = config;
  await requireFreePorts(config, ports);
  await requireGiven(config);
  const { ownerUrl, databaseUrl } = await bootDatabase(common);
  const temporalAddress = config.TEMPORAL_ADDRESS ?? (await startTemporal(common));
  const installation = await prepareDatabase(common, ownerUrl);
  // Another database's namespace is refused before any workflow starts in it.
  await poll('Temporal', SERVER_READY_MS, signal, () =>
    prepareNamespace({ ...config, TEMPORAL_ADDRESS: temporalAddress }, TEMPORAL_ANSWERS_MS, installation),
  );

  const keysFile = join(folder, 'keys');
  const keys = await openKeyring(config.ASSENT_KEYS, keysFile, ownerUrl);
  const apiUrl = reachedAt(config.HOST, ports.api);
  const temporalUiUrl =
    config.TEMPORAL_ADDRESS === undefined ? `http://127.0.0.1:${ports.temporalUi}` : undefined;
  const workflowUrl =
    temporalUiUrl && `${temporalUiUrl}/namespaces/${encodeURIComponent(TEMPORAL_NAMESPACE)}/workflows/`;
  const cast =
    ASSENT_MODE === 'sandbox'
      ? await prepareCast(
          folder,
          databaseUrl,
          { keyring: readKeyring(keys), timeZone: config.NETWORK_TIMEZONE },
          { apiUrl, workflowUrl },
        )
      : undefined;

  say('Starting the API and the worker …');
  const settings = {
    ...environment,
    ASSENT_MODE,
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: temporalAddress,
    ASSENT_KEYS: keys,
    ...(cast !== undefined && { SANDBOX_CAST: cast }),
  };
  const workerMetrics = ports.metrics && { METRICS_PORT: String(config.METRICS_PORT + 1) };
  supervisor.start(ownProgram('worker', { ...settings, ...workerMetrics }));
  supervisor.start(ownProgram('API', settings));
  await poll('The engine', READY_MS, signal, () => requireReady(apiUrl));

  const metricsAt = (port: number) => `${reachedAt(config.METRICS_HOST, port)}/metrics`;
  return {
    pid: process.pid,
    apiUrl,
    metricsUrls: ports.metrics && {
      api: metricsAt(ports.metrics.api),
      worker: metricsAt(ports.metrics.worker),
    },
    sandboxUrl: cast && `${apiUrl}/sandbox`,
    // Passkeys are good for the name in it alone.
    consoleUrl: config.ASSENT_CONSOLE ? `${config.CONSOLE_URL}/console` : undefined,
    temporalUiUrl,
    temporalAddress,
    namespace: TEMPORAL_NAMESPACE,
    databaseUrl,
    ownerUrl,
    keysFile: config.ASSENT_KEYS === undefined ? keysFile : undefined,
    logFile: resolve(config.LOG_FILE ?? logOf(folder)),
    settings: sharedSettings({ ...settings, DATABASE_OWNER_URL: ownerUrl }),
  };
}

/** Checks the servers of the settings first, so that a wrong setting shows within 5 s. */
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

async function bootDatabase({ config, folder, ports, say, signal, supervisor }: Boot) {
  const { DATABASE_URL, DATABASE_OWNER_URL } = config;
  if (DATABASE_URL !== undefined)
    return { databaseUrl: DATABASE_URL, ownerUrl: DATABASE_OWNER_URL ?? DATABASE_URL };
  const postgres = await preparePostgres(folder, ports.postgres, say);
  say('Starting Postgres …');
  supervisor.start(postgres.program);
  await poll('Postgres', SERVER_READY_MS, signal, () => postgres.setUp());
  return postgres;
}

/** @returns the server's address, which answers in some seconds */
async function startTemporal({ config, environment, folder, ports, say, supervisor }: Boot): Promise<string> {
  const command = await findTemporal({ cliPath: config.TEMPORAL_CLI_PATH, say });
  say('Starting Temporal …');
  supervisor.start(temporalServer({ command, environment }, folder, ports, config.TEMPORAL_NAMESPACE));
  return `127.0.0.1:${ports.temporal}`;
}

/** Migrates. @returns the installation, which owns its namespace of Temporal */
async function prepareDatabase({ config, folder, say }: Boot, ownerUrl: string): Promise<string> {
  const isOwn = config.DATABASE_URL === undefined;
  const by = operatorActor('npm start');
  try {
    const migrations = await migrateUp(ownerUrl, config.ASSENT_MODE, config.NETWORK_TIMEZONE, by);
    if (migrations.length > 0) say(`Applied ${migrations.length} migrations.`);
  } catch (cause) {
    if (!isOwn || !(cause instanceof DeploymentError)) throw cause;
    throw new OperatorError(
      `${cause.message}\nThe database is that of ${folder}: to start afresh, move that folder away, or remove it if all ` +
        'of its data may be lost.',
      { cause },
    );
  }
  return onDatabase(ownerUrl, async (client) => {
    // The workers of this folder's database belonged to an earlier engine, and are dead.
    if (isOwn) await deleteAllHeartbeats(statementsOf(client));
    return (await readTemporalState(statementsOf(client))).installation;
  });
}

/** The URL, from this machine, of a server that listens on `address`. */
function reachedAt(address: string, port: number): string {
  const host = address.replace(/^0\.0\.0\.0$/, '127.0.0.1').replace(/^::$/, '::1');
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

async function requireReady(apiUrl: string): Promise<void> {
  const answer = await fetch(`${apiUrl}/readyz`, { signal: AbortSignal.timeout(READINESS_ANSWERS_MS) });
  if (!answer.ok) throw new Error(await answer.text());
}
