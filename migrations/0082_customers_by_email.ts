import type { Knex } from 'knex';

/**
 * A bank may have any number of customers with one e-mail address. So the address is looked up bank
 * by bank, the oldest customers of each, however many more there are.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP INDEX customers_by_email;
    CREATE INDEX customers_by_email ON customers (email_index, bank_id, id);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP INDEX customers_by_email;
    CREATE INDEX customers_by_email ON customers (email_index);
  `);
}
