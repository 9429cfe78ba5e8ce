import type { Knex } from 'knex';

/**
 * An intent's or a refund's answer wakes a workflow that sleeps, and none that is about to read.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE intents ADD COLUMN asleep boolean NOT NULL DEFAULT false;
    ALTER TABLE refunds ADD COLUMN asleep boolean NOT NULL DEFAULT false;
    -- What is open by now has been left to sleep by the version before.
    UPDATE intents SET asleep = true WHERE status = 'pending';
    UPDATE refunds SET asleep = true WHERE status = 'pending';
    GRANT UPDATE (asleep) ON intents, refunds TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE refunds DROP COLUMN asleep;
    ALTER TABLE intents DROP COLUMN asleep;
  `);
}
