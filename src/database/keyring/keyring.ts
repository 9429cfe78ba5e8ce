import { createHmac, createSecretKey, hkdfSync, randomBytes, type KeyObject } from 'node:crypto';
import { OperatorError } from '../../domain/failures';

/**
 * The keys of all encrypted values, from `ASSENT_KEYS`: `kid:base64,kid:base64,…`, each 32 bytes.
 * The first is current: it encrypts new values and makes their blind indexes. The others still
 * decrypt their values and find by their indexes. To rotate, put a new key in front; `assent keys
 * reseal` brings all stored values under it.
 *
 * The public ids of agreements and devices are pinned to the current key of their creation, and
 * never change. A key that encrypts nothing any more is kept for them alone as `kid:base64:ids`.
 *
 * No key is used directly. Each purpose has a key of its own, derived with HKDF, so that a leak or
 * a forgery in one place opens nothing in another.
 */
export interface Keyring {
  /** The id of the key that makes new values. */
  readonly current: string;
  /** All key ids; `full` is false for a key that is kept for pinned ids alone. */
  readonly keys: readonly { kid: string; full: boolean }[];
  /** The key of one purpose; undefined for a key id that the keyring does not hold. */
  derive(kid: string, purpose: KeyPurpose, bytes: 32 | 64): KeyObject | undefined;
  /**
   * A keyed fingerprint, by which an encrypted value is found again; this one is stored. The same
   * value gives the same 32 bytes. Without the key it cannot be traced to a value, nor can values
   * be tried.
   */
  blindIndex(purpose: IndexPurpose, value: string): Buffer;
  /**
   * The fingerprint of each key, the current key's first. Searches use all, for a stored index may
   * be from before a rotation.
   */
  blindIndexes(purpose: IndexPurpose, value: string): Indexes;
  /** `blindIndexes` of a value that comes in parts. */
  blindIndexesOfParts(purpose: IndexPurpose): { add(part: string): void; end(): Indexes };
}

export type Indexes = [Buffer, ...Buffer[]];

export type IndexPurpose =
  | 'customer.email'
  | 'customer.account_number'
  | 'device.fingerprint'
  | 'idempotency.body'
  | 'idempotency.lock'
  | 'person.email'
  | 'person.invitation'
  | 'rate_limit.address';
type KeyPurpose = 'encrypt' | 'payment-id' | 'device-id' | 'client-secret' | 'blind-index' | 'check-value';

export class KeyringError extends OperatorError {
  override readonly name = 'KeyringError';
}

const KEY_BYTES = 32;

/** @throws KeyringError with the fault; it never shows a key */
export function readKeyring(text: string): Keyring {
  const masters = new Map<string, Buffer>();
  const keys: { kid: string; full: boolean }[] = [];
  for (const [i, entry] of text.trim().split(',').entries()) {
    const match = /^\s*([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/]{43}=)(:ids)?\s*$/.exec(entry);
    const [, kid, key, idsOnly] = match ?? [];
    if (kid === undefined || key === undefined) {
      throw new KeyringError(`ASSENT_KEYS: entry ${i + 1} is not kid:base64 of ${KEY_BYTES} bytes`);
    }
    if (masters.has(kid)) throw new KeyringError(`ASSENT_KEYS: the key id "${kid}" occurs twice`);
    masters.set(kid, Buffer.from(key, 'base64'));
    keys.push({ kid, full: idsOnly === undefined });
  }
  const [current, ...older] = keys;
  if (current?.full !== true) throw new KeyringError('ASSENT_KEYS: the first key may not be for ids alone');
  const indexing = [current.kid, ...older.filter(({ full }) => full).map(({ kid }) => kid)] as [
    string,
    ...string[],
  ];
  const derived = new Map<string, KeyObject>();

  function derive(kid: string, purpose: string, bytes: number): KeyObject | undefined {
    const master = masters.get(kid);
    const isOfAll = purpose === 'payment-id' || purpose === 'device-id' || purpose === 'check-value';
    if (master === undefined || !(isOfAll || indexing.includes(kid))) return undefined;
    const name = `${kid}/${purpose}`;
    const known = derived.get(name);
    if (known) return known;
    const key = createSecretKey(
      Buffer.from(hkdfSync('sha256', master, Buffer.alloc(0), `assent/${purpose}`, bytes)),
    );
    derived.set(name, key);
    return key;
  }

  function indexer(kid: string, purpose: IndexPurpose) {
    const key = derive(kid, `blind-index/${purpose}`, KEY_BYTES);
    if (key === undefined) throw new KeyringError('ASSENT_KEYS: no key');
    return createHmac('sha256', key);
  }

  return {
    current: current.kid,
    keys,
    derive,
    blindIndex: (purpose, value) => indexer(current.kid, purpose).update(value).digest(),
    blindIndexes: (purpose, value) =>
      indexing.map((kid) => indexer(kid, purpose).update(value).digest()) as Indexes,
    blindIndexesOfParts(purpose) {
      const all = indexing.map((kid) => indexer(kid, purpose));
      return {
        add(part) {
          for (const one of all) one.update(part);
        },
        end: () => all.map((one) => one.digest()) as Indexes,
      };
    },
  };
}

/** A keyring of one new key, as text for `ASSENT_KEYS`. */
export function makeKeyring(): string {
  return `k${randomBytes(4).toString('hex')}:${randomBytes(KEY_BYTES).toString('base64')}`;
}

/** For a command that neither encrypts nor decrypts. */
export const NO_KEYRING = new Proxy({} as Keyring, {
  get() {
    throw new KeyringError('this command was given no keys');
  },
});
