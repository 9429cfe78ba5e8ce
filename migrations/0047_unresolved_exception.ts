import type { Knex } from 'knex';

/**
 * Those that somebody still has to look into are counted by their kind, however many have been
 * resolved.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE INDEX reconciliation_exceptions_unresolved ON reconciliation_exceptions (kind) WHERE state <> 'resolved';
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX reconciliation_exceptions_unresolved');
}
