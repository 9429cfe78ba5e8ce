import type { Knex } from 'knex';

/**
 * What a statement tells otherwise than the network is an exception, too. What is unknown here
 * belongs to its bank alone, and to no charge. Of a statement's exceptions each is there once for
 * what the bank booked, in however many files it says so.
 */
const BEFORE = `'unanswered', 'late_answer', 'conflicting_answer', 'duplicate_transaction_id', 'refund_conflict', 'credit_undelivered'`;
const OF_STATEMENTS = `'unknown_here', 'missing_at_bank', 'amount_differs'`;
const KEY = 'reconciliation_exceptions_billing_request_id_refund_id_kind_key';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE reconciliation_exceptions
      ALTER COLUMN billing_request_id DROP NOT NULL,
      ALTER COLUMN customer_id DROP NOT NULL,
      ALTER COLUMN reference DROP NOT NULL,
      -- Seen from the customer's account, and what the bank has booked, where it has.
      ADD COLUMN direction       text CHECK (direction IN ('debit', 'credit')),
      ADD COLUMN booked_amount   amount,
      ADD COLUMN booked_currency currency,
      DROP CONSTRAINT reconciliation_exceptions_kind_check1,
      DROP CONSTRAINT reconciliation_exceptions_check1,
      DROP CONSTRAINT reconciliation_exceptions_check3,
      DROP CONSTRAINT ${KEY},
      ADD CONSTRAINT reconciliation_exceptions_kind CHECK (kind IN (${BEFORE}, ${OF_STATEMENTS})),
      ADD CONSTRAINT reconciliation_exceptions_said CHECK
        ((outcome IS NULL) = (kind IN ('unanswered', 'credit_undelivered', ${OF_STATEMENTS}))),
      ADD CONSTRAINT reconciliation_exceptions_of_what CHECK
        (refund_id IS NULL OR kind IN ('refund_conflict', 'duplicate_transaction_id', 'missing_at_bank', 'amount_differs')),
      ADD CONSTRAINT reconciliation_exceptions_charge CHECK ((billing_request_id IS NULL) = (kind = 'unknown_here')),
      ADD CONSTRAINT reconciliation_exceptions_stated CHECK ((direction IS NOT NULL) = (kind IN (${OF_STATEMENTS}))),
      ADD CONSTRAINT reconciliation_exceptions_booked CHECK ((booked_amount IS NULL) = (booked_currency IS NULL)
        AND (booked_amount IS NOT NULL) = (kind IN ('unknown_here', 'amount_differs')));

    CREATE UNIQUE INDEX ${KEY} ON reconciliation_exceptions
      (billing_request_id, refund_id, kind, outcome, bank_transaction_id, reason) NULLS NOT DISTINCT
      WHERE kind NOT IN (${OF_STATEMENTS});
    CREATE UNIQUE INDEX reconciliation_exceptions_of_statements ON reconciliation_exceptions
      (bank_id, bank_transaction_id, kind, direction, booked_amount, booked_currency, billing_request_id, refund_id)
      NULLS NOT DISTINCT WHERE kind IN (${OF_STATEMENTS});

    CREATE OR REPLACE FUNCTION name_parties_of_exception() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      -- Whose it is, is all that is known of what no charge belongs to.
      IF NEW.billing_request_id IS NULL THEN RETURN NEW; END IF;
      SELECT b.bank_id, b.merchant_id, b.provider_id, b.payee_bank_id, b.customer_id, coalesce(r.reference, b.reference)
        INTO STRICT NEW.bank_id, NEW.merchant_id, NEW.provider_id, NEW.payee_bank_id, NEW.customer_id, NEW.reference
        FROM billing_requests b LEFT JOIN refunds r ON r.id = NEW.refund_id WHERE b.id = NEW.billing_request_id;
      RETURN NEW;
    END $$;
  `);
}

/**
 * What only statements have told is forgotten. Where the ledger follows from it, it becomes what is
 * nearest: another answer than the first.
 */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    UPDATE bank_statement_differences SET exception_id = NULL
      WHERE exception_id IN (SELECT id FROM reconciliation_exceptions WHERE kind IN (${OF_STATEMENTS}));
    UPDATE billing_requests b SET held_amount = held_amount - x.held
      FROM (SELECT billing_request_id, sum(held) AS held FROM reconciliation_exceptions
            WHERE kind IN (${OF_STATEMENTS}) AND held > 0 GROUP BY 1) AS x WHERE x.billing_request_id = b.id;
    DELETE FROM bank_transactions t USING reconciliation_exceptions x
      WHERE t.resource_id = x.id AND x.kind = 'unknown_here';
    DELETE FROM reconciliation_exceptions x WHERE kind = 'unknown_here' OR (kind IN (${OF_STATEMENTS})
      AND NOT EXISTS (SELECT FROM reversals v WHERE v.exception_id = x.id)
      AND NOT EXISTS (SELECT FROM ledger_entries e WHERE e.resource_id = x.id)
      AND NOT EXISTS (SELECT FROM bank_transactions t WHERE t.resource_id = x.id));
    DROP INDEX reconciliation_exceptions_of_statements;
    DROP INDEX ${KEY};
    ALTER TABLE reconciliation_exceptions
      DROP CONSTRAINT reconciliation_exceptions_kind,
      DROP CONSTRAINT reconciliation_exceptions_said,
      DROP CONSTRAINT reconciliation_exceptions_of_what,
      DROP CONSTRAINT reconciliation_exceptions_charge,
      DROP CONSTRAINT reconciliation_exceptions_stated,
      DROP CONSTRAINT reconciliation_exceptions_booked;
    UPDATE reconciliation_exceptions
      SET kind = CASE WHEN refund_id IS NULL THEN 'conflicting_answer' ELSE 'refund_conflict' END,
        outcome = CASE WHEN refund_id IS NULL THEN 'declined' ELSE 'rejected' END, reason = 'by its statement: ' || id
      WHERE kind IN (${OF_STATEMENTS});
    ALTER TABLE reconciliation_exceptions
      DROP COLUMN booked_currency, DROP COLUMN booked_amount, DROP COLUMN direction,
      ALTER COLUMN billing_request_id SET NOT NULL,
      ALTER COLUMN customer_id SET NOT NULL,
      ALTER COLUMN reference SET NOT NULL,
      ADD CONSTRAINT reconciliation_exceptions_kind_check1 CHECK (kind IN (${BEFORE})),
      ADD CONSTRAINT reconciliation_exceptions_check1 CHECK
        ((outcome IS NULL) = (kind IN ('unanswered', 'credit_undelivered'))),
      ADD CONSTRAINT reconciliation_exceptions_check3 CHECK
        (refund_id IS NULL OR kind IN ('refund_conflict', 'duplicate_transaction_id')),
      ADD CONSTRAINT ${KEY} UNIQUE NULLS NOT DISTINCT
        (billing_request_id, refund_id, kind, outcome, bank_transaction_id, reason);
    CREATE OR REPLACE FUNCTION name_parties_of_exception() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      SELECT b.bank_id, b.merchant_id, b.provider_id, b.payee_bank_id, b.customer_id, coalesce(r.reference, b.reference)
        INTO STRICT NEW.bank_id, NEW.merchant_id, NEW.provider_id, NEW.payee_bank_id, NEW.customer_id, NEW.reference
        FROM billing_requests b LEFT JOIN refunds r ON r.id = NEW.refund_id WHERE b.id = NEW.billing_request_id;
      RETURN NEW;
    END $$;
  `);
}
