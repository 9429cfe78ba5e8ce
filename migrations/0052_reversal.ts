import type { Knex } from 'knex';

/**
 * A reversal is a transaction of its own: what is left of a successful charge whose money did not
 * stay. The charge keeps its status, and says in `reversed_amount` how much of it is gone.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE billing_requests ADD COLUMN reversed_amount bigint NOT NULL DEFAULT 0
      CONSTRAINT billing_requests_reversed CHECK (reversed_amount >= 0 AND refunded_amount + reversed_amount <= amount
        AND (reversed_amount = 0 OR status = 'successful'));

    CREATE TABLE reversals (
      transaction_id      text PRIMARY KEY CHECK (transaction_id ~ '^txn_'),
      reference           text NOT NULL UNIQUE,
      -- Of one exception the rest of a charge is reversed once; and each refund's part that is
      -- rejected after it, once.
      exception_id        text NOT NULL REFERENCES reconciliation_exceptions,
      refund_id           text REFERENCES refunds,
      billing_request_id  text NOT NULL REFERENCES billing_requests,
      merchant_id         text REFERENCES entities,
      provider_id         text REFERENCES entities,
      customer_id         text NOT NULL REFERENCES customers,
      bank_id             text NOT NULL REFERENCES entities,
      payee_customer_id   text REFERENCES customers,
      payee_bank_id       text REFERENCES entities,
      amount              amount NOT NULL,
      currency            currency NOT NULL,
      -- The bank's id of it, where it moved any money.
      bank_transaction_id text,
      created_at          timestamptz NOT NULL,
      recorded_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
      UNIQUE NULLS NOT DISTINCT (exception_id, refund_id)
    );
    CREATE INDEX reversals_of_charge ON reversals (billing_request_id);
    CREATE INDEX reversals_of_bank ON reversals (bank_id, created_at DESC, transaction_id DESC);
    CREATE INDEX reversals_of_merchant ON reversals (merchant_id, created_at DESC, transaction_id DESC)
      WHERE merchant_id IS NOT NULL;
    CREATE INDEX reversals_of_provider ON reversals (provider_id, created_at DESC, transaction_id DESC)
      WHERE provider_id IS NOT NULL;
    CREATE INDEX reversals_of_payee ON reversals (payee_bank_id, created_at DESC, transaction_id DESC)
      WHERE payee_bank_id IS NOT NULL;
    CREATE INDEX reversals_of_customer ON reversals (customer_id, created_at DESC, transaction_id DESC);
    CREATE TRIGGER reversals_record_time BEFORE INSERT ON reversals
      FOR EACH ROW EXECUTE FUNCTION set_record_time_recorded_at();

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
        r.reject_reason, 0::bigint, r.created_at, CASE WHEN r.status = 'completed' THEN r.closed_at END,
        NULL, NULL, NULL, r.provider_id, 0::bigint
      FROM refunds r
      UNION ALL
      SELECT v.transaction_id, v.transaction_id, v.reference, 'reversal', 'completed', v.amount, v.currency,
        (SELECT description FROM billing_requests b WHERE b.id = v.billing_request_id),
        v.customer_id, v.merchant_id, v.bank_id, v.billing_request_id,
        (SELECT schedule_id FROM billing_requests b WHERE b.id = v.billing_request_id), v.bank_transaction_id,
        NULL, 0::bigint, v.created_at, v.created_at, v.payee_customer_id, v.payee_bank_id,
        (SELECT payee_lookup_id FROM billing_requests b WHERE b.id = v.billing_request_id), v.provider_id, 0::bigint
      FROM reversals v;

    -- That which took the money back belongs to the exception, for good.
    ALTER TABLE bank_transactions DROP CONSTRAINT bank_transactions_resource_id_check;
    ALTER TABLE bank_transactions ADD CONSTRAINT bank_transactions_resource_id_check
      CHECK (resource_id ~ '^(brq|rfd|exc)_') NOT VALID;

    GRANT SELECT, INSERT ON reversals TO assent_app;
    GRANT UPDATE (reversed_amount) ON billing_requests TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DELETE FROM bank_transactions WHERE resource_id LIKE 'exc\\_%';
    ALTER TABLE bank_transactions DROP CONSTRAINT bank_transactions_resource_id_check;
    ALTER TABLE bank_transactions ADD CONSTRAINT bank_transactions_resource_id_check
      CHECK (resource_id ~ '^(brq|rfd)_') NOT VALID;
    DROP VIEW transactions;
    DROP TABLE reversals;
    ALTER TABLE billing_requests DROP COLUMN reversed_amount;
    CREATE VIEW transactions AS
      SELECT transaction_id, id, reference, 'charge' AS type, status, amount, currency, description, customer_id,
        merchant_id, bank_id, id AS billing_request_id, schedule_id, bank_transaction_id, decline_reason,
        refunded_amount, created_at, CASE WHEN status = 'successful' THEN closed_at END AS settled_at,
        payee_customer_id, payee_bank_id, payee_lookup_id, provider_id
      FROM billing_requests
      UNION ALL
      SELECT r.transaction_id, r.id, r.reference, 'refund', r.status, r.amount, r.currency,
        coalesce(r.reason, (SELECT description FROM billing_requests b WHERE b.id = r.billing_request_id)),
        r.customer_id, r.merchant_id, r.bank_id, r.billing_request_id,
        (SELECT schedule_id FROM billing_requests b WHERE b.id = r.billing_request_id), r.bank_transaction_id,
        r.reject_reason, 0::bigint, r.created_at, CASE WHEN r.status = 'completed' THEN r.closed_at END,
        NULL, NULL, NULL, r.provider_id
      FROM refunds r;
    GRANT SELECT ON transactions TO assent_app;
  `);
}
