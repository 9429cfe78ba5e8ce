import type { Knex } from 'knex';

/**
 * Money that a payer's bank has debited for a customer of another bank has to reach that bank's
 * book. Until the webhook that says so is delivered, or read in the feed, somebody has to know of
 * it.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE billing_requests
      -- Of a payment between customers: the webhook that has the payee's bank credit it.
      ADD COLUMN credit_delivery_id text,
      -- Until when it has to be delivered, in business time; after that it is overdue, and an
      -- exception.
      ADD COLUMN credit_due_at timestamptz,
      ADD COLUMN credit_overdue boolean NOT NULL DEFAULT false,
      ADD CHECK ((credit_delivery_id IS NULL) = (credit_due_at IS NULL)),
      ADD CHECK (NOT credit_overdue OR credit_due_at IS NOT NULL);
    CREATE INDEX billing_requests_by_credit ON billing_requests (credit_delivery_id) WHERE credit_delivery_id IS NOT NULL;
    CREATE INDEX billing_requests_by_credit_due ON billing_requests (owner_id, credit_due_at)
      WHERE credit_due_at IS NOT NULL AND NOT credit_overdue;
    GRANT UPDATE (credit_delivery_id, credit_due_at, credit_overdue) ON billing_requests TO assent_app;
    GRANT UPDATE (state) ON reconciliation_exceptions TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    REVOKE UPDATE (state) ON reconciliation_exceptions FROM assent_app;
    ALTER TABLE billing_requests DROP COLUMN credit_overdue, DROP COLUMN credit_due_at, DROP COLUMN credit_delivery_id;
  `);
}
