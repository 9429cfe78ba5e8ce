import type { Knex } from 'knex';

/** The id that the service itself gives to a request: a caller may choose `X-Request-Id` twice. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE audit_events ADD COLUMN own_request_id uuid');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE audit_events DROP COLUMN own_request_id');
}
