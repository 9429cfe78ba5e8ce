import type { Knex } from 'knex';

/**
 * A credit that its bank has read in the events feed is done. What stays of its webhook has to say
 * so, or it would turn undelivered once the webhook is forgotten.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- The recipient had read it in its feed. Of what was forgotten before this migration it is not
    -- known, and counts as not read.
    ALTER TABLE webhook_receipts ADD COLUMN feed_read boolean NOT NULL DEFAULT false;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`ALTER TABLE webhook_receipts DROP COLUMN feed_read`);
}
