import type { Knex } from 'knex';

/**
 * When a webhook that failed is attempted again was known to its workflow alone, which any signal
 * woke up. Its row says so now. Of what waits at the time of this migration its workflow still
 * knows.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE webhook_deliveries
      -- No attempt is made before. Null: at once, as nothing has failed yet.
      ADD COLUMN next_attempt_at timestamptz;
    GRANT UPDATE (next_attempt_at) ON webhook_deliveries TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE webhook_deliveries DROP COLUMN next_attempt_at');
}
