import { digits } from './ids';

/** 112 random bits: two of a billion references are the same with a chance of 10⁻¹⁶. */
export const REFERENCE_BYTES = 14;

/**
 * The characters that both usual base32 alphabets have, RFC 4648's and Crockford's. So software for
 * either accepts them. No two of them are confused (0 and O, 1, I and L, 8 and B), on a statement
 * or on the telephone.
 */
const ALPHABET = '234567ABCDEFGHJKMNPQRSTVWXYZ';
const LENGTH = 24;

/**
 * A transaction's reference, as merchants and banks quote it: 24 characters of upper-case base32.
 *
 * @param random `REFERENCE_BYTES` bytes from a cryptographic source
 */
export function makeReference(random: Uint8Array): string {
  if (random.length !== REFERENCE_BYTES) throw new RangeError(`needs ${REFERENCE_BYTES} random bytes`);
  return digits(random, ALPHABET, LENGTH);
}

/** Whether a text has the form of our references; the network may still not know it. */
export function isReference(text: string): boolean {
  return text.length === LENGTH && Array.from(text).every((character) => ALPHABET.includes(character));
}
