import { Failure } from '../../domain/failures';
import type { PersonRole } from '../../domain/person';
import type { Standing } from '../entity/create-entity';
import { decryptOwn, encrypt, type EncryptedPlace } from '../keyring/encrypt';
import { lapseActs } from '../person-act/person-act';
import type { Executor, Transaction } from '../pool/connection';
import { act, type Actor } from '../record/audit-event';
import { closeSecretSignIn, lockEntityOf } from './person';

/** Passkeys (WebAuthn), by which persons sign in to the console: the public half of each. */
interface NewPasskey {
  credentialId: string;
  publicKey: Uint8Array;
  counter: number;
}

/** A person who has just shown a passkey, as a token of the session has them. */
export interface Holder extends Omit<Standing, 'active'> {
  entityId: string;
  personId: string;
  passkeyId: string;
}

/** A phone, a laptop and a key or two; more are a sign of somebody else. */
const PASSKEYS_MAX = 10;

/**
 * Ends an invitation with a passkey, and the person's older ones with it. One DELETE decides which
 * of two uses is the first.
 *
 * @param request in which the person acts
 * @returns undefined where it was used before, has expired, or its person or entity is disabled
 */
export async function useInvitation(
  trx: Transaction,
  request: Pick<Actor, 'requestId' | 'ownRequestId'>,
  { personId, invitation }: { personId: string; invitation: string },
  passkey: NewPasskey,
): Promise<Holder | undefined> {
  await lockEntityOf(trx, personId);
  const invited = await trx.row<Omit<Holder, 'passkeyId'>>`
    DELETE FROM invitations i USING persons p, entities e
    WHERE i.person_id = ${personId} AND i.expires_at > clock_timestamp()
      AND i.token_hash = ANY(${trx.keyring.blindIndexes('person.invitation', invitation)})
      AND p.id = i.person_id AND p.disabled_at IS NULL AND e.id = p.entity_id AND e.status = 'active'
    RETURNING p.id AS person_id, e.id AS entity_id, e.type AS role, e.token_generation, e.provider_id`;
  if (invited === undefined) return undefined;
  await trx.rows`DELETE FROM passkeys WHERE person_id = ${personId}`;
  await lapseActs(trx, personId);
  const by = { ...request, actor: personId, cause: invited.role, reason: null };
  await insertPasskey(trx, by, invited, passkey);
  await closeSecretSignIn(trx, invited.entityId);
  return { ...invited, passkeyId: passkey.credentialId };
}

/**
 * A signed-in person gets another.
 *
 * @throws Failure unauthenticated where the session's own is gone; invalid_request where the
 *   passkey is known; too_many_passkeys
 */
export async function addPasskey(
  trx: Transaction,
  by: Actor,
  person: Pick<Holder, 'entityId' | 'personId' | 'passkeyId'>,
  passkey: NewPasskey,
): Promise<void> {
  // An invitation locks it too: a passkey that it ends adds no other meanwhile.
  await lockEntityOf(trx, person.personId);
  const { count, isThere } = await trx.oneRow<{ count: number; isThere: boolean }>`
    SELECT count(*)::int AS count, coalesce(bool_or(credential_id = ${person.passkeyId}), false) AS is_there
    FROM passkeys WHERE person_id = ${person.personId}`;
  if (!isThere) throw new Failure('unauthenticated', 'The session has ended: sign in again');
  if (count >= PASSKEYS_MAX)
    throw new Failure('too_many_passkeys', `A person may have ${PASSKEYS_MAX} passkeys`);
  await insertPasskey(trx, by, person, passkey);
}

/** @throws Failure invalid_request where the passkey is another's, or was made before */
async function insertPasskey(
  trx: Transaction,
  by: Actor,
  { entityId, personId }: Pick<Holder, 'entityId' | 'personId'>,
  { credentialId, publicKey, counter }: NewPasskey,
): Promise<void> {
  const place = publicKeyPlace(personId, credentialId);
  const key = encrypt(trx.keyring, Buffer.from(publicKey).toString('base64'), place);
  const made = trx.row<object>`
    INSERT INTO passkeys (credential_id, person_id, entity_id, public_key_encrypted, counter)
    VALUES (${credentialId}, ${personId}, ${entityId}, ${key}, ${counter})
    ON CONFLICT (credential_id) DO NOTHING RETURNING credential_id`;
  const kept = await act(trx, by, made, () => ({
    action: 'person.passkey_made',
    entityId,
    after: { personId },
  }));
  if (kept === undefined) throw new Failure('invalid_request', 'The passkey is known already: make another');
}

/** The key opens for its person alone: no planted or copied row signs anybody in. */
export const publicKeyPlace = (personId: string, credentialId: string): EncryptedPlace =>
  `passkeys.public_key_encrypted:${personId}:${credentialId}`;

export async function findPasskey(db: Executor, credentialId: string, personId: string) {
  const found = await db.row<{ publicKeyEncrypted: Buffer; counter: bigint }>`
    SELECT public_key_encrypted, counter FROM passkeys
    WHERE credential_id = ${credentialId} AND person_id = ${personId}`;
  const key =
    found && decryptOwn(db.keyring, found.publicKeyEncrypted, publicKeyPlace(personId, credentialId));
  if (key === undefined) return undefined;
  return { publicKey: Uint8Array.from(Buffer.from(key, 'base64')), counter: Number(found?.counter) };
}

/** Oldest first. */
export async function passkeysOf(db: Executor, personId: string) {
  return db.rows<{ credentialId: string; createdAt: Date }>`
    SELECT credential_id, created_at FROM passkeys WHERE person_id = ${personId} ORDER BY created_at`;
}

/**
 * Signs in by a passkey whose signature is right. One UPDATE decides: a copy of the passkey counts
 * what was counted before.
 *
 * @returns undefined where it was ended meanwhile, or its person or entity is disabled
 */
export async function usePasskey(
  db: Executor,
  { credentialId, counter }: Pick<NewPasskey, 'credentialId' | 'counter'>,
): Promise<Holder | undefined> {
  return db.row<Holder>`
    UPDATE passkeys k SET counter = ${counter} FROM persons p, entities e
    WHERE k.credential_id = ${credentialId} AND (k.counter < ${counter} OR k.counter = 0 AND ${counter}::bigint = 0)
      AND p.id = k.person_id AND p.disabled_at IS NULL AND e.id = p.entity_id AND e.status = 'active'
    RETURNING p.id AS person_id, k.credential_id AS passkey_id, e.id AS entity_id, e.type AS role, e.token_generation,
      e.provider_id`;
}

/** A person's standing at this moment; undefined where person, passkey or entity is out. */
export async function readPersonStanding(
  db: Executor,
  { personId, passkeyId }: { personId: string; passkeyId: string },
) {
  return db.row<{ passkeyMadeAt: Date; personRole: PersonRole } & Omit<Standing, 'active'>>`
    SELECT k.created_at AS passkey_made_at, p.role AS person_role, e.type AS role, e.token_generation, e.provider_id
    FROM passkeys k JOIN persons p ON p.id = k.person_id JOIN entities e ON e.id = p.entity_id
    WHERE k.credential_id = ${passkeyId} AND p.id = ${personId} AND p.disabled_at IS NULL AND e.status = 'active'`;
}
