import type { Knex } from 'knex';

/**
 * A wake waits for its workflow's start: which starts are left is looked up for each, also in a
 * backlog of thousands.
 */

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`CREATE INDEX outbox_starts ON outbox (workflow_id) WHERE kind = 'start'`);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`DROP INDEX outbox_starts`);
}
