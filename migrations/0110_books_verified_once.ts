import type { Knex } from 'knex';

/** The last result of `books verify` is one row. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE books_verified;
    CREATE TABLE books_verified (
      only_row    boolean PRIMARY KEY DEFAULT true CHECK (only_row),
      -- Null until the first result.
      differences int CHECK (differences >= 0),
      -- The first of the differences, in words.
      found       jsonb NOT NULL DEFAULT '[]',
      -- Where the comparison goes on, of books that are too large for a night.
      place       jsonb,
      verified_at timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    INSERT INTO books_verified DEFAULT VALUES;
    GRANT SELECT, UPDATE ON books_verified TO assent_app;
  `);
}

export async function down(): Promise<void> {}
