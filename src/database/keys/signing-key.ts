import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { act, type Actor } from '../record/audit-event';
import type { Database, Executor, Transaction } from '../pool/connection';
import { raw, type Statements } from '../pool/statement';
import { newId } from '../identifier/new-id';
import type { Keyring } from '../keyring/keyring';
import { decrypt, decryptOwn, encrypt, type EncryptedPlace } from '../keyring/encrypt';

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
interface SigningKey {
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
  verifyForS: number,
): Promise<[SigningKey & { privateKey: KeyObject }, ...SigningKey[]]> {
  const found = await readKeys(db, verifyForS);
  if (found[0]?.retired !== false) {
    await db.transaction((trx) =>
      act(trx, NETWORK, insertKey(trx, 'signing_keys'), (kid) => ({
        action: 'signing_key.created',
        entityId: null,
        after: { kid },
      })),
    );
    found.splice(0, found.length, ...(await readKeys(db, verifyForS)));
  }
  const [current, ...retired] = found;
  if (current === undefined || current.retired) throw new Error('no signing key is in force');
  const { kid } = current;
  const privateKey = decryptKey(db.keyring, 'signing_keys', current);
  return [
    { kid, publicJwk: publicJwkOf(kid, privateKey), privateKey },
    ...retired.flatMap((one) => {
      const publicJwk = openPublicJwk(db.keyring, 'signing_keys', one);
      return publicJwk ? [{ kid: one.kid, publicJwk }] : [];
    }),
  ];
}

/** Tables of ES256 keys. One key of each signs: access tokens, or the heads of the chains. */
type KeyTable = 'signing_keys' | 'chain_keys';

/** @returns the id of the new key */
export async function rotateKey(db: Database, by: Actor, table: KeyTable): Promise<string> {
  return db.transaction(async (trx) => {
    await lockKeys(trx, table);
    const retired = await trx.row<{ kid: string }>`
      UPDATE ${raw(table)} SET retired_at = clock_timestamp() WHERE retired_at IS NULL RETURNING kid`;
    const made = await act(trx, by, insertKey(trx, table), (kid) => ({
      action: table === 'chain_keys' ? 'chain_key.rotated' : 'signing_key.rotated',
      entityId: null,
      before: retired ?? null,
      after: { kid },
    }));
    if (made === undefined) throw new Error(`the current key of ${table} was not retired`);
    return made;
  });
}

/** One rotation at a time: two at once would retire one key and create two. */
async function lockKeys(trx: Transaction, table: KeyTable): Promise<void> {
  await trx.row`SELECT pg_advisory_xact_lock(hashtextextended('${raw(table)}', 0))`;
}

/**
 * Revokes a key at once: a process refuses its tokens from its next reading of the keys on. If the
 * key was current, a new one takes its place.
 *
 * @returns the id of the current key; undefined for an unknown key
 */
export async function revokeSigningKey(db: Database, by: Actor, kid: string): Promise<string | undefined> {
  return db.transaction(async (trx) => {
    await lockKeys(trx, 'signing_keys');
    const revoked = await trx.row`
      UPDATE signing_keys SET retired_at = coalesce(retired_at, clock_timestamp()),
        revoked_at = clock_timestamp()
      WHERE kid = ${kid} AND revoked_at IS NULL RETURNING kid`;
    const known = revoked ?? (await trx.row`SELECT kid FROM signing_keys WHERE kid = ${kid}`);
    if (!known) return undefined;
    await insertKey(trx, 'signing_keys');
    const current = await act(trx, by, currentKey(trx, 'signing_keys'), (after) => ({
      action: 'signing_key.revoked',
      entityId: null,
      before: { kid },
      after: { kid: after.kid },
    }));
    return current?.kid;
  });
}

async function readKeys(db: Executor, verifyForS: number) {
  return db.rows<StoredKey & { retired: boolean }>`
    SELECT kid, private_key_encrypted AS encrypted, retired_at IS NOT NULL AS retired
    FROM signing_keys
    WHERE retired_at IS NULL OR revoked_at IS NULL
      AND retired_at > clock_timestamp() - ${verifyForS} * interval '1 second'
    ORDER BY retired_at DESC NULLS FIRST`;
}

export interface StoredKey {
  kid: string;
  encrypted: Buffer;
}

export function currentKey(db: Statements, table: KeyTable): Promise<StoredKey | undefined> {
  return db.row<StoredKey>`
    SELECT kid, private_key_encrypted AS encrypted FROM ${raw(table)} WHERE retired_at IS NULL`;
}

/** @returns undefined if there is a current key already */
export async function insertKey(trx: Executor, table: KeyTable): Promise<string | undefined> {
  const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' });
  // A fixed alphabet, so that the key id of a token's header is checked before it is looked up.
  const kid = newId('signingKey');
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const inserted = await trx.row<{ kid: string }>`
    INSERT INTO ${raw(table)} (kid, private_key_encrypted)
    VALUES (${kid}, ${encrypt(trx.keyring, pem, privateKeyPlace(table, kid))})
    ON CONFLICT ((true)) WHERE retired_at IS NULL DO NOTHING RETURNING kid`;
  return inserted?.kid;
}

/** @throws KeyringError if the keyring cannot decrypt the key */
export function decryptKey(ring: Keyring, table: KeyTable, { kid, encrypted }: StoredKey): KeyObject {
  return createPrivateKey(decrypt(ring, encrypted, privateKeyPlace(table, kid)));
}

/** @returns undefined if the private half cannot be decrypted: nothing proves the key ours */
export function openPublicJwk(
  ring: Keyring,
  table: KeyTable,
  { kid, encrypted }: StoredKey,
): PublicJwk | undefined {
  const pem = decryptOwn(ring, encrypted, privateKeyPlace(table, kid));
  return pem === undefined ? undefined : publicJwkOf(kid, createPrivateKey(pem));
}

function publicJwkOf(kid: string, privateKey: KeyObject): PublicJwk {
  const { x, y } = createPublicKey(privateKey).export({ format: 'jwk' });
  if (x === undefined || y === undefined) throw new Error(`${kid} is no key of ES256`);
  return { kty: 'EC', crv: 'P-256', x, y, kid, alg: 'ES256', use: 'sig' };
}

export function privateKeyPlace(table: KeyTable, kid: string): EncryptedPlace {
  return `${table}.private_key:${kid}`;
}
