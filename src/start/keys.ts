import { existsSync, readFileSync } from 'node:fs';
import { KeyringError, makeKeyring, readKeyring } from '../database/keys/keyring';
import { writePrivateFile } from './private-file';
import { StartError } from './start-error';

/**
 * The embedded keyring, made at the first start.
 *
 * @param hasData whether the database holds anything that only a keyring opens
 * @throws StartError where there is such data and the keyring is gone, for a new one would open
 *   none of it, or where the file is damaged
 */
export function embeddedKeys(file: string, hasData: boolean): string {
  if (existsSync(file)) return readKeys(file);
  if (hasData) {
    throw new StartError(
      `${file} is gone, and without it nothing sealed in the database can be opened again. Put it back from ` +
        'a backup or set ASSENT_KEYS; or, if the data may be lost as well, start with an empty database.',
    );
  }
  const keys = makeKeyring();
  writePrivateFile(file, `${keys}\n`);
  return keys;
}

function readKeys(file: string): string {
  try {
    const keys = readFileSync(file, 'utf8').trim();
    readKeyring(keys);
    return keys;
  } catch (cause) {
    const why = cause instanceof KeyringError ? cause.message : (cause as NodeJS.ErrnoException).code;
    throw new StartError(
      `${file} is damaged (${why}), and without it nothing sealed in the database can be opened again. Put it back from ` +
        'a backup or set ASSENT_KEYS; or, if the data may be lost as well, remove the folder that it is in.',
      { cause },
    );
  }
}
