import type { Knex } from 'knex';

/** What is overdue, or has lost its workflow, is found by its row and started again. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- When a test clock last moved, in real time: what a jump made due is not late by the whole
    -- jump.
    ALTER TABLE entities ADD COLUMN clock_moved_at timestamptz;
    GRANT UPDATE (clock_moved_at) ON entities TO assent_app;
    CREATE INDEX entities_ahead ON entities (clock_offset) WHERE clock_offset > '0';
    CREATE INDEX entities_advancing ON entities (id) WHERE clock_target IS NOT NULL;

    -- By the end of its window, across all owners. (Schedules have theirs since 0017.)
    CREATE INDEX intents_open_by_end ON intents (expires_at) WHERE status = 'pending';
    CREATE INDEX billing_requests_open_by_end ON billing_requests (expires_at) WHERE status = 'pending';
    CREATE INDEX refunds_acting_by_time ON refunds (acts_at) WHERE acts_at IS NOT NULL;

    -- For going through all that is open, page by page. Charges have theirs by workflow since 0004.
    CREATE INDEX intents_open ON intents (id) WHERE status = 'pending';
    CREATE INDEX refunds_open ON refunds (id) WHERE status = 'pending';
    CREATE INDEX customer_batches_open ON customer_batches (id) WHERE status = 'processing';
    CREATE INDEX webhook_deliveries_retried ON webhook_deliveries (id) WHERE status = 'pending' AND attempts > 0;

    -- One row: which Temporal the workflows of all that is open are in, and how far they have been
    -- looked at.
    CREATE TABLE temporal_state (
      only_row         boolean PRIMARY KEY DEFAULT true CHECK (only_row),
      -- The id that Temporal gave its namespace. Another one means that its data is gone.
      namespace_id     text NOT NULL,
      -- Set while all that is open is being started again, because Temporal has lost it.
      restarting_since timestamptz,
      -- Where the next look goes on: a kind of work, and the last one looked at.
      cursor_kind      text NOT NULL DEFAULT '',
      cursor_after     text NOT NULL DEFAULT ''
    );
    GRANT SELECT, INSERT ON temporal_state TO assent_app;
    GRANT UPDATE (namespace_id, restarting_since, cursor_kind, cursor_after) ON temporal_state TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE temporal_state;
    DROP INDEX webhook_deliveries_retried, customer_batches_open, refunds_open, intents_open, refunds_acting_by_time,
      billing_requests_open_by_end, intents_open_by_end, entities_advancing, entities_ahead;
    ALTER TABLE entities DROP COLUMN clock_moved_at;
  `);
}
