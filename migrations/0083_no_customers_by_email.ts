import type { Knex } from 'knex';

/** What it was for, `customers_of_email` does. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX customers_by_email');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('CREATE INDEX customers_by_email ON customers (email_index)');
}
