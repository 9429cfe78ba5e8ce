import { existsSync, readFileSync } from 'node:fs';
import { statementsOf } from '../database/pool/connection';
import { KeyringError, makeKeyring, readKeyring } from '../database/keyring/keyring';
import { requireRing } from '../database/key-rotation/claim-keyring';
import { onDatabase } from '../database/pool/one-connection';
import { OperatorError } from '../domain/failures';
import { writePrivateFile } from '../process/own-file';

/**
 * Returns the given keyring, or the file's. The first start creates the file.
 *
 * @throws KeyringError if the given keyring cannot decrypt the database's data; OperatorError if
 *   the file is missing or damaged, since a new keyring could decrypt none of the data
 */
export async function openKeyring(
  given: string | undefined,
  file: string,
  ownerUrl: string,
): Promise<string> {
  const isKept = existsSync(file);
  const keys = given ?? (isKept ? readFileSync(file, 'utf8').trim() : makeKeyring());
  try {
    const ring = readKeyring(keys);
    await onDatabase(ownerUrl, (client) => requireRing(statementsOf(client), ring));
  } catch (cause) {
    if (given !== undefined || !(cause instanceof KeyringError)) throw cause;
    throw new OperatorError(
      `${file} is ${isKept ? `damaged, or of other data (${cause.message})` : 'gone'}, and without it nothing encrypted in ` +
        'the database can be opened again. Put it back from a backup or set ASSENT_KEYS; or, if the data may be ' +
        'lost as well, start with an empty database.',
      { cause },
    );
  }
  if (given === undefined && !isKept) writePrivateFile(file, `${keys}\n`);
  return keys;
}
