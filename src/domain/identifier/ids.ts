/**
 * Crockford's alphabet: without I, L, O or U, so that no two characters are confused and no words
 * appear.
 */
const CROCKFORD = '0123456789abcdefghjkmnpqrstvwxyz';

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

/**
 * Ids are TypeIDs (https://github.com/jetify-com/typeid): a prefix that names the kind, `_`, and a
 * UUIDv7 as 26 characters of Crockford's base32 in lower case. They sort by time of creation.
 */
export const ID_PREFIX = {
  bank: 'bnk',
  merchant: 'mch',
  provider: 'prv',
  client: 'cli',
  customer: 'cus',
  device: 'dev',
  agreement: 'agr',
  intent: 'int',
  billingRequest: 'brq',
  schedule: 'sch',
  transaction: 'txn',
  refund: 'rfd',
  batch: 'bat',
  delivery: 'dlv',
  event: 'evt',
  signingKey: 'key',
  exception: 'exc',
  statement: 'stm',
  person: 'psn',
  personAct: 'act',
} as const;

export type IdKind = keyof typeof ID_PREFIX;

// A UUID has 128 bits and 26 base32 characters hold 130: the first character is at most 7.
const SUFFIX_LENGTH = 26;
const SUFFIX = /^[0-7][0-9abcdefghjkmnpqrstvwxyz]{25}$/;

/** @param uuid 16 bytes */
export function encodeId(kind: IdKind, uuid: Uint8Array): string {
  return `${ID_PREFIX[kind]}_${digits(uuid, CROCKFORD, SUFFIX_LENGTH)}`;
}

/**
 * The id of another kind with the same suffix: an event of the feed is its delivery, and a charge's
 * transaction is the charge.
 */
export function idAs(kind: IdKind, id: string): string {
  return `${ID_PREFIX[kind]}_${id.slice(id.indexOf('_') + 1)}`;
}

export function isId(kind: IdKind, text: string): boolean {
  const prefix = `${ID_PREFIX[kind]}_`;
  return text.startsWith(prefix) && SUFFIX.test(text.slice(prefix.length));
}
