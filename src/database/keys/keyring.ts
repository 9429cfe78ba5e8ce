import { createHmac, createSecretKey, hkdfSync, randomBytes, type KeyObject } from 'node:crypto';

/**
 * The keys that everything sealed at rest hangs on, from `ASSENT_KEYS`: `kid:base64,kid:base64,…`,
 * each 32 bytes. The first is current: it seals what is written from now on, and makes its blind
 * indexes; the others still open what they sealed, and find what they indexed. To rotate, put a new
 * key in front; `assent keys reseal` brings all that is stored under it.
 *
 * The strings by which others know an agreement or a device are pinned to the key of the day that
 * they were made, and never change. A key that seals nothing any more is kept for them alone as
 * `kid:base64:ids`: it opens and finds nothing else.
 *
 * No key is used as it is. Each purpose has its own, derived with HKDF, so that what leaks or is
 * forged in one place opens nothing in another.
 */
export interface Keyring {
  /** Key id that new values are made with. */
  readonly current: string;
  /** All key ids; of those that are kept for pinned ids alone `full` is false. */
  readonly keys: readonly { kid: string; full: boolean }[];
  /** The key of one purpose, or undefined for a key id that the ring does not hold. */
  derive(kid: string, purpose: KeyPurpose, bytes: 32 | 64): KeyObject | undefined;
  /**
   * Keyed fingerprint by which a sealed value is found again: the same value gives the same 32
   * bytes, and without the key nobody can tell which value it was, nor try them all. It is what is
   * stored.
   */
  blindIndex(purpose: IndexPurpose, value: string): Buffer;
  /**
   * That of each key, the current one's first: what is looked for, for what is stored may be from
   * before a rotation.
   */
  blindIndexes(purpose: IndexPurpose, value: string): Indexes;
  /** The same, of a value that comes in parts. */
  blindIndexesOfParts(purpose: IndexPurpose): { add(part: string): void; end(): Indexes };
}

export type Indexes = [Buffer, ...Buffer[]];

type IndexPurpose =
  | 'customer.email'
  | 'customer.account_number'
  | 'device.fingerprint'
  | 'idempotency.body'
  | 'rate_limit.address'
  | 'trace.id';
type KeyPurpose = 'seal' | 'payment-id' | 'device-id' | 'client-secret' | 'blind-index' | 'check-value';

export class KeyringError extends Error {
  override readonly name = 'KeyringError';
}

const KEY_BYTES = 32;

/** @throws KeyringError saying what is wrong, never showing a key */
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

/** A ring of one new key, as text for `ASSENT_KEYS`. */
export function makeKeyring(): string {
  return `k${randomBytes(4).toString('hex')}:${randomBytes(KEY_BYTES).toString('base64')}`;
}
