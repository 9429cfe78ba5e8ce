import type { Knex } from 'knex';

/**
 * Tokens of a bucket taken several at once. `admitted` stays for processes of the version before,
 * which may still run while this one starts.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE rate_limits
      ADD COLUMN taken integer NOT NULL DEFAULT 0,
      ALTER COLUMN admitted SET DEFAULT true;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE rate_limits
      DROP COLUMN taken,
      ALTER COLUMN admitted DROP DEFAULT;
  `);
}
