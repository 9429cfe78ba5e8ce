import type { Executor } from '../pool/connection';
import { customPlan } from '../pool/statement';

/** Sums of all postings to an account, or of a currency; in minor units. */
export interface Sums {
  currency: string;
  debits: bigint;
  credits: bigint;
}

interface AccountSums extends Sums {
  partyId: string;
  account: string;
}

export interface TrialBalance {
  /** By currency, party and kind of account; the first `atMost`. */
  accounts: AccountSums[];
  /** Sums of all accounts: in each currency debits and credits are equal. */
  totals: Sums[];
  /** There are more accounts. */
  cut: boolean;
}

/** More than ISO 4217 has: their totals come before the accounts. */
const CURRENCIES_MAX = 1_000;

/** @param through the last day that counts; null for all postings so far */
export async function readTrialBalance(
  db: Executor,
  through: string | null,
  atMost: number,
): Promise<TrialBalance> {
  const found = await customPlan(db).rows<{
    currency: string;
    partyId: string | null;
    account: string | null;
    debits: string;
    credits: string;
  }>`
    SELECT currency, party_id, account, sum(debits)::text AS debits, sum(credits)::text AS credits
    FROM ledger_balances WHERE day <= coalesce(${through}::date, 'infinity')
    GROUP BY GROUPING SETS ((currency, party_id, account), (currency))
    ORDER BY party_id IS NOT NULL, currency, party_id, account LIMIT ${atMost + CURRENCIES_MAX}`;
  const all = found.map(({ debits, credits, ...of }) => ({
    ...of,
    debits: BigInt(debits),
    credits: BigInt(credits),
  }));
  const accounts = all.flatMap(({ partyId, account, ...sums }) =>
    partyId === null || account === null ? [] : [{ partyId, account, ...sums }],
  );
  return {
    accounts: accounts.slice(0, atMost),
    totals: all.flatMap(({ partyId, currency, debits, credits }) =>
      partyId === null ? [{ currency, debits, credits }] : [],
    ),
    cut: accounts.length > atMost,
  };
}
