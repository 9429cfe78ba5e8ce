import type { Knex } from 'knex';

/** An intent or a refund whose workflow sleeps is woken by its answer; one whose workflow is about to read is not. */
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
