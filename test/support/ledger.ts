import { rows, type Executor } from '../../src/database/connection';

/**
 * What follows a thing in the ledger, each posting in words: `charge: -100 NGN customer_bank of
 * bnk_…`.
 */
export async function postingsOf(db: Executor, resourceId: string): Promise<string[]> {
  const found = await rows<{ said: string }>(
    db,
    `SELECT e.kind || ': ' || CASE p.direction WHEN 'debit' THEN '-' ELSE '+' END || p.amount || ' ' || p.currency || ' '
       || p.account || ' of ' || p.party_id AS said
     FROM ledger_entries e JOIN ledger_postings p ON p.entry_id = e.id
     WHERE e.resource_id = :resourceId ORDER BY e.id, p.n`,
    { resourceId },
  );
  return found.map(({ said }) => said);
}

/** What the network owes a party, by account; in minor units, and below 0 where the party owes. */
export async function balancesOf(db: Executor, partyId: string): Promise<Record<string, bigint>> {
  const found = await rows<{ account: string; balance: string }>(
    db,
    `SELECT account, sum(balance)::text AS balance FROM ledger_balances WHERE party_id = :partyId GROUP BY account`,
    { partyId },
  );
  return Object.fromEntries(found.map(({ account, balance }) => [account, BigInt(balance)]));
}

/** Accounts and days whose balance is not the sum of what was posted to them. */
export async function unequalBalances(db: Executor): Promise<unknown[]> {
  return rows(
    db,
    `SELECT * FROM (
       SELECT p.party_id, p.account, p.currency::text, e.settlement_day AS day,
         coalesce(sum(p.amount) FILTER (WHERE p.direction = 'debit'), 0) AS debits,
         coalesce(sum(p.amount) FILTER (WHERE p.direction = 'credit'), 0) AS credits
       FROM ledger_postings p JOIN ledger_entries e ON e.id = p.entry_id GROUP BY 1, 2, 3, 4) AS posted
     FULL JOIN ledger_balances b USING (party_id, account, currency, day)
     WHERE posted.debits IS DISTINCT FROM b.debits OR posted.credits IS DISTINCT FROM b.credits`,
  );
}
