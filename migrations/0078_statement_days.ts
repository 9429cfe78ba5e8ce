import type { Knex } from 'knex';

/**
 * The days that a statement is about, as its lines are judged: those of lines that are known here,
 * and each day of the others. What is judged only in part keeps the days that its file has named.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE bank_statements
      ADD COLUMN known_first_day date, ADD COLUMN known_last_day date,
      ADD COLUMN unknown_days date[] NOT NULL DEFAULT '{}';
    UPDATE bank_statements SET known_first_day = first_day, known_last_day = last_day
      WHERE status = 'processing' AND matched + duplicates + unknown_here + amount_differs + malformed > 0;
    GRANT UPDATE (known_first_day, known_last_day, unknown_days) ON bank_statements TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE bank_statements
      DROP COLUMN known_first_day, DROP COLUMN known_last_day, DROP COLUMN unknown_days;
  `);
}
