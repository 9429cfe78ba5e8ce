import type { EntryKind } from '../../domain/books/ledger';
import type { Executor } from '../pool/connection';
import { customPlan } from '../pool/statement';

/** Entries of a kind in a month, over all parties. */
export interface MonthTotal {
  currency: string;
  kind: EntryKind;
  count: number;
  /** Their sum in minor units. */
  amount: bigint;
}

/**
 * Each entry debits one account, so what was debited is what moved.
 *
 * @param month its first day
 */
export function readMonthTotals(db: Executor, month: string): Promise<MonthTotal[]> {
  return customPlan(db).rows<MonthTotal>`
    SELECT currency, kind, (sum(count) FILTER (WHERE debits > 0))::int AS count, sum(debits) AS amount
    FROM ledger_balances WHERE day >= ${month}::date AND day < ${month}::date + interval '1 month'
    GROUP BY 1, 2 ORDER BY 1, 2`;
}
