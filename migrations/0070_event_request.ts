import type { Knex } from 'knex';

/**
 * Which call of the API an event follows from. Of those before it, and of others, none is known.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE events ADD COLUMN request_id text CHECK (request_id ~ '^[A-Za-z0-9._-]{1,128}$');
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE events DROP COLUMN request_id');
}
