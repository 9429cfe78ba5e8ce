import { Failure } from '../../domain/failures';
import { mayAct, type Person, type PersonRole } from '../../domain/person';
import { lockEntity } from '../entity/lock-entity';
import { newId } from '../identifier/new-id';
import { decrypt, decryptOwn, encrypt, type EncryptedPlace } from '../keyring/encrypt';
import { lapseActs } from '../person-act/person-act';
import type { Executor, Transaction } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { allOf } from '../query/list-page';
import { act, type Actor } from '../record/audit-event';
import { writeInvitation } from './invitation';

/**
 * People who act for an entity in the console. Each change locks the entity: of two at once, the
 * second sees the first.
 */

/** A new link, which is shown once. */
export type Invited = Omit<Person, 'disabled'> & { invitation: string };

/** All are read at once. None is deleted: an office of hundreds has years of leavers. */
const PERSONS_MAX = 1_000;

interface Row extends Omit<Person, 'email'> {
  entityId: string;
  emailEncrypted: Buffer;
}

const COLUMNS = 'id AS person_id, entity_id, role, email_encrypted, disabled_at IS NOT NULL AS disabled';

const emailPlace = (personId: string): EncryptedPlace => `persons.email_encrypted:${personId}`;

/** @throws Failure not_found, also for an unknown entity; person_exists; too_many_persons */
export async function addPerson(
  trx: Transaction,
  by: Actor,
  entityId: string,
  { email, role }: Pick<Person, 'email' | 'role'>,
): Promise<Invited> {
  if (!(await lockEntity(trx, entityId))) throw new Failure('not_found', 'There is no such entity');
  const { keyring } = trx;
  const { count, isThere } = await trx.oneRow<{ count: number; isThere: boolean }>`
    SELECT count(*)::int AS count,
      coalesce(bool_or(email_index = ANY(${keyring.blindIndexes('person.email', email.toLowerCase())})), false) AS is_there
    FROM persons WHERE entity_id = ${entityId}`;
  if (isThere) throw new Failure('person_exists', 'There is a person with this e-mail address');
  if (count >= PERSONS_MAX)
    throw new Failure('too_many_persons', `An entity may have ${PERSONS_MAX} persons`);
  const personId = newId('person');
  const made = trx.row<object>`
    INSERT INTO persons (id, entity_id, role, email_encrypted, email_index)
    VALUES (${personId}, ${entityId}, ${role}, ${encrypt(keyring, email, emailPlace(personId))},
      ${keyring.blindIndex('person.email', email.toLowerCase())}) RETURNING id`;
  await act(trx, by, made, () => ({ action: 'person.added', entityId, after: { personId, role } }));
  return { personId, email, role, invitation: await writeInvitation(trx, personId) };
}

/** All of an entity, oldest first. */
export async function listPersons(db: Executor, entityId: string): Promise<Person[]> {
  const found = await db.rows<Row>`
    SELECT ${raw(COLUMNS)} FROM persons WHERE entity_id = ${entityId} ORDER BY id`;
  return found.map((one) => shownPerson(db, one));
}

function shownPerson({ keyring }: Executor, { personId, role, disabled, emailEncrypted }: Row): Person {
  return { personId, email: decrypt(keyring, emailEncrypted, emailPlace(personId)), role, disabled };
}

export async function findPerson(db: Executor, personId: string): Promise<Person | undefined> {
  const found = await db.row<Row>`
    SELECT ${raw(COLUMNS)} FROM persons WHERE id = ${personId}`;
  return found && shownPerson(db, found);
}

/** E-mail addresses by id, as far as the keyring opens them; other ids than persons' have none. */
export async function personEmails(db: Executor, ids: string[]): Promise<ReadonlyMap<string, string>> {
  const found = await db.rows<Row>`SELECT ${raw(COLUMNS)} FROM persons WHERE id = ANY(${ids})`;
  return new Map(
    found.flatMap(({ personId, emailEncrypted }) => {
      const email = decryptOwn(db.keyring, emailEncrypted, emailPlace(personId));
      return email === undefined ? [] : [[personId, email]];
    }),
  );
}

