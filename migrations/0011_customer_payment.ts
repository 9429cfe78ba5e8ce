import type { Knex } from 'knex';

/**
 * Payments between customers: a charge that no merchant makes, but a bank for one of its own
 * customers.
 *
 * Everything else of a charge stays as it is. Whoever made it is its owner, by whose clock its
 * window is judged.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE billing_requests
      ALTER COLUMN merchant_id DROP NOT NULL,
      ADD COLUMN payee_customer_id text REFERENCES customers,
      ADD COLUMN payee_bank_id     text REFERENCES entities,
      ADD COLUMN payee_lookup_id   text,
      ADD COLUMN owner_id          text GENERATED ALWAYS AS (coalesce(merchant_id, payee_bank_id)) STORED,
      ALTER COLUMN owner_id SET NOT NULL,
      ADD CONSTRAINT billing_requests_merchant_or_payee CHECK (
        (merchant_id IS NULL) = (payee_customer_id IS NOT NULL)
        AND (payee_customer_id IS NULL) = (payee_bank_id IS NULL)
        AND (payee_customer_id IS NULL) = (payee_lookup_id IS NULL)),
      ADD CONSTRAINT billing_requests_one_time_between_customers CHECK (
        payee_customer_id IS NULL OR (agreement_id IS NULL AND approval_required)),
      ADD CONSTRAINT billing_requests_to_another CHECK (payee_customer_id <> customer_id);
    DROP INDEX billing_requests_open_of_merchant;
    CREATE INDEX billing_requests_open_of_owner ON billing_requests (owner_id, expires_at) WHERE status = 'pending';
    CREATE INDEX billing_requests_of_payee_bank ON billing_requests (payee_bank_id, created_at DESC, id DESC)
      WHERE payee_bank_id IS NOT NULL;
    CREATE INDEX billing_requests_of_payee ON billing_requests (payee_customer_id) WHERE payee_customer_id IS NOT NULL;

    CREATE OR REPLACE VIEW transactions AS
      SELECT transaction_id, id, reference, 'charge' AS type, status, amount, currency, description, customer_id,
        merchant_id, bank_id, id AS billing_request_id, schedule_id, bank_transaction_id, decline_reason,
        refunded_amount, created_at, CASE WHEN status = 'successful' THEN closed_at END AS settled_at,
        payee_customer_id, payee_bank_id, payee_lookup_id
      FROM billing_requests
      UNION ALL
      SELECT r.transaction_id, r.id, r.reference, 'refund', r.status, r.amount, r.currency,
        coalesce(r.reason, b.description), r.customer_id, r.merchant_id, r.bank_id, r.billing_request_id,
        b.schedule_id, r.bank_transaction_id, r.reject_reason, 0::bigint, r.created_at,
        CASE WHEN r.status = 'completed' THEN r.closed_at END, NULL, NULL, NULL
      FROM refunds r JOIN billing_requests b ON b.id = r.billing_request_id;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP VIEW transactions;
    ALTER TABLE billing_requests DROP COLUMN owner_id, DROP COLUMN payee_customer_id, DROP COLUMN payee_bank_id,
      DROP COLUMN payee_lookup_id, ALTER COLUMN merchant_id SET NOT NULL;
    CREATE INDEX billing_requests_open_of_merchant ON billing_requests (merchant_id, expires_at)
      WHERE status = 'pending';
    CREATE VIEW transactions AS
      SELECT transaction_id, id, reference, 'charge' AS type, status, amount, currency, description, customer_id,
        merchant_id, bank_id, id AS billing_request_id, schedule_id, bank_transaction_id, decline_reason,
        refunded_amount, created_at, CASE WHEN status = 'successful' THEN closed_at END AS settled_at
      FROM billing_requests
      UNION ALL
      SELECT r.transaction_id, r.id, r.reference, 'refund', r.status, r.amount, r.currency,
        coalesce(r.reason, b.description), r.customer_id, r.merchant_id, r.bank_id, r.billing_request_id,
        b.schedule_id, r.bank_transaction_id, r.reject_reason, 0::bigint, r.created_at,
        CASE WHEN r.status = 'completed' THEN r.closed_at END
      FROM refunds r JOIN billing_requests b ON b.id = r.billing_request_id;
    GRANT SELECT ON transactions TO assent_app;
  `);
}
