import type { Knex } from 'knex';

/**
 * Every id of a transaction that a bank has ever sent belongs to one charge or one refund, also
 * where it came too late or contradicted what stood: otherwise a debit that was made for one charge
 * could prove another.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TRIGGER billing_requests_claim_bank_transaction ON billing_requests;
    DROP TRIGGER refunds_claim_bank_transaction ON refunds;
    DROP FUNCTION claim_bank_transaction();

    -- Made anew from the rows that it was made of: to name the owner in each would write all of it
    -- twice.
    DROP TABLE bank_transactions;
    CREATE TABLE bank_transactions (
      bank_id             text NOT NULL,
      bank_transaction_id text NOT NULL,
      -- The charge or the refund that it belongs to, for good.
      resource_id         text NOT NULL CHECK (resource_id ~ '^(brq|rfd)_')
    );
    INSERT INTO bank_transactions
      SELECT bank_id, bank_transaction_id, id FROM billing_requests WHERE bank_transaction_id IS NOT NULL
      UNION ALL SELECT bank_id, bank_transaction_id, id FROM refunds WHERE bank_transaction_id IS NOT NULL;
    ALTER TABLE bank_transactions ADD PRIMARY KEY (bank_id, bank_transaction_id);
    -- Of those that came too late, the one that came first; one that has settled something stays
    -- what it was.
    INSERT INTO bank_transactions
      SELECT b.bank_id, x.bank_transaction_id, coalesce(x.refund_id, x.billing_request_id)
      FROM reconciliation_exceptions x JOIN billing_requests b ON b.id = x.billing_request_id
      WHERE x.bank_transaction_id IS NOT NULL ORDER BY x.recorded_at, x.id
      ON CONFLICT DO NOTHING;

    -- The statement that settles claims the id as well; this is for the day that one forgets.
    CREATE FUNCTION require_claimed_bank_transaction() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF NOT EXISTS (SELECT FROM bank_transactions WHERE bank_id = NEW.bank_id
                     AND bank_transaction_id = NEW.bank_transaction_id AND resource_id = NEW.id) THEN
        RAISE EXCEPTION '% is settled by a bank transaction that is not its own', NEW.id
          USING ERRCODE = 'integrity_constraint_violation';
      END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER billing_requests_own_bank_transaction
      AFTER UPDATE OF bank_transaction_id ON billing_requests FOR EACH ROW
      WHEN (NEW.bank_transaction_id IS NOT NULL) EXECUTE FUNCTION require_claimed_bank_transaction();
    CREATE TRIGGER refunds_own_bank_transaction
      AFTER UPDATE OF bank_transaction_id ON refunds FOR EACH ROW
      WHEN (NEW.bank_transaction_id IS NOT NULL) EXECUTE FUNCTION require_claimed_bank_transaction();

    GRANT SELECT, INSERT ON bank_transactions TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TRIGGER billing_requests_own_bank_transaction ON billing_requests;
    DROP TRIGGER refunds_own_bank_transaction ON refunds;
    DROP FUNCTION require_claimed_bank_transaction();
    -- Before, only what had settled something was kept.
    DELETE FROM bank_transactions t WHERE
      NOT EXISTS (SELECT FROM billing_requests b WHERE b.id = t.resource_id AND b.bank_transaction_id = t.bank_transaction_id)
      AND NOT EXISTS (SELECT FROM refunds r WHERE r.id = t.resource_id AND r.bank_transaction_id = t.bank_transaction_id);
    ALTER TABLE bank_transactions DROP COLUMN resource_id;
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
  `);
}
