import type { ExceptionKind } from '../../domain/books/reconciliation-exception';
import type { Executor } from '../pool/connection';

export interface UnresolvedSum {
  kind: ExceptionKind;
  currency: string;
  count: number;
  /** Minor units. */
  amount: bigint;
}

/** A hundred banks at their limit of open exceptions: a second of Postgres. */
const ADDED_UP_MAX = 1_000_000;

/** Exceptions without a resolution, which are about so much money. */
export async function sumUnresolved(db: Executor): Promise<UnresolvedSum[]> {
  const found = await db.rows<Omit<UnresolvedSum, 'amount'> & { amount: string }>`
    SELECT kind, currency::text, count(*)::int AS count, sum(amount)::text AS amount FROM (
      SELECT kind, currency, amount FROM reconciliation_exceptions WHERE state <> 'resolved'
      LIMIT ${ADDED_UP_MAX}) AS unresolved
    GROUP BY 1, 2 ORDER BY 1, 2`;
  return found.map((one) => ({ ...one, amount: BigInt(one.amount) }));
}
