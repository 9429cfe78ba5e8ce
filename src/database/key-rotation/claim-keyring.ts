import type { Transaction } from '../pool/connection';
import { customPlan, raw, type Statements } from '../pool/statement';
import { SECRET_KEYS } from '../entity/client-credential';
import { KeyringError, type Keyring } from '../keyring/keyring';
import { currentKey, openPublicJwk } from '../keys/signing-key';

const WHOLE_RING = 'Every process needs the same ring (docs/operations.md, "Keys").';

/** Faults of a keyring, in words that follow `ASSENT_KEYS`. */
const ringWords = {
  keyMissing: (kid: string, encrypts: boolean) =>
    `lacks the key "${kid}", which ${encrypts ? 'encrypts values or hashes client secrets' : 'made paymentIDs or deviceIds'} in this database. ` +
    'Give this process the ring that the others have. ' +
    `Where none has the key any more, add it behind the first one${encrypts ? '' : ', with ":ids" after it'}. ${WHOLE_RING}`,
  keyForIdsAlone: (kid: string) =>
    `has the key "${kid}" for ids alone, but it encrypts values or hashes client secrets in this database. Take ":ids" ` +
    `away until "assent keys reseal" has brought them under the first key. ${WHOLE_RING}`,
  keyDiffers: (kid: string) =>
    `has another key under the id "${kid}" than the one that this database's values hang on, and decrypts none of them. ` +
    `Put the right one back. ${WHOLE_RING}`,
  keyRetired: (kid: string) =>
    `has the key "${kid}" in front, which "keys reseal" has retired. ${WHOLE_RING}`,
  signingKeyShut: (kid: string) =>
    `cannot decrypt the key "${kid}" that signs access tokens, so no caller would get one. Put the right ring back; ` +
    `where the stored key is damaged, end it by "assent keys revoke ${kid}".`,
};

/**
 * The keys that this database needs, to check that a process's keyring has them.
 *
 * A process registers a key before it encrypts with it. So a process whose keyring lacks a key, or
 * has other bytes under its id, is refused at its start. Otherwise each call that meets a value of
 * that key would fail.
 */
interface EncryptionKey {
  kid: string;
  checkValue: Buffer;
  /** False once all values are encrypted with another key, and only pinned ids need this one. */
  encrypts: boolean;
}

/**
 * For processes that only decrypt. A database without encrypted values takes any keyring.
 *
 * @throws KeyringError with each key that is missing or wrong, and the remedy
 */
export async function requireRing(db: Statements, ring: Keyring): Promise<void> {
  refuse((await readKeys(db)).flatMap((key) => wrongWith(ring, key)));
}

/**
 * For processes that encrypt: from now on every other process must have its first key. If two bring
 * different keys of one id into an empty database, one is refused.
 *
 * @throws KeyringError as `requireRing`
 */
export async function claimRing(db: Statements, ring: Keyring): Promise<void> {
  await requireRing(db, ring);
  const claimed = await db.row`
    INSERT INTO encryption_keys (kid, check_value) VALUES (${ring.current}, ${checkValue(ring, ring.current)})
    ON CONFLICT (kid) DO UPDATE SET encrypts = true WHERE NOT encryption_keys.encrypts RETURNING kid`;
  if (!claimed) await requireRing(db, ring);
}

/**
 * For the API and the worker, which must not start while no access token can be signed.
 *
 * @throws KeyringError if the keyring cannot decrypt the key that signs access tokens
 */
export async function requireSigningKey(db: Statements, ring: Keyring): Promise<void> {
  refuse(await wrongWithSigning(db, ring));
}

/**
 * Faults of a running process's keyring, in words that follow `ASSENT_KEYS`: others may have put a
 * new key in front.
 */
export async function ringFaults(db: Statements, ring: Keyring): Promise<string[]> {
  const keys = await readKeys(db);
  const wrong = keys.flatMap((key) => wrongWith(ring, key));
  if (keys.some(({ kid, encrypts }) => kid === ring.current && !encrypts)) {
    wrong.push(ringWords.keyRetired(ring.current));
  }
  if (wrong.length === 0) wrong.push(...(await wrongWithSigning(db, ring)));
  return wrong;
}

function refuse(faults: string[]): void {
  if (faults.length > 0) throw new KeyringError(faults.map((fault) => `ASSENT_KEYS: ${fault}`).join('\n'));
}

/**
 * After all values were brought under one key: other keys are needed for pinned ids alone, or not
 * at all. A key that hashed a client's secret stays in full use until that client's next token
 * call.
 */
export async function retireOtherKeys(trx: Transaction): Promise<void> {
  const { current } = trx.keyring;
  await trx.rows`
    UPDATE encryption_keys SET encrypts = false
    WHERE kid <> ${current} AND kid NOT IN (${raw(SECRET_KEYS)})`;
  await customPlan(trx).rows`
    DELETE FROM encryption_keys k WHERE kid <> ${current} AND NOT encrypts
    AND NOT EXISTS (SELECT FROM agreements WHERE payment_id_key = k.kid)
    AND NOT EXISTS (SELECT FROM devices WHERE token_key = k.kid)`;
}

async function readKeys(db: Statements): Promise<EncryptionKey[]> {
  return db.rows<EncryptionKey>`SELECT kid, check_value, encrypts FROM encryption_keys ORDER BY kid`;
}

function wrongWith(ring: Keyring, { kid, encrypts, checkValue: stored }: EncryptionKey): string[] {
  const held = ring.keys.find((one) => one.kid === kid);
  if (held === undefined) return [ringWords.keyMissing(kid, encrypts)];
  if (encrypts && !held.full) return [ringWords.keyForIdsAlone(kid)];
  return stored.equals(checkValue(ring, kid)) ? [] : [ringWords.keyDiffers(kid)];
}

async function wrongWithSigning(db: Statements, ring: Keyring): Promise<string[]> {
  const key = await currentKey(db, 'signing_keys');
  if (!key || openPublicJwk(ring, 'signing_keys', key)) return [];
  return [ringWords.signingKeyShut(key.kid)];
}

function checkValue(ring: Keyring, kid: string): Buffer {
  const derived = ring.derive(kid, 'check-value', 32);
  if (derived === undefined) throw new KeyringError(`ASSENT_KEYS lacks the key "${kid}"`);
  return derived.export();
}
