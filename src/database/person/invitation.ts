import { randomBytes } from 'node:crypto';
import { isId } from '../../domain/identifier/ids';
import type { Executor, Transaction } from '../pool/connection';

/**
 * Invitations, by which people make their passkeys: the person's id and 32 random bytes. The stored
 * keyed hash covers the person, so in another row it opens nothing.
 */

const VALID = '24 hours';
const FORM = /^(\w+)\.[\w-]{43}$/;

/** @returns the invitation, in place of the one before */
export async function writeInvitation(trx: Transaction, personId: string): Promise<string> {
  const invitation = `${personId}.${randomBytes(32).toString('base64url')}`;
  const hash = trx.keyring.blindIndex('person.invitation', invitation);
  await trx.rows`
    INSERT INTO invitations AS i (person_id, token_hash, expires_at)
    VALUES (${personId}, ${hash}, clock_timestamp() + ${VALID}::interval)
    ON CONFLICT (person_id) DO UPDATE SET token_hash = excluded.token_hash, expires_at = excluded.expires_at`;
  return invitation;
}

/** The person, if the invitation may still be used. A text of another form is not looked up. */
export async function openInvitee(db: Executor, invitation: string): Promise<string | undefined> {
  const [, personId = ''] = FORM.exec(invitation) ?? [];
  if (!isId('person', personId)) return undefined;
  const open = await db.row<{ personId: string }>`
    SELECT i.person_id FROM invitations i JOIN persons p ON p.id = i.person_id JOIN entities e ON e.id = p.entity_id
    WHERE i.person_id = ${personId} AND i.expires_at > clock_timestamp()
      AND i.token_hash = ANY(${db.keyring.blindIndexes('person.invitation', invitation)})
      AND p.disabled_at IS NULL AND e.status = 'active'`;
  return open?.personId;
}
