import type { Knex } from 'knex';

/**
 * The beginning of a receiver's answer is sealed, as bodies are: a receiver may say again what it
 * was told. The column in clear stays for processes of the version before, which write it until
 * they are replaced. What is in it goes with its delivery; to blank it here would keep everybody
 * from a large table. So would a check of its rows: new ones are held to the bound, and in the old
 * ones the column is empty.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE webhook_attempts
      ADD COLUMN response_head_sealed bytea,
      ADD CONSTRAINT webhook_attempts_response_head_sealed_check
        CHECK (octet_length(response_head_sealed) <= 4096) NOT VALID;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE webhook_attempts DROP COLUMN response_head_sealed');
}
