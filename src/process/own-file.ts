import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { OperatorError } from '../domain/failures';

/** Only its user may read the file. A crash leaves the old file or the new file whole. */
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
 * Reads a JSON file that the engine wrote itself; undefined if there is no file.
 *
 * @param advice the remedy for a damaged file
 * @throws OperatorError without its cause, which may quote a secret
 */
export function readOwnJson(file: string, advice: string): unknown {
  if (!existsSync(file)) return undefined;
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as unknown;
  } catch (error) {
    const { code = 'no JSON' } = error as NodeJS.ErrnoException;
    throw new OperatorError(`${file} is damaged (${code}). ${advice}`);
  }
}
