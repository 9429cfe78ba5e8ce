import { base32 } from './base32';

/** 120 random bits: two of a billion references are the same with a chance below 10⁻¹⁸. */
export const REFERENCE_BYTES = 15;

/**
 * A transaction's reference, as merchants and banks quote it: 24 characters of upper-case base32.
 *
 * @param random `REFERENCE_BYTES` bytes from a cryptographic source
 */
export function makeReference(random: Uint8Array): string {
  if (random.length !== REFERENCE_BYTES) throw new RangeError(`needs ${REFERENCE_BYTES} random bytes`);
  return base32(random).toUpperCase();
}
