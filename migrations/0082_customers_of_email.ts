import type { Knex } from 'knex';

/**
 * A bank may have any number of customers with one e-mail address. So the address is looked up bank
 * by bank, the oldest customers of each, however many more there are.
 *
 * The index before it goes in a migration of its own: to drop it keeps all who read customers away
 * until its transaction ends, which must not build an index meanwhile.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('CREATE INDEX customers_of_email ON customers (email_index, bank_id, id)');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX customers_of_email');
}
