import type { Knex } from 'knex';

/** The id of a workflow has one name in all tables. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE webhook_deliveries RENAME COLUMN carrier TO workflow_id');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE webhook_deliveries RENAME COLUMN workflow_id TO carrier');
}
