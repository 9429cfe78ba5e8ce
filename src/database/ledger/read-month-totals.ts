import type { EntryKind } from '../../domain/books/ledger';
import type { Executor } from '../pool/connection';
import { customPlan } from '../pool/statement';

/**
 * Entries of each kind in a month, over all parties, and their sum in minor units. Each entry
 * debits one account, so what was debited is what moved.
 *
 * @param month its first day
 */
export const readMonthTotals = (db: Executor, month: string) =>
  customPlan(db).rows<{ currency: string; kind: EntryKind; count: number; amount: bigint }>`
    SELECT currency, kind, (sum(count) FILTER (WHERE debits > 0))::int AS count, sum(debits) AS amount
    FROM ledger_balances WHERE day >= ${month}::date AND day < ${month}::date + interval '1 month'
    GROUP BY 1, 2 ORDER BY 1, 2`;
