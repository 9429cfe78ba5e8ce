import { readFileSync } from 'node:fs';
import { ConfigError, type Config } from '../config';
import { openDatabase, type Database } from '../database/connection';
import { readKeyring, type Keyring } from '../database/keyring';
import { readEngineFile } from '../start/engine-file';

/**
 * The engine that a command works on: the one that the settings name, otherwise the one that `npm start`
 * runs in this folder.
 */
export interface Engine {
  db: Database;
  ring: Keyring;
}

/** Where `npm start` keeps its data, from the folder that it was started in. */
const FOLDER = '.assent';

const NO_ENGINE = 'Run "npm start" in this folder first, or set';

/** @throws ConfigError saying how to name an engine */
export function openEngine(config: Config): Engine {
  const embedded = readEngineFile(FOLDER);
  const url = config.DATABASE_URL ?? embedded?.databaseUrl;
  if (url === undefined) throw new ConfigError(`There is no engine here. ${NO_ENGINE} DATABASE_URL.`);
  const keysFile = embedded?.keysFile;
  const keys = config.ASSENT_KEYS ?? (keysFile && readFileSync(keysFile, 'utf8'));
  if (keys === undefined) throw new ConfigError(`There is no keyring here. ${NO_ENGINE} ASSENT_KEYS.`);
  return { ring: readKeyring(keys), db: openDatabase(url, 2) };
}

/** The login that owns the schema. @throws ConfigError saying how to name one */
export function ownerUrl(config: Config): string {
  const url = config.DATABASE_OWNER_URL ?? config.DATABASE_URL ?? readEngineFile(FOLDER)?.ownerUrl;
  if (url === undefined) throw new ConfigError(`There is no engine here. ${NO_ENGINE} DATABASE_URL.`);
  return url;
}
