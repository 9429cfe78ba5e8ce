import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where a running `npm start` has its servers, for the commands that are called beside it. */
export interface EngineFile {
  databaseUrl: string;
  ownerUrl: string;
  temporalAddress: string;
  apiUrl: string;
  /** File with the keyring, as `ASSENT_KEYS` takes it. */
  keysFile: string;
}

export function readEngineFile(folder: string): EngineFile | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, 'engine.json'), 'utf8')) as EngineFile;
  } catch {
    return undefined;
  }
}
