import { aessiv } from '@noble/ciphers/aes.js';
import { isId } from '../domain/ids';
import type { Keyring } from './keyring';

/**
 * The `paymentID` of an agreement: its id under AES-SIV (RFC 5297), bound to the merchant, as
 *
 *     base64url( length of the key id (1 byte) · key id · synthetic IV (16) · ciphertext )
 *
 * Deterministic, so the string is computed when needed and stored nowhere; authenticated, so a string that
 * another merchant holds, or that anybody changed, opens to nothing. The key id inside is the one pinned on
 * the agreement: the ring rotates, the string stays.
 */

/** Longer than any string made here; what is longer is refused before any cipher runs. */
const MAX_LENGTH = 200;

/** @param kid the key pinned on the agreement, `Keyring.current` of the day that it was made */
export function makePaymentId(ring: Keyring, kid: string, agreementId: string, merchantId: string): string {
  const cipher = cipherOf(ring, kid, merchantId);
  if (cipher === undefined) throw new Error(`ASSENT_KEYS lacks the key "${kid}" of ${agreementId}`);
  const kidBytes = Buffer.from(kid, 'ascii');
  const text = cipher.encrypt(Buffer.from(agreementId, 'ascii'));
  return Buffer.concat([Buffer.from([kidBytes.length]), kidBytes, text]).toString('base64url');
}

/** The agreement that the string stands for in the hands of this merchant; undefined for any other string. */
export function openPaymentId(ring: Keyring, paymentId: string, merchantId: string): string | undefined {
  if (paymentId.length > MAX_LENGTH) return undefined;
  const bytes = Buffer.from(paymentId, 'base64url');
  // Decoding is lenient: only the spelling that was handed out counts.
  if (bytes.toString('base64url') !== paymentId) return undefined;
  const textAt = 1 + (bytes[0] ?? 0);
  const cipher = cipherOf(ring, bytes.toString('ascii', 1, textAt), merchantId);
  if (cipher === undefined) return undefined;
  try {
    const agreementId = Buffer.from(cipher.decrypt(bytes.subarray(textAt))).toString('ascii');
    return isId('agreement', agreementId) ? agreementId : undefined;
  } catch {
    return undefined;
  }
}

function cipherOf(ring: Keyring, kid: string, merchantId: string) {
  const key = ring.derive(kid, 'payment-id', 64)?.export();
  return key && aessiv(key, Buffer.from(merchantId, 'ascii'));
}
