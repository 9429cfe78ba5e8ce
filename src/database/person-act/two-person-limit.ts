import type { TwoPersonLimit } from '../../domain/person-act';
import type { Executor, Transaction } from '../pool/connection';
import { act, type Actor } from '../record/audit-event';

/** @returns undefined for an unknown entity */
export async function readTwoPersonLimit(db: Executor, entityId: string) {
  const found = await db.row<{ above: Record<string, string> | null }>`
    SELECT two_person_above AS above FROM entities WHERE id = ${entityId}`;
  return found && new Map(Object.entries(found.above ?? {}).map(([name, minor]) => [name, BigInt(minor)]));
}

/**
 * A change that waits ends with this one: its second person would approve it over a limit that its
 * first never saw.
 *
 * @returns false for an unknown entity
 */
export async function changeTwoPersonLimit(
  trx: Transaction,
  by: Actor,
  entityId: string,
  above: TwoPersonLimit,
): Promise<boolean> {
  const change = trx.row<{ before: object | null; after: object | null }>`
    WITH before AS (SELECT id, two_person_above FROM entities WHERE id = ${entityId} FOR NO KEY UPDATE)
    UPDATE entities e SET two_person_above = (
      SELECT jsonb_object_agg(currency, minor)
      FROM unnest(${[...above.keys()]}::text[], ${[...above.values()].map(String)}::text[]) AS given (currency, minor))
    FROM before WHERE e.id = before.id RETURNING before.two_person_above AS before, e.two_person_above AS after`;
  const changed = await act(trx, by, change, ({ before, after }) => ({
    action: 'entity.two_person_limit_set',
    entityId,
    before: { twoPersonAbove: before },
    after: { twoPersonAbove: after },
  }));
  await trx.rows`
    UPDATE person_acts SET state = 'lapsed'
    WHERE entity_id = ${entityId} AND state = 'waiting' AND operation = 'setTwoPersonLimit'`;
  return changed !== undefined;
}
