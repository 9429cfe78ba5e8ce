import type { PersonRole } from '../../domain/person';
import { ACT_WINDOW, waitsForSecond } from '../../domain/two-person';
import { newId } from '../identifier/new-id';
import { encrypt } from '../keyring/encrypt';
import type { Executor, Transaction } from '../pool/connection';
import { sql } from '../pool/statement';
import { sweep } from '../query/sweep';
import { requestPlace } from './read-acts';

/** Minor units that an act moves. */
export interface Moved {
  amount: bigint;
  currency: string;
}

/**
 * Has an act wait for a second person where the limit of the entity asks for one, and keeps the
 * money that it moves alone otherwise.
 *
 * @param moved undefined for an act that waits whenever there is a limit
 * @returns the id of the waiting act; undefined where the person may go on alone
 */
export async function askSecond(
  trx: Transaction,
  act: {
    personId: string;
    operation: string;
    leastRole: PersonRole;
    request: object;
    moved: Moved | undefined;
  },
): Promise<string | undefined> {
  const { personId, operation, leastRole, moved } = act;
  // Two acts of a person at once count one after the other.
  const limit = await trx.row<{ entityId: string; above: string | null }>`
    SELECT e.id AS entity_id, e.two_person_above ->> ${moved?.currency ?? null}::text AS above
    FROM persons p JOIN entities e ON e.id = p.entity_id
    WHERE p.id = ${personId} AND e.two_person_above IS NOT NULL FOR NO KEY UPDATE OF p`;
  if (limit === undefined || (moved !== undefined && limit.above === null)) return undefined;
  const waits = moved === undefined || (await exceeds(trx, personId, BigInt(limit.above ?? 0), moved));
  const id = newId('waitingAct');
  await trx.rows`
    INSERT INTO person_acts (id, entity_id, person_id, operation, least_role, request_encrypted, amount, currency, state)
    VALUES (${id}, ${limit.entityId}, ${personId}, ${operation}, ${leastRole},
      ${waits ? encrypt(trx.keyring, JSON.stringify(act.request), requestPlace(id)) : null},
      ${moved?.amount ?? null}, ${moved?.currency ?? null}, ${waits ? 'waiting' : 'alone'})`;
  return waits ? id : undefined;
}

async function exceeds(trx: Executor, personId: string, above: bigint, { amount, currency }: Moved) {
  const { alone } = await trx.oneRow<{ alone: bigint }>`
    SELECT coalesce(sum(amount), 0) AS alone FROM person_acts
    WHERE person_id = ${personId} AND currency = ${currency} AND state = 'alone'
      AND created_at > clock_timestamp() - ${ACT_WINDOW}::interval`;
  return waitsForSecond({ above, alone, amount });
}

/** The audit trail tells for good who asked and who decided. */
const KEPT = '30 days';

/** @returns whether there may be more */
export function forgetActs(db: Executor): Promise<boolean> {
  const isOver = sql`created_at < (SELECT clock_timestamp()) - ${KEPT}::interval ORDER BY created_at`;
  return sweep(db, 'person_acts', isOver);
}
