import type { Knex } from 'knex';

/** `reconcile` writes neither money nor totals, so it needs no function and no cursor for them. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP FUNCTION mend_daily_totals;
    ALTER TABLE temporal_state DROP COLUMN books_part, DROP COLUMN books_after;
    -- A credit that was delivered after it was overdue is settled by the charge's workflow, too.
    DROP INDEX billing_requests_waiting_credits;
    CREATE INDEX billing_requests_waiting_credits ON billing_requests (workflow_id)
      WHERE credit_due_at IS NOT NULL AND NOT credit_settled;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP INDEX billing_requests_waiting_credits;
    CREATE INDEX billing_requests_waiting_credits ON billing_requests (workflow_id)
      WHERE credit_due_at IS NOT NULL AND NOT credit_overdue AND NOT credit_settled;
    ALTER TABLE temporal_state
      ADD COLUMN books_part text NOT NULL DEFAULT '',
      ADD COLUMN books_after text NOT NULL DEFAULT '';
    CREATE FUNCTION mend_daily_totals(of_day date) RETURNS int LANGUAGE sql
      SET search_path = pg_catalog, public, pg_temp RETURN 0;
  `);
}
