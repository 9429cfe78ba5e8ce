import { Failure, type FailureCode } from '../../domain/failures';
import type { PersonRole } from '../../domain/person';
import { ACT_WINDOW, waitsForSecond, type ActState } from '../../domain/person-act';
import { lockEntity } from '../entity/lock-entity';
import { newId } from '../identifier/new-id';
import { decrypt, encrypt, type EncryptedPlace } from '../keyring/encrypt';
import type { Executor, Transaction } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { sweep } from '../query/sweep';

/** Acts of persons whose entity has a limit: done alone, or waiting for a second person. */

/** Minor units that an act moves. */
export interface Moved {
  amount: bigint;
  currency: string;
  /** The body with the amount in it, where the accepted body names none. */
  body?: unknown;
}

interface AskedAct {
  personId: string;
  operation: string;
  /** The lowest role that may do it. */
  leastRole: PersonRole;
  /** As it was accepted. */
  request: { params: unknown; body: unknown };
}

/** An act of a person whose entity has a limit for it. */
export interface CountedAct extends AskedAct {
  actId: string;
  entityId: string;
  amount: bigint | null;
  currency: string | null;
  state: 'alone' | 'waiting';
}

/**
 * Judges by the limit whether an act waits for a second person. The caller keeps the act: at once
 * where it waits, otherwise once it has moved something.
 *
 * @param moved undefined for an act that waits whenever there is a limit
 * @returns undefined where there is no limit
 * @throws Failure forbidden; rate_limited
 */
export async function judgeAct(
  trx: Transaction,
  asked: AskedAct,
  moved: Moved | undefined,
): Promise<CountedAct | undefined> {
  const { personId } = asked;
  const { amount = null, currency = null } = moved ?? {};
  // Two acts of a person at once count one after the other.
  const limit = await trx.row<{ entityId: string; above: string | null; isDisabled: boolean }>`
    SELECT e.id AS entity_id, e.two_person_above ->> ${currency}::text AS above,
      p.disabled_at IS NOT NULL AS is_disabled
    FROM persons p JOIN entities e ON e.id = p.entity_id
    WHERE p.id = ${personId} AND e.two_person_above IS NOT NULL FOR NO KEY UPDATE OF p`;
  // Disabled a moment ago: the act would outlive the end of the others.
  if (limit?.isDisabled) throw new Failure('forbidden', 'You are disabled');
  if (limit === undefined || (moved && limit.above === null)) return undefined;
  const { alone } = await trx.oneRow<{ alone: bigint }>`
    SELECT coalesce(sum(amount), 0) AS alone FROM person_acts
    WHERE person_id = ${personId} AND currency = ${currency} AND state = 'alone'
      AND created_at > clock_timestamp() - ${ACT_WINDOW}::interval`;
  const waits = amount === null || waitsForSecond({ above: BigInt(limit.above ?? 0), alone, amount });
  if (waits) await refuseMoreThanWait(trx, personId);
  const state = waits ? 'waiting' : 'alone';
  return { ...asked, actId: newId('personAct'), entityId: limit.entityId, amount, currency, state };
}

/** SQL: whether an act `a` waits, and its time is not over. */
const WAITS = raw(`(a.state = 'waiting' AND a.created_at > clock_timestamp() - interval '${ACT_WINDOW}')`);

/** Most of each person: a stolen session that asked for more would hide the acts of others. */
const WAITING_EACH = 100;

/** The caller has locked the person. @throws Failure rate_limited */
async function refuseMoreThanWait(trx: Transaction, personId: string): Promise<void> {
  const { waiting, oldestLapsesInS } = await trx.oneRow<{ waiting: number; oldestLapsesInS: number }>`
    SELECT count(*)::int AS waiting,
      coalesce(extract(epoch FROM min(a.created_at) + ${ACT_WINDOW}::interval - clock_timestamp()), 0)::float8
        AS oldest_lapses_in_s
    FROM person_acts a WHERE a.person_id = ${personId} AND ${WAITS}`;
  if (waiting < WAITING_EACH) return;
  throw new Failure('rate_limited', `You have ${waiting} acts waiting: have some approved or refused first`, {
    retryAfterS: oldestLapsesInS,
  });
}

/** A list opens a thousand acts at once. The longest reason or note has two kilobytes. */
const WAITING_BYTES = 8 * 1024;

/** @throws Failure body_too_large */
export async function keepAct(trx: Transaction, act: CountedAct): Promise<void> {
  const { actId, request, state } = act;
  const asked = JSON.stringify(request);
  if (state === 'waiting' && Buffer.byteLength(asked) > WAITING_BYTES) {
    const message = `What waits for a second person may have at most ${WAITING_BYTES / 1024} KiB`;
    throw new Failure('body_too_large', message);
  }
  const kept = state === 'waiting' ? encrypt(trx.keyring, asked, requestPlace(actId)) : null;
  await trx.rows`
    INSERT INTO person_acts (id, entity_id, person_id, operation, least_role, request_encrypted, amount, currency, state)
    VALUES (${actId}, ${act.entityId}, ${act.personId}, ${act.operation}, ${act.leastRole}, ${kept}, ${act.amount},
      ${act.currency}, ${state})`;
}

