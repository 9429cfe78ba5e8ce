import { chmodSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readConfig, type Config } from '../config';
import { migrateUp } from '../database/migrate';
import { holdsSealedData, requireDatabase } from './database';
import { removeEngineFile, writeEngineFile, type EngineFile } from './engine-file';
import { embeddedKeys } from './keys';
import { takeLock } from './lock';
import { ownProgram } from './own-program';
import { poll } from './poll';
import { requireFreePorts, type WantedPort } from './ports';
import { preparePostgres, type DatabaseUrls } from './postgres';
import { Programs } from './programs';
import type { StartError } from './start-error';
import { prepareGivenNamespace, prepareNamespace, temporalServer } from './temporal';
import { findTemporal } from './temporal-binary';

/**
 * The whole engine on one machine: a Postgres and a Temporal of its own where the settings name none, the API
 * and a worker, each a process that is watched over.
 */
export interface Engine {
  /** Where everything is; also in `engine.json` of the folder for as long as the engine runs. */
  file: EngineFile;
  /** Resolves, should a process of the engine keep dying. The engine must be stopped then. */
  failed: Promise<StartError>;
  /** Stops all in order, within 10 s. */
  stop(): Promise<void>;
}

export interface EngineOptions {
  /** The settings, as the environment has them. */
  environment: NodeJS.ProcessEnv;
  /** Where data, keys and log are kept. */
  folder: string;
  /** Prints a line for the operator. */
  say: (line: string) => void;
  /** Gives up starting. */
  signal: AbortSignal;
}

/** Embedded Postgres; recovery after a kill included. */
const POSTGRES_READY_MS = 60_000;
/** The dev server starts in two seconds, and in ten on a busy machine with much history. */
const TEMPORAL_READY_MS = 60_000;
/** The worker compiles the workflows first, which takes some seconds of a free core. */
const READY_MS = 120_000;
/** A given server that does not answer by then is an error. */
const GIVEN_ANSWERS_MS = 4_500;

const POSTGRES_PORT = 5433;
const TEMPORAL_PORT = 7233;
const TEMPORAL_UI_PORT = 8233;

/**
 * Starts what is missing, migrates, and waits until the engine can work. On an error all that had been started is
 * stopped again.
 *
 * @throws ConfigError, StartError saying what to do; the signal's reason
 */
