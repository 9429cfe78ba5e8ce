import type { Knex } from 'knex';

/**
 * Entries for what settled before there was a ledger, as it would have been posted then: by the
 * business time of each row, and the day that it is in the zone of the process that migrates. When
 * it was written down is now.
 *
 * Of a payment between customers nobody wrote down when the payee's bank was told. It is the first
 * webhook that was delivered, where that is still there, and else the moment of the debit.
 */

/** A tenth of a second of Postgres, and some megabytes of memory. */
const PAGE = 5_000;

/** Debits `from_party` and credits `to_party`; `key` is what pages go by. */
const SETTLED = {
  charges: `
    SELECT b.id AS key, 'charge' AS kind, b.id AS resource_id, b.closed_at AS settled_at, b.amount, b.currency,
      b.bank_id AS from_party, 'customer_bank' AS from_account, b.owner_id AS to_party,
      CASE WHEN b.merchant_id IS NULL THEN 'in_transit' ELSE 'merchant' END AS to_account
    FROM billing_requests b WHERE b.status = 'successful' AND b.id > :after`,
  credits: `
    SELECT b.id AS key, 'credit' AS kind, b.id AS resource_id,
      greatest(b.closed_at, coalesce(
        (SELECT min(a.at) FROM webhook_attempts a WHERE a.delivery_id = b.credit_delivery_id AND a.error IS NULL),
        (SELECT r.delivered_at FROM webhook_receipts r WHERE r.delivery_id = b.credit_delivery_id))) AS settled_at,
      b.amount, b.currency, b.owner_id AS from_party, 'in_transit' AS from_account, b.owner_id AS to_party,
      'payee_bank' AS to_account
    FROM billing_requests b WHERE b.credit_settled AND b.id > :after`,
  refunds: `
    SELECT r.id AS key, 'refund' AS kind, r.id AS resource_id, r.closed_at AS settled_at, r.amount, r.currency,
      r.merchant_id AS from_party, 'merchant' AS from_account, r.bank_id AS to_party, 'customer_bank' AS to_account
    FROM refunds r WHERE r.status = 'completed' AND r.id > :after`,
};

export async function up(knex: Knex): Promise<void> {
  // Each page is judged by itself: what is left for the commit is kept in memory, posting by
  // posting.
  await knex.raw('SET CONSTRAINTS ledger_entries_balance, ledger_entries_have_postings IMMEDIATE');
  for (const settled of Object.values(SETTLED)) {
    let after: string | null = '';
    while (after !== null) {
      const page: { rows: { last: string | null }[] } = await knex.raw(
        `WITH settled AS MATERIALIZED (${settled} ORDER BY key LIMIT ${PAGE}),
         made AS (
           INSERT INTO ledger_entries (kind, resource_id, settled_at, settlement_day)
           -- Moments of the ledger are those that the answers show.
           SELECT kind, resource_id, at, (at AT TIME ZONE current_setting('assent.time_zone'))::date
           FROM (SELECT *, date_trunc('milliseconds', settled_at) AS at FROM settled) AS moments ORDER BY key
           ON CONFLICT (resource_id, kind) DO NOTHING RETURNING id, kind, resource_id),
         posted AS (
           INSERT INTO ledger_postings (entry_id, n, party_id, account, currency, direction, amount)
           SELECT made.id, side.n, side.party_id, side.account, s.currency, side.direction, s.amount
           FROM made JOIN settled s USING (kind, resource_id), LATERAL (VALUES
             (1, s.from_party, s.from_account, 'debit'),
             (2, s.to_party, s.to_account, 'credit')) AS side (n, party_id, account, direction))
         SELECT max(key) AS last FROM settled`,
        { after },
      );
      after = page.rows[0]?.last ?? null;
    }
  }
  await knex.raw('SET CONSTRAINTS ledger_entries_balance, ledger_entries_have_postings DEFERRED');
}

/**
 * What was posted stays: nothing tells it from what was posted since, it is as true without this,
 * and nothing is posted twice when this comes again. It goes with the ledger.
 */
export async function down(): Promise<void> {}
