import type { Knex } from 'knex';

/**
 * A completed refund whose money came back is `returned`. Its first entry and its line in the
 * statement of that day stay. The return is a transaction of its own, with a contra entry.
 */

/** When the money of a refund moved, also where it came back later. */
const SETTLED_AT = `(CASE WHEN status IN ('completed', 'returned') THEN closed_at END)`;
const COMPLETED_AT = `(CASE WHEN status = 'completed' THEN closed_at END)`;
const PARTIES = ['bank_id', 'merchant_id', 'provider_id'] as const;

const settledIndex = (party: string, settledAt: string) => `
  DROP INDEX refunds_settled_of_${party};
  CREATE INDEX refunds_settled_of_${party} ON refunds (${party}, ${settledAt})
    WHERE ${settledAt} IS NOT NULL AND ${party} IS NOT NULL;`;

const TRANSACTIONS = (settledAt: string, returns: string) => `
  CREATE OR REPLACE VIEW transactions AS
    SELECT transaction_id, id, reference, 'charge' AS type, status, amount, currency, description, customer_id,
      merchant_id, bank_id, id AS billing_request_id, schedule_id, bank_transaction_id, decline_reason,
      refunded_amount, created_at, CASE WHEN status = 'successful' THEN closed_at END AS settled_at,
      payee_customer_id, payee_bank_id, payee_lookup_id, provider_id, reversed_amount
    FROM billing_requests
    UNION ALL
    SELECT r.transaction_id, r.id, r.reference, 'refund', r.status, r.amount, r.currency,
      coalesce(r.reason, (SELECT description FROM billing_requests b WHERE b.id = r.billing_request_id)),
      r.customer_id, r.merchant_id, r.bank_id, r.billing_request_id,
      (SELECT schedule_id FROM billing_requests b WHERE b.id = r.billing_request_id), r.bank_transaction_id,
      r.reject_reason, 0::bigint, r.created_at, ${settledAt},
      NULL, NULL, NULL, r.provider_id, 0::bigint
    FROM refunds r
    UNION ALL
    SELECT v.transaction_id, v.transaction_id, v.reference, 'reversal', 'completed', v.amount, v.currency,
      (SELECT description FROM billing_requests b WHERE b.id = v.billing_request_id),
      v.customer_id, v.merchant_id, v.bank_id, v.billing_request_id,
      (SELECT schedule_id FROM billing_requests b WHERE b.id = v.billing_request_id), v.bank_transaction_id,
      NULL, 0::bigint, v.created_at, v.created_at, v.payee_customer_id, v.payee_bank_id,
      (SELECT payee_lookup_id FROM billing_requests b WHERE b.id = v.billing_request_id), v.provider_id, 0::bigint
    FROM reversals v${returns}`;

const RETURNS = `
    UNION ALL
    SELECT r.return_transaction_id, r.return_transaction_id, r.return_reference, 'refund_return', 'completed',
      r.amount, r.currency,
      coalesce(r.reason, (SELECT description FROM billing_requests b WHERE b.id = r.billing_request_id)),
      r.customer_id, r.merchant_id, r.bank_id, r.billing_request_id,
      (SELECT schedule_id FROM billing_requests b WHERE b.id = r.billing_request_id),
      (SELECT reversal_bank_transaction_id FROM reconciliation_exceptions x WHERE x.id = r.returned_by),
      NULL, 0::bigint, r.returned_at, r.returned_at, NULL, NULL, NULL, r.provider_id, 0::bigint
    FROM refunds r WHERE r.returned_at IS NOT NULL`;

/** Each kind of entry that a summary shows, and by which name. */
const MOVED = {
  charge: 'charged',
  refund: 'refunded',
  refund_return: 'returned',
  reversal: 'reversed',
};
const BEFORE = { charge: 'charged', refund: 'refunded', reversal: 'reversed' };

const kindsOf = (moved: object) =>
  Object.keys(moved)
    .map((kind) => `'${kind}'`)
    .join(', ');
const nameOf = (moved: object) =>
  `CASE e.kind ${Object.entries(moved)
    .map(([kind, name]) => `WHEN '${kind}' THEN '${name}'`)
    .join(' ')} END`;

