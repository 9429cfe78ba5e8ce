import type { Executor } from '../../src/database/pool/connection';
import { newId } from '../../src/database/identifier/new-id';
import { entryOf, type LedgerEntry } from '../../src/domain/books/ledger';

/**
 * What follows a thing in the ledger, each posting in words: `charge: -100 NGN customer_bank of
 * bnk_…`.
 */
export async function postingsOf(db: Executor, resourceId: string): Promise<string[]> {
  const found = await db.rows<{ said: string }>`
    SELECT e.kind || ': ' || CASE p.direction WHEN 'debit' THEN '-'
      ELSE '+' END || p.amount || ' ' || p.currency || ' '
      || p.account || ' of ' || p.party_id AS said
    FROM ledger_entries e JOIN ledger_postings p ON p.entry_id = e.id
    WHERE e.resource_id = ${resourceId} ORDER BY e.id, p.n`;
  return found.map(({ said }) => said);
}

/** What the network owes a party, by account; in minor units, and below 0 where the party owes. */
export async function balancesOf(db: Executor, partyId: string): Promise<Record<string, bigint>> {
  const found = await db.rows<{ account: string; balance: string }>`
    SELECT account, sum(balance)::text AS balance FROM ledger_balances WHERE party_id = ${partyId}
    GROUP BY account`;
  return Object.fromEntries(found.map(({ account, balance }) => [account, BigInt(balance)]));
}

/** Accounts, days and kinds whose balance is not the sum of what was posted to them. */
export async function unequalBalances(db: Executor): Promise<unknown[]> {
  return db.rows`
    SELECT * FROM (
      SELECT p.party_id, p.account, p.currency::text, e.settlement_day AS day, e.kind, count(*),
        coalesce(sum(p.amount) FILTER (WHERE p.direction = 'debit'), 0) AS debits,
        coalesce(sum(p.amount) FILTER (WHERE p.direction = 'credit'), 0) AS credits
      FROM ledger_postings p JOIN ledger_entries e ON e.id = p.entry_id GROUP BY 1, 2, 3, 4, 5) AS posted
    FULL JOIN ledger_balances b USING (party_id, account, currency, day, kind)
    WHERE posted.count IS DISTINCT FROM b.count OR posted.debits IS DISTINCT
    FROM b.debits OR posted.credits IS DISTINCT FROM b.credits`;
}

/**
 * Posts one minor unit of a charge as it is posted on the day itself, though that may be long over.
 */
export async function postThen(
  db: Executor,
  day: string,
  { bankId, merchantId }: { bankId: string; merchantId: string },
  currency = 'NGN',
): Promise<void> {
  await db.rows`
    WITH entry AS (
      INSERT INTO ledger_entries (kind, resource_id, settled_at, settlement_day, commit_id)
      VALUES ('charge', ${newId('billingRequest')}, ${day}::date + interval '12 hours', ${day},
      gen_random_uuid()) RETURNING id)
    INSERT INTO ledger_postings (entry_id, n, party_id, account, direction, amount, currency)
    SELECT entry.id, n, party, account, direction, 1, ${currency} FROM entry, (VALUES
      (1, ${bankId}, 'customer_bank', 'debit'), (2, ${merchantId}, 'merchant', 'credit')) AS p (n, party,
      account, direction)`;
}

/** A charge of one minor unit that there is no row of. */
export const anyCharge = (
  { bankId, merchantId }: { bankId: string; merchantId: string },
  settledAt: Date,
): LedgerEntry =>
  entryOf({
    kind: 'charge',
    resourceId: newId('billingRequest'),
    settledAt,
    paid: { amount: 1n, currency: 'NGN', bankId, merchantId, billerId: merchantId },
  });
