import { createPrivateKey, type KeyObject } from 'node:crypto';
import { recordAuditEvent, type Actor } from '../record/audit-event';
import { row, rows, type Database, type Executor } from '../pool/connection';
import type { Keyring } from '../keys/keyring';
import { decrypt, type EncryptedPlace } from '../keys/encrypt';
import { makeKey, openPublicJwk, type PublicJwk, type StoredKey } from '../keys/signing-key';

/**
 * The ES256 keys that sign the heads of the chains. One key signs at a time. Retired keys are kept,
 * because the heads they signed stay valid.
 */

export function chainKeyPlace(kid: string): EncryptedPlace {
  return `chain_keys.private_key:${kid}`;
}

interface Signer {
  kid: string;
  key: KeyObject;
}

/**
 * The current key; the first call creates it.
 *
 * @throws KeyringError if the keyring cannot decrypt the key
 */
export async function chainSigner(db: Executor, ring: Keyring): Promise<Signer> {
  const found = (await currentKey(db)) ?? (await insertKey(db, ring));
  return { kid: found.kid, key: createPrivateKey(decrypt(ring, found.encrypted, chainKeyPlace(found.kid))) };
}

/** @returns the id of the new key */
export async function rotateChainKey(db: Database, ring: Keyring, by: Actor): Promise<string> {
  return db.transaction(async (trx) => {
    // One rotation at a time: two at once would retire one key and create two.
    await row(trx, `SELECT pg_advisory_xact_lock(hashtextextended('chain_keys', 0))`);
    const retired = await row<{ kid: string }>(
      trx,
      `UPDATE chain_keys SET retired_at = clock_timestamp() WHERE retired_at IS NULL RETURNING kid`,
    );
    const { kid } = await insertKey(trx, ring);
    await recordAuditEvent(trx, by, {
      action: 'chain_key.rotated',
      entityId: null,
      before: retired ?? null,
      after: { kid },
    });
    return kid;
  });
}

/** Public keys whose private half the keyring decrypts. Nothing proves that other keys are ours. */
export async function chainKeys(db: Executor, ring: Keyring): Promise<PublicJwk[]> {
  const all = await rows<StoredKey>(
    db,
    `SELECT kid, private_key_encrypted AS encrypted FROM chain_keys ORDER BY created_at, kid`,
  );
  return all.flatMap((one) => openPublicJwk(ring, one, chainKeyPlace) ?? []);
}

function currentKey(db: Executor): Promise<StoredKey | undefined> {
  return row<StoredKey>(
    db,
    `SELECT kid, private_key_encrypted AS encrypted FROM chain_keys WHERE retired_at IS NULL`,
  );
}

async function insertKey(db: Executor, ring: Keyring): Promise<StoredKey> {
  await row(
    db,
    `INSERT INTO chain_keys (kid, private_key_encrypted) VALUES (:kid, :encrypted)
     ON CONFLICT ((true)) WHERE retired_at IS NULL DO NOTHING`,
    { ...(await makeKey(ring, chainKeyPlace)) },
  );
  const current = await currentKey(db);
  if (!current) throw new Error('no key of the chain is in force');
  return current;
}