/** As migration 0077 has it, but for the kinds. */
const notePostings = (moved: object) => `
  CREATE OR REPLACE FUNCTION note_ledger_postings() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
  BEGIN
    IF EXISTS (SELECT FROM posted p JOIN ledger_entries e ON e.id = p.entry_id
               WHERE e.created_xid <> pg_current_xact_id()) THEN
      RAISE EXCEPTION 'an entry takes no more postings once it is written: a correction is an entry of its own'
        USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO ledger_balance_changes (party_id, account, currency, day, debits, credits)
      SELECT p.party_id, p.account, p.currency, e.settlement_day,
        coalesce(sum(p.amount) FILTER (WHERE p.direction = 'debit'), 0),
        coalesce(sum(p.amount) FILTER (WHERE p.direction = 'credit'), 0)
      FROM posted p JOIN ledger_entries e ON e.id = p.entry_id
      GROUP BY p.party_id, p.account, p.currency, e.settlement_day;
    INSERT INTO daily_totals_changes (party_id, day, currency, what, reason, count, amount)
      SELECT p.party_id, e.settlement_day, p.currency, ${nameOf(moved)}, '', count(*), sum(p.amount)
      FROM posted p JOIN ledger_entries e ON e.id = p.entry_id
      WHERE p.account IN ('merchant', 'customer_bank') AND e.kind IN (${kindsOf(moved)})
      GROUP BY 1, 2, 3, 4;
    RETURN NULL;
  END $$`;

const KINDS = `'charge', 'credit', 'refund', 'reversal', 'write_off'`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE refunds
      ADD COLUMN returned_at           timestamptz,
      ADD COLUMN return_transaction_id text UNIQUE CHECK (return_transaction_id ~ '^txn_'),
      ADD COLUMN return_reference      text UNIQUE,
      -- The exception that found it.
      ADD COLUMN returned_by           text UNIQUE REFERENCES reconciliation_exceptions,
      DROP CONSTRAINT refunds_status_check,
      DROP CONSTRAINT refunds_check3,
      ADD CONSTRAINT refunds_status_check CHECK (status IN ('pending', 'completed', 'rejected', 'returned')),
      ADD CONSTRAINT refunds_check3 CHECK (status IN ('completed', 'returned') OR bank_transaction_id IS NULL),
      ADD CONSTRAINT refunds_returned CHECK (
        num_nonnulls(returned_at, return_transaction_id, return_reference, returned_by)
          = CASE status WHEN 'returned' THEN 4 ELSE 0 END);
    GRANT UPDATE (returned_at, return_transaction_id, return_reference, returned_by) ON refunds TO assent_app;

    ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_kind_check,
      ADD CONSTRAINT ledger_entries_kind_check CHECK (kind IN (${KINDS}, 'refund_return'));
    ALTER TABLE daily_totals_folded DROP CONSTRAINT daily_totals_folded_what_check,
      ADD CONSTRAINT daily_totals_folded_what_check
        CHECK (what IN ('charged', 'declined', 'refunded', 'returned', 'reversed'));
    ${PARTIES.map((party) => settledIndex(party, SETTLED_AT)).join('')}
    ${[...PARTIES, 'customer_id']
      .map(
        (party) => `
    CREATE INDEX refunds_returned_of_${party} ON refunds (${party}, returned_at DESC, return_transaction_id DESC)
      WHERE returned_at IS NOT NULL;`,
      )
      .join('')}
    ${TRANSACTIONS(SETTLED_AT.replaceAll('status', 'r.status').replace('closed_at', 'r.closed_at'), RETURNS)};
    ${notePostings(MOVED)};
  `);
}

/** The entry of a return stays in the ledger, which is never rewritten. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ${notePostings(BEFORE)};
    DROP VIEW transactions;
    ${TRANSACTIONS(COMPLETED_AT.replace('status', 'r.status').replace('closed_at', 'r.closed_at'), '')};
    GRANT SELECT ON transactions TO assent_app;
    ${PARTIES.map((party) => settledIndex(party, COMPLETED_AT)).join('')}
    DROP INDEX ${[...PARTIES, 'customer_id'].map((party) => `refunds_returned_of_${party}`).join(', ')};
    ALTER TABLE daily_totals_folded DROP CONSTRAINT daily_totals_folded_what_check,
      ADD CONSTRAINT daily_totals_folded_what_check
        CHECK (what IN ('charged', 'declined', 'refunded', 'reversed')) NOT VALID;
    ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_kind_check,
      ADD CONSTRAINT ledger_entries_kind_check CHECK (kind IN (${KINDS})) NOT VALID;
    ALTER TABLE refunds DROP CONSTRAINT refunds_returned, DROP CONSTRAINT refunds_status_check,
      DROP CONSTRAINT refunds_check3;
    UPDATE refunds SET status = 'completed' WHERE status = 'returned';
    ALTER TABLE refunds
      DROP COLUMN returned_at, DROP COLUMN return_transaction_id, DROP COLUMN return_reference,
      DROP COLUMN returned_by,
      ADD CONSTRAINT refunds_status_check CHECK (status IN ('pending', 'completed', 'rejected')),
      ADD CONSTRAINT refunds_check3 CHECK (status = 'completed' OR bank_transaction_id IS NULL);
  `);
}
