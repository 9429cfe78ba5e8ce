import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Mode } from '../domain/mode';
import { writePrivateFile } from './private-file';

/** Where a running `npm start` has its servers, for the commands that are called beside it. */
export interface EngineFile {
  pid: number;
  mode: Mode;
  apiUrl: string;
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

export function readEngineFile(folder: string): EngineFile | undefined {
  try {
    return JSON.parse(readFileSync(name(folder), 'utf8')) as EngineFile;
  } catch {
    return undefined;
  }
}

export function writeEngineFile(folder: string, file: EngineFile): void {
  writePrivateFile(name(folder), JSON.stringify(file, undefined, 2));
}

export function removeEngineFile(folder: string): void {
  rmSync(name(folder), { force: true });
}
