import { aessiv } from '@noble/ciphers/aes.js';
import type { Keyring } from './keyring';

/**
 * An id for a holder who must not read it, nor compare it with other holders' ids. The id is
 * encrypted with AES-SIV (RFC 5297), and bound to its holder, as
 *
 *     base64url( length of the key id (1 byte) · key id · synthetic IV (16) · ciphertext )
 *
 * The encryption is deterministic, so the string is computed when needed and never stored. It is
 * authenticated, so a changed string, or one of another holder, decrypts to nothing. The key id is
 * pinned on the resource: the keyring rotates, the string stays.
 */

/** Longer than any string made here; a longer string is refused before any cipher runs. */
const MAX_LENGTH = 200;

type Purpose = 'payment-id' | 'device-id';

/** @param kid the resource's own key: `Keyring.current` when the resource was created */
export function bindId(ring: Keyring, purpose: Purpose, kid: string, id: string, holderId: string): string {
  const cipher = cipherOf(ring, purpose, kid, holderId);
  if (cipher === undefined) throw new Error(`ASSENT_KEYS lacks the key "${kid}" of ${id}`);
  const kidBytes = Buffer.from(kid, 'ascii');
  const text = cipher.encrypt(Buffer.from(id, 'ascii'));
  return Buffer.concat([Buffer.from([kidBytes.length]), kidBytes, text]).toString('base64url');
}

/** @returns the id; undefined for any string that was not made for this holder */
export function openBoundId(
  ring: Keyring,
  purpose: Purpose,
  bound: string,
  holderId: string,
): string | undefined {
  if (bound.length > MAX_LENGTH) return undefined;
  const bytes = Buffer.from(bound, 'base64url');
  // Decoding is lenient: only the spelling that was handed out counts.
  if (bytes.toString('base64url') !== bound) return undefined;
  const textAt = 1 + (bytes[0] ?? 0);
  // Not `ascii`: it drops the highest bit of each byte, so several strings would decode to one.
  const cipher = cipherOf(ring, purpose, bytes.toString('latin1', 1, textAt), holderId);
  if (cipher === undefined) return undefined;
  try {
    return Buffer.from(cipher.decrypt(bytes.subarray(textAt))).toString('latin1');
  } catch {
    return undefined;
  }
}

function cipherOf(ring: Keyring, purpose: Purpose, kid: string, holderId: string) {
  const key = ring.derive(kid, purpose, 64)?.export();
  return key && aessiv(key, Buffer.from(holderId, 'ascii'));
}
