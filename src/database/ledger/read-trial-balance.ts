import type { Executor } from '../pool/connection';
import { customPlan } from '../pool/statement';

/** Sums of all postings to an account, in minor units; without a party, those of a currency. */
export interface AccountSums {
  partyId: string | null;
  name: string | null;
  account: string | null;
  currency: string;
  debits: bigint;
  credits: bigint;
}

/**
 * The currencies come first, then accounts by currency, party and kind.
 *
 * @param through the last day that counts; null for all postings so far
 */
export function readTrialBalance(
  db: Executor,
  through: string | null,
  limit: number,
): Promise<AccountSums[]> {
  return customPlan(db).rows<AccountSums>`
    SELECT party_id, (SELECT name FROM entities WHERE id = party_id) AS name, account, currency,
      sum(debits) AS debits, sum(credits) AS credits
    FROM ledger_balances WHERE day <= coalesce(${through}::date, 'infinity')
    GROUP BY GROUPING SETS ((currency, party_id, account), (currency))
    ORDER BY party_id IS NOT NULL, currency, party_id, account LIMIT ${limit}`;
}
