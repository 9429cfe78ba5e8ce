import type { Knex } from 'knex';

/** What was declined on a day is compared with that day's totals, by an index. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(
    `CREATE INDEX billing_requests_declined_by_end ON billing_requests (closed_at, id) WHERE status = 'declined'`,
  );
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX billing_requests_declined_by_end');
}
