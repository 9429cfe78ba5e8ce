import type { Knex } from 'knex';

/**
 * The exceptions of a charge are looked for with each line of a statement, each charge that expires
 * and each retry of a schedule. The key that these went by no longer holds what statements tell.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE INDEX reconciliation_exceptions_of_charge ON reconciliation_exceptions (billing_request_id)
      WHERE billing_request_id IS NOT NULL;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX reconciliation_exceptions_of_charge');
}
