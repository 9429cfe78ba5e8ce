import type { Knex } from 'knex';

/**
 * What years of charges ask for: lists that find a page without reading what is not on it, and
 * deliveries that go when their time is over.
 *
 * A list has an index for whoever reads it, in its order, and one for each filter that may leave
 * few rows of many.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- A provider's merchants never change, so their rows name the provider: one index has all of
    -- them in order.
    ALTER TABLE billing_requests ADD COLUMN provider_id text REFERENCES entities;
    ALTER TABLE refunds ADD COLUMN provider_id text REFERENCES entities;
    ALTER TABLE schedules ADD COLUMN provider_id text REFERENCES entities;
    UPDATE billing_requests t SET provider_id = e.provider_id
      FROM entities e WHERE e.id = t.merchant_id AND e.provider_id IS NOT NULL;
    UPDATE refunds t SET provider_id = e.provider_id
      FROM entities e WHERE e.id = t.merchant_id AND e.provider_id IS NOT NULL;
    UPDATE schedules t SET provider_id = e.provider_id
      FROM entities e WHERE e.id = t.merchant_id AND e.provider_id IS NOT NULL;
    CREATE FUNCTION name_provider() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.provider_id := (SELECT provider_id FROM entities WHERE id = NEW.merchant_id);
      RETURN NEW;
    END $$;
    CREATE TRIGGER billing_requests_name_provider BEFORE INSERT ON billing_requests
      FOR EACH ROW EXECUTE FUNCTION name_provider();
    CREATE TRIGGER refunds_name_provider BEFORE INSERT ON refunds FOR EACH ROW EXECUTE FUNCTION name_provider();
    CREATE TRIGGER schedules_name_provider BEFORE INSERT ON schedules FOR EACH ROW EXECUTE FUNCTION name_provider();
    CREATE INDEX billing_requests_of_provider ON billing_requests (provider_id, created_at DESC, id DESC)
      WHERE provider_id IS NOT NULL;
    CREATE INDEX refunds_of_provider ON refunds (provider_id, created_at DESC, id DESC) WHERE provider_id IS NOT NULL;
    CREATE INDEX schedules_of_provider ON schedules (provider_id, id DESC) WHERE provider_id IS NOT NULL;

    CREATE OR REPLACE VIEW transactions AS
      SELECT transaction_id, id, reference, 'charge' AS type, status, amount, currency, description, customer_id,
        merchant_id, bank_id, id AS billing_request_id, schedule_id, bank_transaction_id, decline_reason,
        refunded_amount, created_at, CASE WHEN status = 'successful' THEN closed_at END AS settled_at,
        payee_customer_id, payee_bank_id, payee_lookup_id, provider_id
      FROM billing_requests
      UNION ALL
      -- What comes from the charge is asked for row by row: a join would be made whole before it is
      -- put in order.
      SELECT r.transaction_id, r.id, r.reference, 'refund', r.status, r.amount, r.currency,
        coalesce(r.reason, (SELECT description FROM billing_requests b WHERE b.id = r.billing_request_id)),
        r.customer_id, r.merchant_id, r.bank_id, r.billing_request_id,
        (SELECT schedule_id FROM billing_requests b WHERE b.id = r.billing_request_id), r.bank_transaction_id,
        r.reject_reason, 0::bigint, r.created_at, CASE WHEN r.status = 'completed' THEN r.closed_at END,
        NULL, NULL, NULL, r.provider_id
      FROM refunds r;

    -- What is open, or did not end well, is little of much.
    CREATE INDEX billing_requests_open_of_merchant ON billing_requests (merchant_id, created_at DESC, id DESC)
      WHERE status = 'pending';
    CREATE INDEX billing_requests_open_of_bank ON billing_requests (bank_id, created_at DESC, id DESC)
      WHERE status = 'pending';
    CREATE INDEX billing_requests_open_of_provider ON billing_requests (provider_id, created_at DESC, id DESC)
      WHERE status = 'pending' AND provider_id IS NOT NULL;
    CREATE INDEX billing_requests_declined_of_bank ON billing_requests (bank_id, created_at DESC, id DESC)
      WHERE status = 'declined';
    CREATE INDEX billing_requests_declined_of_merchant ON billing_requests (merchant_id, created_at DESC, id DESC)
      WHERE status = 'declined';
    CREATE INDEX refunds_of_customer ON refunds (customer_id, created_at DESC, id DESC);
    CREATE INDEX refunds_unsettled_of_bank ON refunds (bank_id, created_at DESC, id DESC) WHERE status <> 'completed';
    CREATE INDEX refunds_unsettled_of_merchant ON refunds (merchant_id, created_at DESC, id DESC)
      WHERE status <> 'completed';
    CREATE INDEX schedules_of_merchant_by_status ON schedules (merchant_id, status, id DESC);
    CREATE INDEX schedules_of_bank_by_status ON schedules (bank_id, status, id DESC);
    CREATE INDEX schedules_of_customer ON schedules (customer_id, id DESC);
    CREATE INDEX agreements_of_bank_by_decision ON agreements (bank_id, decision, id);
    CREATE INDEX agreements_of_bank_and_merchant ON agreements (bank_id, merchant_id, id);
    CREATE INDEX webhook_deliveries_by_time ON webhook_deliveries (entity_id, created_at DESC, id DESC);
    CREATE INDEX webhook_deliveries_by_type ON webhook_deliveries (entity_id, webhook_type, created_at DESC, id DESC);
    CREATE INDEX webhook_deliveries_undelivered ON webhook_deliveries (entity_id, created_at DESC, id DESC)
      WHERE status <> 'delivered';

    -- Deliveries go after their time, what they spoke of stays: it keeps the id of what is gone.
    ALTER TABLE billing_requests DROP CONSTRAINT billing_requests_bank_delivery_id_fkey;
    ALTER TABLE intents DROP CONSTRAINT intents_bank_delivery_id_fkey;
    -- One row: of what was announced up to then some may be gone. A reader of the feed who was
    -- there last is told.
    CREATE TABLE feed_horizon (
      only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
      passed   timestamptz NOT NULL
    );
    INSERT INTO feed_horizon (passed) VALUES ('-infinity');
    GRANT SELECT ON feed_horizon TO assent_app;
    GRANT UPDATE (passed) ON feed_horizon TO assent_app;
    GRANT DELETE ON webhook_deliveries, webhook_attempts TO assent_app;

    -- By default a table is vacuumed once a fifth of it has changed, which of these is days of work
    -- at one go.
    ALTER TABLE webhook_deliveries SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);
    ALTER TABLE webhook_attempts SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);
    ALTER TABLE idempotency_keys SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);
    ALTER TABLE billing_requests SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE webhook_deliveries RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_insert_scale_factor);
    ALTER TABLE webhook_attempts RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_insert_scale_factor);
    ALTER TABLE idempotency_keys RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_insert_scale_factor);
    ALTER TABLE billing_requests RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_insert_scale_factor);
    REVOKE DELETE ON webhook_deliveries, webhook_attempts FROM assent_app;
    DROP TABLE feed_horizon;
    ALTER TABLE billing_requests ADD CONSTRAINT billing_requests_bank_delivery_id_fkey
      FOREIGN KEY (bank_delivery_id) REFERENCES webhook_deliveries NOT VALID;
    ALTER TABLE intents ADD CONSTRAINT intents_bank_delivery_id_fkey
      FOREIGN KEY (bank_delivery_id) REFERENCES webhook_deliveries NOT VALID;
    DROP INDEX webhook_deliveries_undelivered, webhook_deliveries_by_type, webhook_deliveries_by_time,
      agreements_of_bank_and_merchant, agreements_of_bank_by_decision, schedules_of_customer,
      schedules_of_bank_by_status, schedules_of_merchant_by_status, refunds_unsettled_of_merchant,
      refunds_unsettled_of_bank, refunds_of_customer,
      billing_requests_declined_of_merchant, billing_requests_declined_of_bank, billing_requests_open_of_bank, billing_requests_open_of_merchant;
    DROP VIEW transactions;
    DROP TRIGGER billing_requests_name_provider ON billing_requests;
    DROP TRIGGER refunds_name_provider ON refunds;
    DROP TRIGGER schedules_name_provider ON schedules;
    DROP FUNCTION name_provider();
    ALTER TABLE billing_requests DROP COLUMN provider_id;
    ALTER TABLE refunds DROP COLUMN provider_id;
    ALTER TABLE schedules DROP COLUMN provider_id;
    CREATE VIEW transactions AS
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
    GRANT SELECT ON transactions TO assent_app;
  `);
}
