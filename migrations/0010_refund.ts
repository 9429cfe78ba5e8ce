import type { Knex } from 'knex';

/**
 * Refunds: money on its way back to a customer, in one or several parts of a successful charge.
 *
 * Locks are taken in the order of 0004, a refund after its billing request.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- What is on its way back or has arrived. A refund is made by raising it, and a rejected one
    -- lowers it again.
    ALTER TABLE billing_requests ADD COLUMN refunded_amount bigint NOT NULL DEFAULT 0,
      ADD CONSTRAINT billing_requests_refunded CHECK (refunded_amount BETWEEN 0 AND amount
        AND (refunded_amount = 0 OR status = 'successful'));

    CREATE TABLE refunds (
      id                  text PRIMARY KEY CHECK (id ~ '^rfd_'),
      transaction_id      text NOT NULL UNIQUE CHECK (transaction_id ~ '^txn_'),
      reference           text NOT NULL UNIQUE,
      billing_request_id  text NOT NULL REFERENCES billing_requests,
      merchant_id         text NOT NULL REFERENCES entities,
      customer_id         text NOT NULL REFERENCES customers,
      bank_id             text NOT NULL REFERENCES entities,
      amount              amount NOT NULL,
      currency            currency NOT NULL,
      reason              text CHECK (length(reason) BETWEEN 1 AND 500),
      status              text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'completed', 'rejected')),
      overdue             boolean NOT NULL DEFAULT false,
      -- Why the bank rejected it.
      reject_reason       text,
      bank_transaction_id text,
      expected_by         timestamptz NOT NULL,
      -- How often the bank has been reminded, and when something is next to be done; null once
      -- nothing is.
      reminders           int NOT NULL DEFAULT 0 CHECK (reminders >= 0),
      acts_at             timestamptz,
      closed_at           timestamptz,
      sequence            int NOT NULL DEFAULT 1 CHECK (sequence > 0),
      created_at          timestamptz NOT NULL,
      recorded_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
      CHECK ((status = 'pending') = (closed_at IS NULL)),
      CHECK (status = 'pending' OR acts_at IS NULL),
      CHECK (status = 'rejected' OR reject_reason IS NULL),
      CHECK (status = 'completed' OR bank_transaction_id IS NULL),
      CHECK (overdue = (reminders > 0))
    );
    CREATE INDEX refunds_of_charge ON refunds (billing_request_id);
    CREATE INDEX refunds_of_merchant ON refunds (merchant_id, created_at DESC, id DESC);
    CREATE INDEX refunds_of_bank ON refunds (bank_id, created_at DESC, id DESC);
    CREATE INDEX refunds_acting ON refunds (merchant_id, acts_at) WHERE acts_at IS NOT NULL;

    -- A bank's transaction id names one movement of money, be it a debit or a refund.
    CREATE TABLE bank_transactions (
      bank_id             text NOT NULL,
      bank_transaction_id text NOT NULL,
      PRIMARY KEY (bank_id, bank_transaction_id)
    );
    INSERT INTO bank_transactions
      SELECT bank_id, bank_transaction_id FROM billing_requests WHERE bank_transaction_id IS NOT NULL;
    ALTER TABLE billing_requests DROP CONSTRAINT billing_requests_bank_id_bank_transaction_id_key;
    CREATE FUNCTION claim_bank_transaction() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO bank_transactions VALUES (NEW.bank_id, NEW.bank_transaction_id);
      RETURN NULL;
    END $$;
    CREATE TRIGGER billing_requests_claim_bank_transaction
      AFTER UPDATE OF bank_transaction_id ON billing_requests FOR EACH ROW
      WHEN (OLD.bank_transaction_id IS NULL AND NEW.bank_transaction_id IS NOT NULL)
      EXECUTE FUNCTION claim_bank_transaction();
    CREATE TRIGGER refunds_claim_bank_transaction
      AFTER UPDATE OF bank_transaction_id ON refunds FOR EACH ROW
      WHEN (OLD.bank_transaction_id IS NULL AND NEW.bank_transaction_id IS NOT NULL)
      EXECUTE FUNCTION claim_bank_transaction();

    -- What a bank said of a refund that had ended otherwise: somebody must look, for money may have
    -- moved.
    CREATE TABLE refund_exceptions (
      id                  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      refund_id           text NOT NULL REFERENCES refunds,
      action              text NOT NULL CHECK (action IN ('completed', 'rejected')),
      bank_transaction_id text NOT NULL,
      reason              text NOT NULL,
      business_at         timestamptz NOT NULL,
      recorded_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
      UNIQUE (refund_id, action, bank_transaction_id, reason)
    );

    -- The history of money: charges and refunds in one.
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

    GRANT UPDATE (refunded_amount) ON billing_requests TO assent_app;
    GRANT SELECT, INSERT ON refunds TO assent_app;
    -- Whose money and how much are for good.
    GRANT UPDATE (status, overdue, reject_reason, bank_transaction_id, reminders, acts_at, closed_at, sequence)
      ON refunds TO assent_app;
    GRANT SELECT, INSERT ON bank_transactions, refund_exceptions TO assent_app;
    GRANT SELECT ON transactions TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP VIEW transactions;
    DROP TRIGGER billing_requests_claim_bank_transaction ON billing_requests;
    DROP TABLE refund_exceptions, refunds, bank_transactions;
    DROP FUNCTION claim_bank_transaction();
    ALTER TABLE billing_requests DROP COLUMN refunded_amount,
      ADD CONSTRAINT billing_requests_bank_id_bank_transaction_id_key UNIQUE (bank_id, bank_transaction_id);
  `);
}
