import type { Transaction } from '../pool/connection';
import type { Fragment } from '../pool/statement';

/**
 * Locks an entity's row, so that changes of its persons, clients and acts take turns. The row comes
 * before theirs in each transaction, or two would wait for each other.
 *
 * @param id or a query of it
 * @returns whether there is one
 */
export async function lockEntity(trx: Transaction, id: string | Fragment): Promise<boolean> {
  const locked = await trx.row`SELECT id FROM entities WHERE id = (${id}) FOR NO KEY UPDATE`;
  return locked !== undefined;
}
