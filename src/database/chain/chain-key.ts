import type { KeyObject } from 'node:crypto';
import type { Executor } from '../pool/connection';
import {
  currentKey,
  decryptKey,
  insertKey,
  openPublicJwk,
  type PublicJwk,
  type StoredKey,
} from '../keys/signing-key';

/**
 * The ES256 keys that sign the heads of the chains. One key signs at a time. Retired keys are kept,
 * because the heads they signed stay valid.
 */

/**
 * The current key; the first call creates it.
 *
 * @throws KeyringError if the keyring cannot decrypt the key
 */
export async function chainSigner(db: Executor): Promise<{ kid: string; key: KeyObject }> {
  let current = await currentKey(db, 'chain_keys');
  if (!current) {
    await insertKey(db, 'chain_keys');
    current = await currentKey(db, 'chain_keys');
  }
  if (!current) throw new Error('the chain has no current key');
  return { kid: current.kid, key: decryptKey(db.keyring, 'chain_keys', current) };
}

/** Public keys whose private half the keyring decrypts. Nothing proves that other keys are ours. */
export async function chainKeys(db: Executor): Promise<PublicJwk[]> {
  const all = await db.rows<StoredKey>`
    SELECT kid, private_key_encrypted AS encrypted FROM chain_keys ORDER BY created_at, kid`;
  return all.flatMap((one) => openPublicJwk(db.keyring, 'chain_keys', one) ?? []);
}
