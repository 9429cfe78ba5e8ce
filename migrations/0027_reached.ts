import type { Knex } from 'knex';

/**
 * Whether a bank may have what it was asked: only then can money have moved without an answer.
 *
 * What is counted here errs to one side. An attempt counts before its first byte leaves, and is
 * taken back where it is known that none did: one whose process died counts for good.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE webhook_deliveries
      -- Attempts by which the recipient may have got it, those on their way included.
      ADD COLUMN sent int NOT NULL DEFAULT 0 CHECK (sent >= 0),
      -- Whoever makes an attempt has until then to record it; nobody else makes one meanwhile.
      ADD COLUMN claimed_until timestamptz;
    GRANT UPDATE (sent, claimed_until) ON webhook_deliveries TO assent_app;

    -- Of attempts from before this migration it is not known.
    ALTER TABLE webhook_attempts ADD COLUMN reached text CHECK (reached IN ('no', 'maybe', 'yes'));

    -- The last event that the entity was given of its feed. It never goes back.
    ALTER TABLE webhook_endpoints ADD COLUMN feed_read_xid xid8 NOT NULL DEFAULT '0',
      ADD COLUMN feed_read_event_id text NOT NULL DEFAULT '';
    GRANT UPDATE (feed_read_xid, feed_read_event_id) ON webhook_endpoints TO assent_app;
    -- Who has read what until now was not kept: all that was announced counts as read.
    UPDATE webhook_endpoints SET feed_read_xid = pg_current_xact_id();

    -- What stays of a delivery that asked for money to be moved, once the delivery is forgotten.
    CREATE TABLE webhook_receipts (
      delivery_id   text PRIMARY KEY,
      entity_id     text NOT NULL REFERENCES entities,
      webhook_type  text NOT NULL,
      announced_at  timestamptz NOT NULL,
      -- Attempts by which the recipient may have got it. Those of them that are in neither column
      -- below were answered with another status than 2xx, or their process died before it could
      -- write down what became of them.
      sent          int NOT NULL,
      -- The first attempt that was answered with a 2xx.
      delivered_at  timestamptz,
      -- Each attempt that was sent and met silence.
      unanswered_at timestamptz[] NOT NULL
    );
    GRANT SELECT, INSERT ON webhook_receipts TO assent_app;

    -- By which webhooks the bank was asked: the first, then the reminders.
    ALTER TABLE refunds ADD COLUMN bank_delivery_ids text[] NOT NULL DEFAULT '{}';
    GRANT UPDATE (bank_delivery_ids) ON refunds TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE refunds DROP COLUMN bank_delivery_ids;
    DROP TABLE webhook_receipts;
    ALTER TABLE webhook_endpoints DROP COLUMN feed_read_xid, DROP COLUMN feed_read_event_id;
    ALTER TABLE webhook_attempts DROP COLUMN reached;
    ALTER TABLE webhook_deliveries DROP COLUMN sent, DROP COLUMN claimed_until;
  `);
}
