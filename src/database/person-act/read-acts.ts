import { Failure } from '../../domain/failures';
import type { PersonRole } from '../../domain/person';
import { ACT_WINDOW, type ActState } from '../../domain/two-person';
import { decrypt, type EncryptedPlace } from '../keyring/encrypt';
import type { Keyring } from '../keyring/keyring';
import type { Executor } from '../pool/connection';
import { raw } from '../pool/statement';

/** An act that waits, or waited, for a second person. */
export interface PersonAct {
  actId: string;
  /** Who asked for it, and the person's role now. */
  personId: string;
  personRole: PersonRole;
  operation: string;
  leastRole: PersonRole;
  /** As it was accepted. */
  request: { params: Record<string, string>; body: Record<string, unknown> };
  amount: bigint | null;
  currency: string | null;
  askedAt: Date;
  lapsesAt: Date;
  state: ActState;
  decidedBy: string | null;
  decidedAt: Date | null;
  /** The code by which the act was refused once it was approved. */
  refusal: string | null;
}

/** SQL: whether an act `a` can still be decided. */
export const IS_OPEN = `(a.state = 'waiting' AND a.created_at > clock_timestamp() - interval '${ACT_WINDOW}'
  AND EXISTS (SELECT FROM persons p WHERE p.id = a.person_id AND p.disabled_at IS NULL
    AND p.role IN ('admin', a.least_role)))`;

const COLUMNS = `a.id AS act_id, a.person_id,
  (SELECT role FROM persons WHERE id = a.person_id) AS person_role, a.operation, a.least_role, a.request_encrypted, a.amount, a.currency,
  a.created_at AS asked_at, a.created_at + interval '${ACT_WINDOW}' AS lapses_at,
  CASE WHEN a.state = 'waiting' AND NOT ${IS_OPEN} THEN 'lapsed' ELSE a.state END AS state,
  a.decided_by, a.decided_at, a.refusal`;

type Stored = Omit<PersonAct, 'request'> & { requestEncrypted: Buffer };

export const requestPlace = (actId: string): EncryptedPlace => `person_acts.request_encrypted:${actId}`;

function opened(ring: Keyring, { requestEncrypted, ...act }: Stored): PersonAct {
  const request = decrypt(ring, requestEncrypted, requestPlace(act.actId));
  return { ...act, request: JSON.parse(request) as PersonAct['request'] };
}

/** @throws Failure not_found */
export async function readAct(db: Executor, entityId: string, actId: string): Promise<PersonAct> {
  const found = await db.row<Stored>`
    SELECT ${raw(COLUMNS)} FROM person_acts a
    WHERE a.id = ${actId} AND a.entity_id = ${entityId} AND a.state <> 'alone'`;
  if (!found) throw new Failure('not_found', 'There is no such act.');
  return opened(db.keyring, found);
}

/** More than a team decides in a day. */
const LISTED_MAX = 100;

/** The acts of an entity: first those that wait, then those that have ended, the newest first. */
export async function listActs(db: Executor, entityId: string): Promise<PersonAct[]> {
  const found = await db.rows<Stored>`
    SELECT ${raw(COLUMNS)} FROM person_acts a WHERE a.entity_id = ${entityId} AND a.state <> 'alone'
    ORDER BY ${raw(IS_OPEN)} DESC, a.created_at DESC LIMIT ${raw(LISTED_MAX)}`;
  return found.map((one) => opened(db.keyring, one));
}
