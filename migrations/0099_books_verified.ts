import type { Knex } from 'knex';

/**
 * The last result of `books verify`: one row (part 0) where it compares all there is, and one for
 * each of seven parts where the books are too large for a night.
 *
 * A statement's SHA-256 is made when the statement or its file is asked for, so no days are looked
 * through for long statements.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE books_verified (
      part        int PRIMARY KEY CHECK (part BETWEEN 0 AND 6),
      -- Null until the first result.
      differences int CHECK (differences >= 0),
      -- The first of the differences, in words.
      found       jsonb NOT NULL DEFAULT '[]',
      verified_at timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    INSERT INTO books_verified (part) VALUES (0);
    GRANT SELECT, INSERT, UPDATE, DELETE ON books_verified TO assent_app;
    DROP TABLE days_looked_through;
    ALTER TABLE temporal_state DROP COLUMN digested_at;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE temporal_state ADD COLUMN digested_at timestamptz NOT NULL DEFAULT clock_timestamp();
    CREATE TABLE days_looked_through ();
    DROP TABLE books_verified;
  `);
}
