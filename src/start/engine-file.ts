import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Mode } from '../domain/mode';
import { readOwnJson } from './kept-data';
import { writePrivateFile } from './private-file';

/** Where a running `npm start` has its servers, for the commands that are called beside it. */
export interface EngineFile {
  pid: number;
  mode: Mode;
  apiUrl: string;
  /** The page for a first look; in a sandbox. */
  sandboxUrl?: string;
  /** Absent where the settings leave it out. */
  consoleUrl?: string;
  /** Absent where none are served. */
  metricsUrls?: { api: string; worker: string };
  /** Absent where Temporal is a given one, whose UI may be anywhere. */
  temporalUiUrl?: string;
  temporalAddress: string;
  namespace: string;
  databaseUrl: string;
  ownerUrl: string;
  /** File with the keyring, as `ASSENT_KEYS` takes it. Absent where `ASSENT_KEYS` was given. */
  keysFile?: string;
  logFile: string;
}

const name = (folder: string) => join(folder, 'engine.json');

/** @throws StartError where it is there and damaged */
export function readEngineFile(folder: string): EngineFile | undefined {
  const file = name(folder);
  if (!existsSync(file)) return undefined;
  return readOwnJson<EngineFile>(
    file,
    (read) => typeof read.databaseUrl === 'string' && typeof read.ownerUrl === 'string',
    'Nothing is lost by it: stop the engine and start it again, and it is written anew.',
  );
}

export function writeEngineFile(folder: string, file: EngineFile): void {
  writePrivateFile(name(folder), JSON.stringify(file, undefined, 2));
}

export function removeEngineFile(folder: string): void {
  rmSync(name(folder), { force: true });
}
