import type { Knex } from 'knex';

/**
 * That a payee's bank was told of its money follows from its webhook or its feed. That somebody has
 * drawn the conclusion (the exception resolved, the workflow woken) is on the charge from here on:
 * whoever judges whether a credit is overdue, and whoever has just delivered it, then wait for each
 * other; and where the conclusion is missing it is found.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE billing_requests
      ADD COLUMN credit_settled boolean NOT NULL DEFAULT false,
      ADD CHECK (NOT credit_settled OR credit_due_at IS NOT NULL);
    -- But for those whose exception is open: these are looked at again.
    UPDATE billing_requests b SET credit_settled = true
    WHERE b.credit_due_at IS NOT NULL
      AND NOT EXISTS (SELECT FROM reconciliation_exceptions x
                      WHERE x.billing_request_id = b.id AND x.kind = 'credit_undelivered' AND x.state <> 'resolved')
      AND (EXISTS (SELECT FROM webhook_deliveries d JOIN webhook_endpoints w ON w.entity_id = d.entity_id
                   WHERE d.id = b.credit_delivery_id
                     AND ((d.created_xid, d.event_id) <= (w.feed_read_xid, w.feed_read_event_id)
                          OR EXISTS (SELECT FROM webhook_attempts a WHERE a.delivery_id = d.id AND a.error IS NULL)))
           OR EXISTS (SELECT FROM webhook_receipts r WHERE r.delivery_id = b.credit_delivery_id
                      AND (r.delivered_at IS NOT NULL OR r.feed_read)));

    -- What is settled is of no more interest to anybody who waits.
    DROP INDEX billing_requests_by_credit_due;
    CREATE INDEX billing_requests_by_credit_due ON billing_requests (owner_id, credit_due_at)
      WHERE credit_due_at IS NOT NULL AND NOT credit_overdue AND NOT credit_settled;
    -- Across all owners, by when they are due; and for going through them, by their workflow.
    CREATE INDEX billing_requests_unsettled_credits ON billing_requests (credit_due_at)
      WHERE credit_due_at IS NOT NULL AND NOT credit_settled;
    CREATE INDEX billing_requests_waiting_credits ON billing_requests (workflow_id)
      WHERE credit_due_at IS NOT NULL AND NOT credit_overdue AND NOT credit_settled;
    GRANT UPDATE (credit_settled) ON billing_requests TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE billing_requests DROP COLUMN credit_settled;
    CREATE INDEX billing_requests_by_credit_due ON billing_requests (owner_id, credit_due_at)
      WHERE credit_due_at IS NOT NULL AND NOT credit_overdue;
  `);
}
