import type { Knex } from 'knex';

/**
 * An exception that only a wrong file has told of is dismissed with it. It does not stand in the
 * way of what a right one tells: a difference of that kind is then another exception.
 */
const KINDS = `kind IN ('unknown_here', 'missing_at_bank', 'amount_differs')`;
const KEY = `bank_id, bank_transaction_id, kind, direction, booked_amount, booked_currency, billing_request_id, refund_id`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE reconciliation_exceptions ADD COLUMN dismissed_with text REFERENCES bank_statements,
      ADD CONSTRAINT reconciliation_exceptions_dismissed CHECK
        (dismissed_with IS NULL OR (resolution IS NOT DISTINCT FROM 'no_difference' AND ${KINDS}));
    DROP INDEX reconciliation_exceptions_of_statements;
    CREATE UNIQUE INDEX reconciliation_exceptions_of_statements ON reconciliation_exceptions (${KEY})
      NULLS NOT DISTINCT WHERE ${KINDS} AND dismissed_with IS NULL;
    GRANT UPDATE (dismissed_with) ON reconciliation_exceptions TO assent_app;
  `);
}

/** Of several that tell the same, those that were dismissed go. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    UPDATE bank_statement_differences SET exception_id = NULL
      WHERE exception_id IN (SELECT id FROM reconciliation_exceptions WHERE dismissed_with IS NOT NULL);
    DELETE FROM reconciliation_exceptions WHERE dismissed_with IS NOT NULL;
    DROP INDEX reconciliation_exceptions_of_statements;
    ALTER TABLE reconciliation_exceptions DROP CONSTRAINT reconciliation_exceptions_dismissed, DROP COLUMN dismissed_with;
    CREATE UNIQUE INDEX reconciliation_exceptions_of_statements ON reconciliation_exceptions (${KEY})
      NULLS NOT DISTINCT WHERE ${KINDS};
  `);
}
