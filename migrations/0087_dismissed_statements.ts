import type { Knex } from 'knex';

/**
 * A wrong file does not vouch that its bank has booked what is in it. A right one may have had the
 * same before, so the statements before the latest are noted, too. Of those that were dismissed by
 * now nobody knows which came before them: a statement that is none, and so is never dismissed,
 * stands for it, and what they have is not missing.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE bank_statements ADD COLUMN dismissed_at timestamptz,
      ADD CONSTRAINT bank_statements_dismissed CHECK (dismissed_at IS NULL OR status <> 'processing');
    CREATE INDEX bank_statements_of_dismissed ON bank_statements (id) WHERE dismissed_at IS NOT NULL;
    UPDATE bank_statements SET dismissed_at = clock_timestamp()
      WHERE id IN (SELECT dismissed_with FROM reconciliation_exceptions WHERE dismissed_with IS NOT NULL);
    ALTER TABLE bank_statement_matches ADD COLUMN earlier_statement_ids text[] NOT NULL DEFAULT '{}';
    UPDATE bank_statement_matches SET earlier_statement_ids = '{unknown}'
      WHERE statement_id IN (SELECT id FROM bank_statements WHERE dismissed_at IS NOT NULL);
    GRANT UPDATE (dismissed_at) ON bank_statements TO assent_app;
    GRANT UPDATE (earlier_statement_ids) ON bank_statement_matches TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE bank_statement_matches DROP COLUMN earlier_statement_ids;
    ALTER TABLE bank_statements DROP COLUMN dismissed_at;
  `);
}
