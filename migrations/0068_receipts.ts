import type { Knex } from 'knex';

/**
 * Every webhook leaves a receipt when it is forgotten: which message it was, by the hash of its
 * bytes, and when each attempt at it was made with which answer.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Of what was forgotten before this migration they are not known.
    ALTER TABLE webhook_receipts
      ADD COLUMN event_id      text,
      ADD COLUMN batch_id      text,
      ADD COLUMN status        text CHECK (status IN ('delivered', 'failed')),
      ADD COLUMN finished_at   timestamptz,
      -- SHA-256 of the body as it was sent; null where its key is gone.
      ADD COLUMN body_sha256   bytea CHECK (length(body_sha256) = 32),
      ADD COLUMN attempted_at  timestamptz[] NOT NULL DEFAULT '{}',
      -- As many; null of an attempt without an answer.
      ADD COLUMN http_statuses int[] NOT NULL DEFAULT '{}';

    -- Those by which money may have moved stay for good.
    CREATE INDEX webhook_receipts_of_a_time ON webhook_receipts (announced_at)
      WHERE webhook_type NOT IN ('billing.request', 'refund.request', 'billing.credit');
    CREATE TRIGGER webhook_receipts_are_kept BEFORE DELETE ON webhook_receipts FOR EACH ROW
      WHEN (OLD.webhook_type IN ('billing.request', 'refund.request', 'billing.credit'))
      EXECUTE FUNCTION refuse_rewriting_history();
    GRANT DELETE ON webhook_receipts TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    REVOKE DELETE ON webhook_receipts FROM assent_app;
    DROP TRIGGER webhook_receipts_are_kept ON webhook_receipts;
    DROP INDEX webhook_receipts_of_a_time;
    ALTER TABLE webhook_receipts DROP COLUMN http_statuses, DROP COLUMN attempted_at, DROP COLUMN body_sha256,
      DROP COLUMN finished_at, DROP COLUMN status, DROP COLUMN batch_id, DROP COLUMN event_id;
  `);
}
