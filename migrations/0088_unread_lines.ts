import type { Knex } from 'knex';

/**
 * What a line is about that could not be read, where it says so: it is looked for by that among
 * what is missing in its file.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE INDEX bank_statement_differences_unread ON bank_statement_differences (statement_id, bank_transaction_id)
      WHERE difference = 'malformed' AND bank_transaction_id IS NOT NULL;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX bank_statement_differences_unread');
}
