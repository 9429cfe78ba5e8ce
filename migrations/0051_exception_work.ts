import type { Knex } from 'knex';

/**
 * An exception is work: whose it is, who has taken it, and how it was resolved are on it. The
 * parties and the reference are the charge's, and a refund's, which never change: each party finds
 * its own by an index, newest first.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE reconciliation_exceptions
      ADD COLUMN bank_id       text REFERENCES entities,
      ADD COLUMN merchant_id   text REFERENCES entities,
      ADD COLUMN provider_id   text REFERENCES entities,
      ADD COLUMN payee_bank_id text REFERENCES entities,
      ADD COLUMN customer_id   text REFERENCES customers,
      -- Of the refund where it is about one, otherwise of the charge.
      ADD COLUMN reference     text,
      ADD COLUMN resolution    text CHECK (resolution IN
        ('no_money_moved', 'reversed', 'confirmed', 'written_off', 'no_difference')),
      ADD COLUMN resolved_at   timestamptz,
      -- The operator who has taken it.
      ADD COLUMN owner         text CHECK (length(owner) BETWEEN 1 AND 200),
      ADD COLUMN bank_note     text CHECK (length(bank_note) BETWEEN 1 AND 500),
      ADD COLUMN operator_note text CHECK (length(operator_note) BETWEEN 1 AND 500),
      -- The bank's id of the transaction that took the money back.
      ADD COLUMN reversal_bank_transaction_id text,
      -- How many webhooks about it each side was sent.
      ADD COLUMN told          int NOT NULL DEFAULT 0 CHECK (told >= 0);

    CREATE FUNCTION name_parties_of_exception() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      SELECT b.bank_id, b.merchant_id, b.provider_id, b.payee_bank_id, b.customer_id, coalesce(r.reference, b.reference)
        INTO STRICT NEW.bank_id, NEW.merchant_id, NEW.provider_id, NEW.payee_bank_id, NEW.customer_id, NEW.reference
        FROM billing_requests b LEFT JOIN refunds r ON r.id = NEW.refund_id WHERE b.id = NEW.billing_request_id;
      RETURN NEW;
    END $$;
    UPDATE reconciliation_exceptions x SET bank_id = b.bank_id, merchant_id = b.merchant_id, provider_id = b.provider_id,
      payee_bank_id = b.payee_bank_id, customer_id = b.customer_id,
      reference = coalesce((SELECT reference FROM refunds r WHERE r.id = x.refund_id), b.reference)
      FROM billing_requests b WHERE b.id = x.billing_request_id;
    CREATE TRIGGER reconciliation_exceptions_name_parties BEFORE INSERT ON reconciliation_exceptions
      FOR EACH ROW EXECUTE FUNCTION name_parties_of_exception();

    -- So far only money that reached the payee's bank after all was ever resolved.
    UPDATE reconciliation_exceptions x SET resolution = 'no_difference', resolved_at = coalesce(
      (SELECT max(business_at) FROM events e WHERE e.resource_id = x.id AND e.type = 'exception.resolved'), opened_at)
      WHERE state = 'resolved';
    UPDATE reconciliation_exceptions SET owner = 'operator' WHERE state = 'investigating';
    UPDATE billing_requests b SET held_amount = held_amount - x.held
      FROM (SELECT billing_request_id, sum(held) AS held FROM reconciliation_exceptions
            WHERE state = 'resolved' AND held > 0 GROUP BY 1) AS x WHERE x.billing_request_id = b.id;
    UPDATE reconciliation_exceptions SET held = 0 WHERE state = 'resolved';

    ALTER TABLE reconciliation_exceptions
      ALTER COLUMN bank_id SET NOT NULL,
      ALTER COLUMN customer_id SET NOT NULL,
      ALTER COLUMN reference SET NOT NULL,
      ADD CONSTRAINT reconciliation_exceptions_resolved CHECK
        ((state = 'resolved') = (resolution IS NOT NULL) AND (state = 'resolved') = (resolved_at IS NOT NULL)),
      ADD CONSTRAINT reconciliation_exceptions_released CHECK (state <> 'resolved' OR held = 0),
      ADD CONSTRAINT reconciliation_exceptions_owned CHECK (state <> 'investigating' OR owner IS NOT NULL),
      ADD CONSTRAINT reconciliation_exceptions_reversal CHECK
        (reversal_bank_transaction_id IS NULL OR resolution = 'reversed');

    CREATE INDEX reconciliation_exceptions_of_bank ON reconciliation_exceptions (bank_id, opened_at DESC, id DESC);
    CREATE INDEX reconciliation_exceptions_of_merchant ON reconciliation_exceptions (merchant_id, opened_at DESC, id DESC)
      WHERE merchant_id IS NOT NULL;
    CREATE INDEX reconciliation_exceptions_of_provider ON reconciliation_exceptions (provider_id, opened_at DESC, id DESC)
      WHERE provider_id IS NOT NULL;
    CREATE INDEX reconciliation_exceptions_of_payee ON reconciliation_exceptions (payee_bank_id, opened_at DESC, id DESC)
      WHERE payee_bank_id IS NOT NULL;
    CREATE INDEX reconciliation_exceptions_of_refund ON reconciliation_exceptions (refund_id) WHERE refund_id IS NOT NULL;
    -- What somebody has to look into is little of much: oldest first, and what a new bill is
    -- compared with.
    DROP INDEX reconciliation_exceptions_unresolved;
    CREATE INDEX reconciliation_exceptions_unresolved ON reconciliation_exceptions (recorded_at, id)
      INCLUDE (kind) WHERE state <> 'resolved';
    CREATE INDEX reconciliation_exceptions_unresolved_of_customer
      ON reconciliation_exceptions (merchant_id, customer_id, amount, currency) WHERE state <> 'resolved';

    GRANT UPDATE (resolution, resolved_at, owner, bank_note, operator_note, reversal_bank_transaction_id, told)
      ON reconciliation_exceptions TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TRIGGER reconciliation_exceptions_name_parties ON reconciliation_exceptions;
    DROP FUNCTION name_parties_of_exception();
    DROP INDEX reconciliation_exceptions_unresolved;
    -- The columns take their constraints and indexes along.
    ALTER TABLE reconciliation_exceptions DROP CONSTRAINT reconciliation_exceptions_released,
      DROP COLUMN told, DROP COLUMN reversal_bank_transaction_id, DROP COLUMN operator_note, DROP COLUMN bank_note,
      DROP COLUMN owner, DROP COLUMN resolved_at, DROP COLUMN resolution, DROP COLUMN reference, DROP COLUMN customer_id,
      DROP COLUMN payee_bank_id, DROP COLUMN provider_id, DROP COLUMN merchant_id, DROP COLUMN bank_id;
    DROP INDEX reconciliation_exceptions_of_refund;
    CREATE INDEX reconciliation_exceptions_unresolved ON reconciliation_exceptions (kind) WHERE state <> 'resolved';
  `);
}
