import { readFileSync } from 'node:fs';
import { ConfigError, type Config } from '../config';
import { executorOf, openDatabase, type Database, type Executor } from '../database/connection';
import { requireDeployment, type Deployment } from '../database/engine/deployment';
import { readKeyring, type Keyring } from '../database/keys/keyring';
import type { Mode } from '../domain/mode';
import { readEngineFile, type EngineFile } from '../start/engine-file';

/**
 * The engine that a command works on: the one that the settings name, otherwise the one that `npm
 * start` runs in this folder.
 */
export interface Engine {
  db: Database;
  ring: Keyring;
}

/** Where `npm start` keeps its data, from the folder that it was started in. */
const FOLDER = '.assent';

/** A command does one thing after the other, or two at once. */
const CONNECTIONS = 2;

const NO_ENGINE = 'Run "npm start" in this folder first, or set';

/**
 * Whether a ring will do for what a command does: `claimRing` where it seals, `requireRing` where
 * it opens.
 */
export type AdmitRing = (db: Executor, ring: Keyring) => Promise<void>;

/**
 * For a command that has nothing to do with what is sealed: it must work also where somebody mends
 * the ring.
 */
export const anyRing: AdmitRing = () => Promise.resolve();

/**
 * @param admitRing asked of each new connection
 * @throws ConfigError saying how to name an engine
 */
export function openEngine(config: Config, admitRing: AdmitRing): Engine {
  const url = databaseUrl(config);
  const ring = readKeyring(keysOf(config));
  const db = openDatabase(url, CONNECTIONS, async (connection) => {
    const first = executorOf(connection);
    await requireDeployment(first, deploymentOf(config));
    await admitRing(first, ring);
  });
  return { ring, db };
}

/** The keyring, as `ASSENT_KEYS` takes it. @throws ConfigError saying how to name one */
export function keysOf(config: Config): string {
  const engine = engineOf(config);
  const keys = config.ASSENT_KEYS ?? (engine?.keysFile && readFileSync(engine.keysFile, 'utf8'));
  if (keys !== undefined) return keys;
  if (engine)
    throw new ConfigError(
      'ASSENT_KEYS: the engine that runs here was given it. Set the same for this command.',
    );
  throw notGiven('ASSENT_KEYS', 'keyring');
}

/**
 * What `npm start` runs in this folder, where a command works on the database of that. Another
 * database has another keyring, and its workflows are in another Temporal.
 */
export function engineOf({ DATABASE_URL }: Pick<Config, 'DATABASE_URL'>): EngineFile | undefined {
  const engine = embeddedEngine();
  if (DATABASE_URL === undefined) return engine;
  return engine && [engine.databaseUrl, engine.ownerUrl].includes(DATABASE_URL) ? engine : undefined;
}

/** For a setting without which it is not known what goes with the database. */
export function notGiven(setting: 'ASSENT_KEYS' | 'TEMPORAL_ADDRESS', what: string): ConfigError {
  return new ConfigError(
    embeddedEngine()
      ? `${setting}: is not set, and DATABASE_URL is another database than that of "npm start" here. ` +
          'Set that of the same installation, or unset DATABASE_URL.'
      : `There is no ${what} here. ${NO_ENGINE} ${setting}.`,
  );
}

/**
 * The mode of the engine that a command works on; what was given for a database stands for the one
 * that was given.
 */
export function modeOf(config: Config): Mode {
  const { ASSENT_MODE, DATABASE_URL } = config;
  return DATABASE_URL !== undefined ? ASSENT_MODE : (readEngineFile(FOLDER)?.mode ?? ASSENT_MODE);
}

export const deploymentOf = (config: Config): Deployment => ({
  mode: modeOf(config),
  timeZone: config.NETWORK_TIMEZONE,
});

/** The login that the API and the worker use. @throws ConfigError saying how to name one */
export function databaseUrl(config: Config): string {
  const url = config.DATABASE_URL ?? readEngineFile(FOLDER)?.databaseUrl;
  if (url === undefined) throw new ConfigError(`There is no engine here. ${NO_ENGINE} DATABASE_URL.`);
  return url;
}

/** The login that owns the schema. @throws ConfigError saying how to name one */
export function ownerUrl(config: Config): string {
  const url = config.DATABASE_OWNER_URL ?? config.DATABASE_URL ?? readEngineFile(FOLDER)?.ownerUrl;
  if (url === undefined) throw new ConfigError(`There is no engine here. ${NO_ENGINE} DATABASE_URL.`);
  return url;
}

/** What `npm start` runs in this folder, if it runs. */
export function embeddedEngine(): EngineFile | undefined {
  return readEngineFile(FOLDER);
}
