import type { Knex } from 'knex';

/**
 * A party that is kept out: its tokens die for good, its webhooks wait, and whoever had its
 * webhooks hears of a move.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- A token says of which generation it is, and is good while that is the entity's. Counting
    -- needs no clock: times in tokens are whole seconds, by the clock of the process that issued
    -- them.
    ALTER TABLE entities ADD COLUMN token_generation int NOT NULL DEFAULT 0 CHECK (token_generation >= 0);
    GRANT UPDATE (token_generation) ON entities TO assent_app;

    -- Of a delivery that tells the old endpoint of its recipient's move: where to, and what it is
    -- signed with, sealed as the endpoint's own. It is attempted once.
    ALTER TABLE webhook_deliveries
      ADD COLUMN old_url text CHECK (length(old_url) <= 2048),
      ADD COLUMN old_secret_sealed bytea,
      ADD CHECK ((old_url IS NULL) = (old_secret_sealed IS NULL));
    GRANT UPDATE (old_url, old_secret_sealed) ON webhook_deliveries TO assent_app;

    -- What waits for its recipient to be let in again.
    CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (entity_id, id) WHERE status = 'pending';
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP INDEX webhook_deliveries_waiting;
    ALTER TABLE webhook_deliveries DROP COLUMN old_url, DROP COLUMN old_secret_sealed;
    ALTER TABLE entities DROP COLUMN token_generation;
  `);
}
