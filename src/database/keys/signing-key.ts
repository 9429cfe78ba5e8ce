import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { recordAuditEvent, type Actor } from '../record/audit-event';
import { row, rows, type Database, type Executor, type Transaction } from '../pool/connection';
import { newId } from '../identifier/new-id';
import { KeyringError, type Keyring } from './keyring';
import { decrypt, encrypt, type EncryptedPlace } from './encrypt';

export type PublicJwk = {
  kty: 'EC';
  crv: 'P-256';
  x: string;
  y: string;
  kid: string;
  alg: 'ES256';
  use: 'sig';
};

/**
 * The ES256 keys that sign access tokens. One key signs at a time; retired keys verify until their
 * last token ends.
 */
export interface SigningKey {
  kid: string;
  publicJwk: PublicJwk;
  /** Only the key that signs now has it. */
  privateKey?: KeyObject;
}

/** Creates the first key, which no operator or entity asked for. */
const NETWORK: Actor = { actor: 'network', cause: 'network', requestId: null, reason: null };

/**
 * The key that signs now, first, and the retired keys that still verify. The first call creates the
 * first key; if several processes do so at once, one wins and all use its key.
 *
 * A retired key that the keyring cannot decrypt verifies nothing: the table alone proves no key.
 *
 * @param verifyForS how long a retired key's last tokens may still come
 * @throws KeyringError if the keyring cannot decrypt the key that signs
 */
export async function usableSigningKeys(
  db: Database,
  ring: Keyring,
  verifyForS: number,
): Promise<[SigningKey & { privateKey: KeyObject }, ...SigningKey[]]> {
  const found = await readKeys(db, verifyForS);
  if (found[0]?.retired !== false) {
    await db.transaction(async (trx) => {
      const kid = await insertSigningKey(trx, ring);
      if (kid === undefined) return;
      await recordAuditEvent(trx, NETWORK, { action: 'signing_key.created', entityId: null, after: { kid } });
    });
    found.splice(0, found.length, ...(await readKeys(db, verifyForS)));
  }
  const [current, ...retired] = found;
  if (current === undefined || current.retired) throw new Error('no signing key is in force');
  const { kid } = current;
  const privateKey = decryptSigningKey(ring, current);
  return [
    { kid, publicJwk: publicJwkOf(kid, privateKey), privateKey },
    ...retired.flatMap((one) => {
      const publicJwk = openPublicJwk(ring, one, signingKeyPlace);
      return publicJwk ? [{ kid: one.kid, publicJwk }] : [];
    }),
  ];
}

/** @returns the id of the new key */
export async function rotateSigningKey(db: Database, ring: Keyring, by: Actor): Promise<string> {
  return db.transaction(async (trx) => {
    // One rotation at a time: two at once would retire one key and create two.
    await row(trx, `SELECT pg_advisory_xact_lock(hashtextextended('signing_keys', 0))`);
    const retired = await row<{ kid: string }>(
      trx,
      `UPDATE signing_keys SET retired_at = clock_timestamp() WHERE retired_at IS NULL RETURNING kid`,
    );
    const kid = await insertSigningKey(trx, ring);
    if (kid === undefined) throw new Error('the signing key in force was not retired');
    await recordAuditEvent(trx, by, {
      action: 'signing_key.rotated',
      entityId: null,
      before: retired ?? null,
      after: { kid },
    });
    return kid;
  });
}

/**
 * Revokes a key at once: a process refuses its tokens from its next reading of the keys on. If the
 * key was current, a new one takes its place.
 *
 * @returns the id of the current key; undefined for an unknown key
 */
export async function revokeSigningKey(
  db: Database,
  ring: Keyring,
  by: Actor,
  kid: string,
): Promise<string | undefined> {
  return db.transaction(async (trx) => {
    await row(trx, `SELECT pg_advisory_xact_lock(hashtextextended('signing_keys', 0))`);
    const revoked = await row(
      trx,
      `UPDATE signing_keys SET retired_at = coalesce(retired_at, clock_timestamp()), revoked_at = clock_timestamp()
       WHERE kid = :kid AND revoked_at IS NULL RETURNING kid`,
      { kid },
    );
    const known = revoked ?? (await row(trx, `SELECT kid FROM signing_keys WHERE kid = :kid`, { kid }));
    if (!known) return undefined;
    await insertSigningKey(trx, ring);
    const current = await row<{ kid: string }>(trx, `SELECT kid FROM signing_keys WHERE retired_at IS NULL`);
    await recordAuditEvent(trx, by, {
      action: 'signing_key.revoked',
      entityId: null,
      before: { kid },
      after: current ?? null,
    });
    return current?.kid;
  });
}

async function readKeys(db: Executor, verifyForS: number) {
  return rows<StoredKey & { retired: boolean }>(
    db,
    `SELECT kid, private_key_encrypted AS encrypted, retired_at IS NOT NULL AS retired
     FROM signing_keys
     WHERE retired_at IS NULL OR revoked_at IS NULL AND retired_at > clock_timestamp() - :verifyForS * interval '1 second'
     ORDER BY retired_at DESC NULLS FIRST`,
    { verifyForS },
  );
}

/** @returns undefined if there is a current key already */
async function insertSigningKey(trx: Transaction, ring: Keyring): Promise<string | undefined> {
  const inserted = await row<{ kid: string }>(
    trx,
    `INSERT INTO signing_keys (kid, private_key_encrypted) VALUES (:kid, :encrypted)
     ON CONFLICT ((true)) WHERE retired_at IS NULL DO NOTHING RETURNING kid`,
    { ...(await makeKey(ring, signingKeyPlace)) },
  );
  return inserted?.kid;
}

export interface StoredKey {
  kid: string;
  encrypted: Buffer;
}

export async function makeKey(ring: Keyring, placeOf: (kid: string) => EncryptedPlace): Promise<StoredKey> {
  const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' });
  // A fixed alphabet, so that the key id of a token's header is checked before it is looked up.
  const kid = newId('signingKey');
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { kid, encrypted: encrypt(ring, pem, placeOf(kid)) };
}

/** @throws KeyringError if the keyring cannot decrypt the key */
export function decryptSigningKey(ring: Keyring, { kid, encrypted }: StoredKey): KeyObject {
  return createPrivateKey(decrypt(ring, encrypted, signingKeyPlace(kid)));
}

/** @returns undefined if the private half cannot be decrypted: nothing proves the key ours */
export function openPublicJwk(
  ring: Keyring,
  { kid, encrypted }: StoredKey,
  placeOf: (kid: string) => EncryptedPlace,
): PublicJwk | undefined {
  try {
    return publicJwkOf(kid, createPrivateKey(decrypt(ring, encrypted, placeOf(kid))));
  } catch (error) {
    if (error instanceof KeyringError) return undefined;
    throw error;
  }
}

function publicJwkOf(kid: string, privateKey: KeyObject): PublicJwk {
  const { x, y } = createPublicKey(privateKey).export({ format: 'jwk' });
  if (x === undefined || y === undefined) throw new Error(`${kid} is no key of ES256`);
  return { kty: 'EC', crv: 'P-256', x, y, kid, alg: 'ES256', use: 'sig' };
}

export function signingKeyPlace(kid: string): EncryptedPlace {
  return `signing_keys.private_key:${kid}`;
}
