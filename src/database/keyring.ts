import { createHmac, createSecretKey, hkdfSync, randomBytes, type KeyObject } from 'node:crypto';

/**
 * The keys that everything sealed at rest hangs on, from `ASSENT_KEYS`: `kid:base64,kid:base64,…`, each 32
 * bytes. The first is current and seals what is written from now on; the others still open what they sealed.
 * To rotate, put a new key in front.
 *
 * The last key of the list, the oldest, also makes the blind indexes, for two values are found to be equal
 * only if both were indexed with one key: it stays the last for as long as the data lives.
 *
 * No key is used as it is. Each purpose has its own, derived with HKDF, so that what leaks or is forged in
 * one place opens nothing in another.
 */
export interface Keyring {
  /** Key id that new values are made with. */
  readonly current: string;
  /** The key of one purpose, or undefined for a key id that the ring does not hold. */
  derive(kid: string, purpose: KeyPurpose, bytes: 32 | 64): KeyObject | undefined;
  /**
   * Keyed fingerprint by which a sealed value is found again: the same value gives the same 32 bytes, and
   * without the key nobody can tell which value it was, nor try them all.
   */
  blindIndex(purpose: IndexPurpose, value: string): Buffer;
  /** The same, of a value that comes in parts. */
  blindIndexOfParts(purpose: IndexPurpose): { add(part: string): void; end(): Buffer };
}

type IndexPurpose =
  | 'customer.email'
  | 'customer.account_number'
  | 'device.fingerprint'
  | 'idempotency.body'
  | 'rate_limit.address';
type KeyPurpose = 'seal' | 'payment-id' | 'device-id' | 'blind-index';

export class KeyringError extends Error {
  override readonly name = 'KeyringError';
}

const KEY_BYTES = 32;

/** @throws KeyringError saying what is wrong, never showing a key */
export function readKeyring(text: string): Keyring {
  const masters = new Map<string, Buffer>();
  for (const [i, entry] of text.trim().split(',').entries()) {
    const match = /^\s*([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/]{43}=)\s*$/.exec(entry);
    const [, kid, key] = match ?? [];
    if (kid === undefined || key === undefined) {
      throw new KeyringError(`ASSENT_KEYS: entry ${i + 1} is not kid:base64 of ${KEY_BYTES} bytes`);
    }
    if (masters.has(kid)) throw new KeyringError(`ASSENT_KEYS: the key id "${kid}" occurs twice`);
    masters.set(kid, Buffer.from(key, 'base64'));
  }
  const kids = [...masters.keys()] as [string, ...string[]];
  const oldest = kids.at(-1) ?? kids[0];
  const derived = new Map<string, KeyObject>();

  function derive(kid: string, purpose: string, bytes: number): KeyObject | undefined {
    const master = masters.get(kid);
    if (master === undefined) return undefined;
    const name = `${kid}/${purpose}`;
    const known = derived.get(name);
    if (known) return known;
    const key = createSecretKey(
      Buffer.from(hkdfSync('sha256', master, Buffer.alloc(0), `assent/${purpose}`, bytes)),
    );
    derived.set(name, key);
    return key;
  }

  function indexer(purpose: IndexPurpose) {
    const key = derive(oldest, `blind-index/${purpose}`, KEY_BYTES);
    if (key === undefined) throw new KeyringError('ASSENT_KEYS: no key');
    return createHmac('sha256', key);
  }

  return {
    current: kids[0],
    derive,
    blindIndex: (purpose, value) => indexer(purpose).update(value).digest(),
    blindIndexOfParts(purpose) {
      const parts = indexer(purpose);
      return { add: (part) => void parts.update(part), end: () => parts.digest() };
    },
  };
}

/** A ring of one new key, as text for `ASSENT_KEYS`. */
export function makeKeyring(): string {
  return `k${randomBytes(4).toString('hex')}:${randomBytes(KEY_BYTES).toString('base64')}`;
}
