import type { Knex } from 'knex';

/**
 * A charge whose workflow sleeps is woken by the bank's answer; one whose workflow is just waiting
 * for it is not.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE billing_requests ADD COLUMN asleep boolean NOT NULL DEFAULT false;
    -- What is open by now has been left to sleep by the version before.
    UPDATE billing_requests SET asleep = true WHERE status = 'pending';
    GRANT UPDATE (asleep) ON billing_requests TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE billing_requests DROP COLUMN asleep');
}
