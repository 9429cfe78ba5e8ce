/**
 * Crockford's alphabet: without I, L, O or U, so that no two characters are confused and no words
 * appear.
 */
const CROCKFORD = '0123456789abcdefghjkmnpqrstvwxyz';

/**
 * The bytes as one number, most significant bit first, in lower case and with leading zeros: 16
 * bytes are always 26 characters.
 */
export function base32(bytes: Uint8Array): string {
  return digits(bytes, CROCKFORD, Math.ceil((bytes.length * 8) / 5));
}

/**
 * The bytes as one number, most significant bit first, in `length` digits.
 *
 * @param alphabet the digits, in the order of their values
 */
export function digits(bytes: Uint8Array, alphabet: string, length: number): string {
  const base = BigInt(alphabet.length);
  let value = bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  let text = '';
  while (text.length < length) {
    text = alphabet.charAt(Number(value % base)) + text;
    value /= base;
  }
  return text;
}