export async function startEngine(options: EngineOptions): Promise<Engine> {
  const config = readConfig(options.environment);
  const folder = resolve(options.folder);
  mkdirSync(folder, { recursive: true });
  // As root, Postgres runs as a user of its own, who must get through to its data. What is secret in here has
  // a mode of its own.
  chmodSync(folder, process.getuid?.() === 0 ? 0o711 : 0o700);
  const lock = await takeLock(folder, options.say);
  const programs = new Programs(join(folder, 'assent.log'), lock, options.signal);
  const stop = async () => {
    await programs.stop();
    removeEngineFile(folder);
    lock.release();
  };
  try {
    const file = await boot(config, { ...options, folder }, programs);
    return { file, failed: programs.failed, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function boot(
  config: Config,
  { folder, environment, say }: EngineOptions,
  programs: Programs,
): Promise<EngineFile> {
  const ports = enginePorts(config);
  await requireFreePorts(Object.values(ports).filter((wanted) => wanted !== undefined));

  const { ownerUrl, databaseUrl } = await database(config, folder, ports.postgres?.port, say, programs);
  const temporalAddress = await temporal(config, folder, ports, environment, say, programs);

  const migrations = await programs.unlessStopped(migrateUp(ownerUrl));
  if (migrations.length > 0) say(`Applied ${migrations.length} migrations.`);

  const keysFile = join(folder, 'keys');
  const keys = config.ASSENT_KEYS ?? embeddedKeys(keysFile, await holdsSealedData(ownerUrl));

  const own = {
    ...environment,
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: temporalAddress,
    ASSENT_KEYS: keys,
  };
  const apiUrl = `http://127.0.0.1:${ports.api.port}`;
  say('Starting the API and the worker …');
  programs.start(ownProgram('worker', own));
  programs.start(ownProgram('API', own));
  await poll('The engine', READY_MS, programs.signal, async () => {
    const answer = await fetch(`${apiUrl}/readyz`);
    if (answer.ok) return true;
    throw new Error(await answer.text());
  });

  const file: EngineFile = {
    pid: process.pid,
    apiUrl,
    ...(ports.temporalUi && { temporalUiUrl: `http://127.0.0.1:${ports.temporalUi.port}` }),
    temporalAddress,
    namespace: config.TEMPORAL_NAMESPACE,
    databaseUrl,
    ownerUrl,
    ...(config.ASSENT_KEYS === undefined && { keysFile }),
    logFile: config.LOG_FILE === undefined ? join(folder, 'assent.log') : resolve(config.LOG_FILE),
  };
  writeEngineFile(folder, file);
  return file;
}

/** The ports of what will be started; a given server has its own. */
function enginePorts(config: Config) {
  const wanted = (name: string, base: number, host: WantedPort['host'], remedy: string): WantedPort => ({
    name,
    port: base + config.PORT_OFFSET,
    host,
    remedy: `${remedy}set PORT_OFFSET to shift all ports`,
  });
  const local = (name: string, base: number, setting: string) =>
    wanted(name, base, '127.0.0.1', `set ${setting} to use a server of your own, or `);
  const ownTemporal = config.TEMPORAL_ADDRESS === undefined;
  return {
    api: wanted('the API', config.PORT, '::', 'set PORT, or '),
    ...(config.DATABASE_URL === undefined && {
      postgres: local('the embedded Postgres', POSTGRES_PORT, 'DATABASE_URL'),
    }),
    ...(ownTemporal && {
      temporal: local('the embedded Temporal', TEMPORAL_PORT, 'TEMPORAL_ADDRESS'),
      temporalUi: local("Temporal's UI", TEMPORAL_UI_PORT, 'TEMPORAL_ADDRESS'),
    }),
  };
}

async function database(
  config: Config,
  folder: string,
  port: number | undefined,
  say: (line: string) => void,
  programs: Programs,
): Promise<DatabaseUrls> {
  const { DATABASE_URL, DATABASE_OWNER_URL } = config;
  if (DATABASE_URL !== undefined) {
    await requireDatabase('DATABASE_URL', DATABASE_URL);
    if (DATABASE_OWNER_URL !== undefined) await requireDatabase('DATABASE_OWNER_URL', DATABASE_OWNER_URL);
    return { databaseUrl: DATABASE_URL, ownerUrl: DATABASE_OWNER_URL ?? DATABASE_URL };
  }
  say('Starting Postgres …');
  const postgres = await preparePostgres(folder, port ?? POSTGRES_PORT, say);
  programs.start(postgres.program);
  await poll('Postgres', POSTGRES_READY_MS, programs.signal, () => postgres.answers());
  await postgres.setUp();
  return postgres;
}

async function temporal(
  config: Config,
  folder: string,
  ports: ReturnType<typeof enginePorts>,
  environment: NodeJS.ProcessEnv,
  say: (line: string) => void,
  programs: Programs,
): Promise<string> {
  const { TEMPORAL_ADDRESS, TEMPORAL_CLI_PATH, TEMPORAL_NAMESPACE: namespace } = config;
  if (TEMPORAL_ADDRESS !== undefined) {
    await prepareGivenNamespace({ ...config, TEMPORAL_ADDRESS }, GIVEN_ANSWERS_MS);
    return TEMPORAL_ADDRESS;
  }
  const port = ports.temporal?.port ?? TEMPORAL_PORT;
  const uiPort = ports.temporalUi?.port ?? TEMPORAL_UI_PORT;
  const command = await programs.unlessStopped(findTemporal({ cliPath: TEMPORAL_CLI_PATH, say }));
  say('Starting Temporal …');
  programs.start(temporalServer(command, folder, { port, uiPort, namespace }, environment));
  const address = `127.0.0.1:${port}`;
  await poll('Temporal', TEMPORAL_READY_MS, programs.signal, () =>
    prepareNamespace({ TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace }, GIVEN_ANSWERS_MS),
  );
  return address;
}
