import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { StartError } from './start-error';

/** Writes a file that only its owner may read, whole or not at all. */
export function writePrivateFile(path: string, text: string): void {
  const beside = `${path}.new`;
  const file = openSync(beside, 'w', 0o600);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(beside, path);
}

/**
 * The JSON that the engine wrote itself; undefined where the file is not there.
 *
 * @param advice what to do where the file is damaged
 * @throws StartError without its cause, which may quote a secret
 */
export function readOwnJson(file: string, advice: string): unknown {
  if (!existsSync(file)) return undefined;
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as unknown;
  } catch (error) {
    const { code = 'no JSON' } = error as NodeJS.ErrnoException;
    throw new StartError(`${file} is damaged (${code}). ${advice}`);
  }
}
