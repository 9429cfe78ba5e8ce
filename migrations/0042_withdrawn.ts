import type { Knex } from 'knex';

/**
 * What a bank was to be asked and never was, because it ended first. Nobody may be asked later: the
 * merchant has been told that it may bill again.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE webhook_deliveries
      -- When it was taken back, before a byte of it was sent and before it was read in the feed. It
      -- stays so for good.
      ADD COLUMN withdrawn_at timestamptz,
      ADD CHECK (withdrawn_at IS NULL OR (status = 'failed' AND sent = 0));
    GRANT UPDATE (withdrawn_at) ON webhook_deliveries TO assent_app;

    -- Of what asks for several things, those that end before it is sent are taken out of its body.
    -- What anybody may have seen of a body stays as it is: the role that serves may replace it in
    -- no other way.
    CREATE FUNCTION replace_unseen_body(delivery text, body bytea) RETURNS boolean LANGUAGE sql
    SECURITY DEFINER SET search_path FROM CURRENT AS $$
      WITH replaced AS (
        UPDATE webhook_deliveries d SET body_sealed = body FROM webhook_endpoints w
        WHERE d.id = delivery AND w.entity_id = d.entity_id AND d.sent = 0 AND d.status <> 'delivered'
          AND (d.created_xid, d.event_id) > (w.feed_read_xid, w.feed_read_event_id)
        RETURNING d.id)
      SELECT EXISTS (SELECT FROM replaced)
    $$;
    REVOKE ALL ON FUNCTION replace_unseen_body FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION replace_unseen_body TO assent_app;

    -- Until now such a request could still be read in the feed, or be sent by hand.
    UPDATE webhook_deliveries d SET status = 'failed', finished_at = coalesce(finished_at, clock_timestamp()),
      withdrawn_at = clock_timestamp()
    WHERE d.sent = 0 AND d.status <> 'delivered'
      AND d.id IN (SELECT bank_delivery_id FROM billing_requests WHERE decline_reason = 'not_delivered')
      AND NOT EXISTS (SELECT FROM billing_requests b JOIN billing_requests o ON o.workflow_id = b.workflow_id
                      WHERE b.bank_delivery_id = d.id AND b.decline_reason = 'not_delivered'
                        AND o.bank_delivery_id = d.id AND o.decline_reason IS DISTINCT FROM 'not_delivered');
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP FUNCTION replace_unseen_body;
    ALTER TABLE webhook_deliveries DROP COLUMN withdrawn_at;
  `);
}
