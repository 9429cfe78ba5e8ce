import { readFileSync } from 'node:fs';
import { ConfigError, readConfigUntraced, type Config } from '../settings/config';
import { isUnavailable, refusedLogin } from '../database/pool/availability';
import { statementsOf, openDatabase, type Database } from '../database/pool/connection';
import type { Statements } from '../database/pool/statement';
import { requireDeployment, requireMigratable, type Deployment } from '../database/engine/deployment';
import { NO_KEYRING, readKeyring, type Keyring } from '../database/keyring/keyring';
import { OperatorError } from '../domain/failures';
import {
  lives,
  readEngineFile,
  readEngineLock,
  withSettingsOf,
  type EngineFile,
} from '../process/engine-file';
import { databaseFault } from './explain';

/** `npm start` keeps its data here, below the folder that it was started in. */
const FOLDER = '.assent';

/** A command sends its statements one after the other, or two at once. */
const CONNECTIONS = 2;

/**
 * The schema login changes a row on each connection: enough to share the disk's writes, and none
 * delays a call.
 */
const SCHEMA_LOGIN_CONNECTIONS = 4;
/** A page of a table with tens of millions of rows takes minutes where most of it is done. */
const SCHEMA_LOGIN_STATEMENT_WITHIN_MS = 60 * 60_000;

/**
 * The settings of a command. The settings of the engine in this folder overrule the shell's,
 * because a command in another zone would count other days than the engine.
 *
 * @throws ConfigError naming every wrong setting
 */
export function readSettings(environment: NodeJS.ProcessEnv): Config {
  const given = environment['DATABASE_URL'];
  const engine = engineOf({ DATABASE_URL: given === '' ? undefined : given });
  return readConfigUntraced(engine ? withSettingsOf(engine, environment) : environment);
}

/** The engine that `npm start` runs in this folder, where a command uses its database. */
export function engineOf({ DATABASE_URL: url }: Pick<Config, 'DATABASE_URL'>): EngineFile | undefined {
  const engine = readEngineFile(FOLDER);
  const isItsOwn = url === undefined || url === engine?.databaseUrl || url === engine?.ownerUrl;
  return isItsOwn ? engine : undefined;
}

/**
 * Checks that a ring suffices for a command: `claimRing` where it encrypts, `requireRing` where it
 * decrypts.
 */
export type AdmitRing = (db: Statements, ring: Keyring) => Promise<void>;

/** Admits any ring: a command that decrypts nothing works while an operator repairs the ring. */
export const anyRing: AdmitRing = () => Promise.resolve();

/**
 * The database of a command: `DATABASE_URL`'s, otherwise the database that `npm start` runs in this
 * folder, with its settings.
 *
 * @param admitRing asked of each new connection
 * @throws ConfigError saying how to name an engine
 */
export function openEngine(config: Config, admitRing: AdmitRing): Database {
  const url = databaseUrl(config);
  const keyring = readKeyring(keysOf(config));
  return openDatabase(
    url,
    CONNECTIONS,
    { keyring, timeZone: config.NETWORK_TIMEZONE },
    {
      onConnect: async (connection) => {
        const first = statementsOf(connection);
        await requireDeployment(first, deploymentOf(config));
        await admitRing(first, keyring);
      },
    },
  );
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
  throw notGiven('ASSENT_KEYS');
}

export function notGiven(setting: 'ASSENT_KEYS' | 'DATABASE_URL' | 'TEMPORAL_ADDRESS'): ConfigError {
  const lock = readEngineLock(FOLDER);
  if (lock && lock.databaseUrl === undefined && lives(lock)) {
    return new ConfigError(
      'The engine here is still starting: wait until "npm start" has printed its addresses.',
    );
  }
  return new ConfigError(
    lock?.databaseUrl !== undefined
      ? `${setting}: is not set, and DATABASE_URL is another database than that of "npm start" here. ` +
          'Set that of the same installation, or unset DATABASE_URL.'
      : `There is no engine here. Run "npm start" in this folder first, or set ${setting}.`,
  );
}

export const deploymentOf = ({ ASSENT_MODE, NETWORK_TIMEZONE }: Config): Deployment => ({
  mode: ASSENT_MODE,
  timeZone: NETWORK_TIMEZONE,
});

/** The login that the API and the worker use. @throws ConfigError saying how to name one */
export function databaseUrl({ DATABASE_URL }: Config): string {
  if (DATABASE_URL === undefined) throw notGiven('DATABASE_URL');
  return DATABASE_URL;
}

/**
 * Works with the login that owns the schema.
 *
 * @throws OperatorError naming the setting, where the database refuses the login
 */
export async function withSchemaLoginUrl<Result>(
  config: Config,
  work: (url: string) => Promise<Result>,
): Promise<Result> {
  const setting = config.DATABASE_OWNER_URL === undefined ? 'DATABASE_URL' : 'DATABASE_OWNER_URL';
  try {
    return await work(config.DATABASE_OWNER_URL ?? databaseUrl(config));
  } catch (cause) {
    const refused = refusedLogin(cause);
    if (refused !== undefined) throw new OperatorError(`${setting}: ${refused}`, { cause });
    throw whereAway(cause, config, setting);
  }
}

/**
 * Works as the schema login, without the time limit of requests, for reading whole tables.
 */
export async function asSchemaLogin<Result>(
  config: Config,
  work: (db: Database) => Promise<Result>,
  keyring = NO_KEYRING,
): Promise<Result> {
  return withSchemaLoginUrl(config, async (url) => {
    const db = openDatabase(
      url,
      SCHEMA_LOGIN_CONNECTIONS,
      { keyring, timeZone: config.NETWORK_TIMEZONE },
      {
        onConnect: async (connection) => {
          await requireMigratable(statementsOf(connection), deploymentOf(config));
          await connection.query('SET statement_timeout = 0');
        },
        answerWithinMs: SCHEMA_LOGIN_STATEMENT_WITHIN_MS,
        // The schema login of `npm start` may not take the role of API and worker.
        role: 'none',
      },
    );
    try {
      return await work(db);
    } finally {
      await db.destroy();
    }
  });
}

/** The error itself, or the remedy for a database that does not answer. */
export function whereAway(error: unknown, config: Config, setting = 'DATABASE_URL'): unknown {
  if (!isUnavailable(error)) return error;
  const engine = engineOf(config);
  const silent = !engine
    ? `${setting}: the database does not answer. Start it, or correct ${setting}.`
    : lives(engine)
      ? 'the database of "npm start" does not answer. It is started again when it dies. ' +
        `If it hangs, end it: its pid is in ${FOLDER}/engine.json. See ${engine.logFile}.`
      : 'the database does not answer. Run "npm start" in this folder, or set DATABASE_URL.';
  return new OperatorError(databaseFault(error) ?? silent, { cause: error });
}