export interface PersonAct extends AskedAct {
  actId: string;
  /** The role of the person who asked, now. */
  role: PersonRole;
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

/** An act's subject and money, for its audit event: nothing personal. */
export function subjectOf(
  { params, body }: PersonAct['request'],
  { amount, currency }: { amount: bigint | null; currency: string | null },
): Record<string, unknown> {
  const { reference, exceptionId, personId } = { ...body, ...params };
  return { reference, exceptionId, personId, amount: amount?.toString(), currency: currency ?? undefined };
}

const requestPlace = (actId: string): EncryptedPlace => `person_acts.request_encrypted:${actId}`;

/** More than a team is asked for in a day, and than it looks back at. */
const WAITING_MAX = 1_000;
const ENDED_MAX = 100;

/** SQL: whether an act `a` of a person `p` can still be decided. */
const IS_OPEN = sql`(${WAITS} AND p.disabled_at IS NULL AND p.role IN ('admin', a.least_role))`;

type Kept = Omit<PersonAct, 'request'> & { requestEncrypted: Buffer };

/** SQL: the acts of an entity, but for those done alone. */
const actsOf = (entityId: string) => sql`
    SELECT a.id AS act_id, a.person_id, p.role, a.operation, a.least_role, a.request_encrypted, a.amount, a.currency,
      a.created_at AS asked_at, a.created_at + ${ACT_WINDOW}::interval AS lapses_at,
      CASE WHEN a.state = 'waiting' AND NOT ${IS_OPEN} THEN 'lapsed' ELSE a.state END AS state,
      a.decided_by, a.decided_at, a.refusal
    FROM person_acts a JOIN persons p ON p.id = a.person_id
    WHERE a.entity_id = ${entityId} AND a.state <> 'alone'`;

function opened({ keyring }: Executor, { requestEncrypted, ...act }: Kept): PersonAct {
  const request = decrypt(keyring, requestEncrypted, requestPlace(act.actId));
  return { ...act, request: JSON.parse(request) as PersonAct['request'] };
}

/** The acts of an entity that wait, the oldest first; then the ended, the newest first. */
export async function listActs(db: Executor, entityId: string): Promise<PersonAct[]> {
  const found = await db.rows<Kept>`
    ${actsOf(entityId)}
    ORDER BY ${IS_OPEN} DESC, CASE WHEN ${IS_OPEN} THEN a.created_at END, a.created_at DESC
    LIMIT (SELECT ${raw(ENDED_MAX)} + least(count(*), ${raw(WAITING_MAX)}) FROM person_acts a
      WHERE a.entity_id = ${entityId} AND ${WAITS})`;
  return found.map((one) => opened(db, one));
}

/** @throws Failure not_found */
export async function readAct(db: Executor, entityId: string, actId: string): Promise<PersonAct> {
  const found = await db.row<Kept>`${actsOf(entityId)} AND a.id = ${actId}`;
  if (found === undefined) throw new Failure('not_found', 'There is no such act.');
  return opened(db, found);
}

/**
 * Decides an act that is open, or that this very transaction has approved. The second of two
 * persons at once decides nothing.
 *
 * @param refusal the code by which the approved act was refused
 * @returns whether it was decided
 */
export async function decideAct(
  trx: Transaction,
  actId: string,
  { state, personId, refusal = null }: { state: ActState; personId: string; refusal?: FailureCode | null },
): Promise<boolean> {
  await lockEntity(trx, sql`SELECT entity_id FROM person_acts WHERE id = ${actId}`);
  const decided = await trx.row`
    UPDATE person_acts a SET state = ${state}, decided_by = ${personId}, decided_at = clock_timestamp(),
      refusal = ${refusal}
    FROM persons p
    WHERE a.id = ${actId} AND p.id = a.person_id AND (${IS_OPEN} OR a.xmin = pg_current_xact_id()::xid)
    RETURNING true`;
  return decided !== undefined;
}

/** Ends the acts that a person has waiting, for good. */
export async function lapseActs(trx: Transaction, personId: string): Promise<void> {
  await trx.rows`UPDATE person_acts a SET state = 'lapsed' WHERE a.person_id = ${personId} AND ${WAITS}`;
}

/** The audit trail tells for good who asked and who decided. */
const KEPT = '30 days';

/** @returns whether there may be more */
export function forgetActs(db: Executor): Promise<boolean> {
  const isOver = sql`created_at < (SELECT clock_timestamp()) - ${KEPT}::interval ORDER BY created_at`;
  return sweep(db, 'person_acts', isOver);
}
