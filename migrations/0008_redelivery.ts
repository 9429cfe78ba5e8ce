import type { Knex } from 'knex';

/** A delivery can be asked for once more, with all the retries of a new one. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE webhook_deliveries
      -- Of its attempts, those made before it was last asked for again: the table of retries counts
      -- from there.
      ADD COLUMN earlier_attempts int NOT NULL DEFAULT 0,
      ADD CHECK (earlier_attempts BETWEEN 0 AND attempts);
    GRANT UPDATE (earlier_attempts) ON webhook_deliveries TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE webhook_deliveries DROP COLUMN earlier_attempts');
}
