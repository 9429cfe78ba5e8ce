import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { KeyringError, type Keyring } from './keyring';

/**
 * Values at rest, encrypted with AES-256-GCM. An encrypted value is
 *
 *     format (1 byte, 1) · length of the key id (1) · key id · nonce (12) · ciphertext · tag (16)
 *
 * and decrypts only under the place that it was made for, `table.column:rowId`: a copy in another
 * row or column is worthless. Nonces are random, which is safe for 2^32 values a key: rotate long
 * before.
 */
export type EncryptedPlace = `${string}.${string}:${string}`;

const FORMAT = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export function encrypt(ring: Keyring, plain: string, place: EncryptedPlace): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', encryptionKey(ring, ring.current), nonce);
  cipher.setAAD(Buffer.from(place));
  const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
  return Buffer.concat([keyPrefix(ring), nonce, text, cipher.getAuthTag()]);
}

/** The first bytes of every value that a key encrypted. */
export function keyPrefix(ring: Keyring, kid = ring.current): Buffer {
  return Buffer.concat([Buffer.from([FORMAT, kid.length]), Buffer.from(kid, 'ascii')]);
}

/** The key id in the first bytes of a stored value. */
export function keyIdOf(stored: Buffer): string {
  return stored.toString('latin1', 2, 2 + (stored[1] ?? 0));
}

/** `keyIdOf` in SQL. */
export const keyIdIn = (column: string) =>
  `convert_from(substring(${column} FROM 3 FOR get_byte(${column}, 1)), 'UTF8')`;

/** @throws KeyringError if the key is not held, or the value is damaged or from another place */
export function decrypt(ring: Keyring, encrypted: Buffer, place: EncryptedPlace): string {
  const kidLength = encrypted[1] ?? 0;
  const nonceAt = 2 + kidLength;
  const textAt = nonceAt + NONCE_BYTES;
  const tagAt = encrypted.length - TAG_BYTES;
  if (encrypted[0] !== FORMAT || tagAt < textAt)
    throw new KeyringError(`what is stored in ${place} is not encrypted`);
  const key = encryptionKey(ring, keyIdOf(encrypted));
  const decipher = createDecipheriv('aes-256-gcm', key, encrypted.subarray(nonceAt, textAt), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(Buffer.from(place));
  decipher.setAuthTag(encrypted.subarray(tagAt));
  try {
    return decipher.update(encrypted.subarray(textAt, tagAt), undefined, 'utf8') + decipher.final('utf8');
  } catch (cause) {
    throw new KeyringError(`what is stored in ${place} cannot be decrypted: damaged, or from another place`, {
      cause,
    });
  }
}

/** The same; undefined for what this keyring did not make, or made for another place. */
export function decryptOwn(ring: Keyring, encrypted: Buffer, place: EncryptedPlace): string | undefined {
  try {
    return decrypt(ring, encrypted, place);
  } catch (error) {
    if (error instanceof KeyringError) return undefined;
    throw error;
  }
}

function encryptionKey(ring: Keyring, kid: string) {
  const key = ring.derive(kid, 'encrypt', 32);
  if (key === undefined)
    throw new KeyringError(`ASSENT_KEYS lacks the key "${kid}" that a stored value needs`);
  return key;
}
