/** Crockford's alphabet: no I, L, O or U, so that nobody takes one character for another or reads a word. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/**
 * The bytes as one number, most significant bit first, in lower case and with leading zeros: 16 bytes are
 * always 26 characters, 15 bytes always 24.
 */
export function base32(bytes: Uint8Array): string {
  let value = bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  let text = '';
  for (let i = 0; i < Math.ceil((bytes.length * 8) / 5); i++) {
    text = ALPHABET[Number(value & 31n)] + text;
    value >>= 5n;
  }
  return text;
}
