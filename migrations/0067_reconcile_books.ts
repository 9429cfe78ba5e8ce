import type { Knex } from 'knex';

/** `reconcile` also goes through the books, some at each run: this is where it goes on. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE temporal_state
      ADD COLUMN books_part  text NOT NULL DEFAULT '',
      ADD COLUMN books_after text NOT NULL DEFAULT '';
    GRANT UPDATE (books_part, books_after) ON temporal_state TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE temporal_state DROP COLUMN books_after, DROP COLUMN books_part');
}