export const lockEntityOf = (trx: Transaction, personId: string) =>
  lockEntity(trx, sql`SELECT entity_id FROM persons WHERE id = ${personId}`);

/** A person as a caller names one; the operator names no entity. */
interface Named {
  personId: string;
  entityId?: string;
}

/** A person, whose entity stays locked. @throws Failure not_found */
async function lockPerson(trx: Transaction, { personId, entityId }: Named): Promise<Row> {
  await lockEntityOf(trx, personId);
  const found = await trx.row<Row>`
    SELECT ${raw(COLUMNS)} FROM persons WHERE id = ${personId} AND entity_id = coalesce(${entityId ?? null}, entity_id)`;
  if (found === undefined) throw new Failure('not_found', 'There is no such person');
  return found;
}

/** @throws Failure not_found, last_admin */
export async function changePerson(
  trx: Transaction,
  by: Actor,
  named: Named,
  change: { role: PersonRole } | { disabled: boolean },
): Promise<Omit<Person, 'email'>> {
  const { personId, entityId, role, disabled } = await lockPerson(trx, named);
  const before = { personId, role, disabled };
  const after = { ...before, ...change };
  const set = trx.oneRow<object>`
    UPDATE persons SET role = ${after.role},
      disabled_at = CASE WHEN ${after.disabled}::boolean THEN coalesce(disabled_at, clock_timestamp()) END
    WHERE id = ${personId} RETURNING id`;
  // An older link must not open again once the person is enabled.
  if (after.disabled) await trx.rows`DELETE FROM invitations WHERE person_id = ${personId}`;
  if (after.disabled || !mayAct(after.role, role)) await lapseActs(trx, personId);
  await act(trx, by, set, () => ({
    action: 'role' in change ? 'person.role_set' : after.disabled ? 'person.disabled' : 'person.enabled',
    entityId,
    before,
    after,
  }));
  if (role === 'admin' && !disabled && !(await hasAdmin(trx, entityId)))
    throw new Failure('last_admin', 'It is the last admin who is not disabled: make another one first');
  await closeSecretSignIn(trx, entityId);
  return after;
}

async function hasAdmin(trx: Transaction, entityId: string): Promise<boolean> {
  const admin = await trx.row`
    SELECT id FROM persons WHERE entity_id = ${entityId} AND role = 'admin' AND disabled_at IS NULL LIMIT 1`;
  return admin !== undefined;
}

/** Once an admin has a passkey, client id and secret sign in to the console no more, for good. */
export async function closeSecretSignIn(trx: Transaction, entityId: string): Promise<void> {
  await trx.rows`
    UPDATE entities SET persons_since = clock_timestamp()
    WHERE id = ${entityId} AND persons_since IS NULL AND EXISTS (
      SELECT FROM persons p JOIN passkeys k ON k.person_id = p.id
      WHERE p.entity_id = ${entityId} AND p.role = 'admin' AND p.disabled_at IS NULL)`;
}

/** Whether client id and secret sign in to the console: for an entity, or for any. */
export async function isSecretSignInOpen(db: Executor, entityId?: string): Promise<boolean> {
  const open = await db.row`
    SELECT id FROM entities WHERE ${allOf(
      sql`persons_since IS NULL AND status = 'active'`,
      entityId !== undefined && sql`id = ${entityId}`,
    )} LIMIT 1`;
  return open !== undefined;
}

/** A new link, in place of the one before. @throws Failure not_found */
export async function invitePerson(trx: Transaction, by: Actor, named: Named): Promise<Invited> {
  const person = await lockPerson(trx, named);
  const { personId, email, role } = shownPerson(trx, person);
  const invitation = await act(trx, by, writeInvitation(trx, personId), () => ({
    action: 'person.invited',
    entityId: person.entityId,
    after: { personId },
  }));
  return { personId, email, role, invitation };
}
