import type { Knex } from 'knex';

/**
 * A bank's file costs a bounded part of the disk, whatever is in it.
 *
 * Differences that are no exception stand in pages, which Postgres compresses: a tenth of a row for
 * each. They are deleted after some weeks. Rows of `bank_statement_differences` are links from a
 * file to its exceptions, and what a line has settled.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE bank_statements
      -- The days that the bank says the file covers, beside those of its lines.
      ADD COLUMN covered_from    date,
      ADD COLUMN covered_through date,
      ADD COLUMN exceptions      int NOT NULL DEFAULT 0 CHECK (exceptions >= 0),
      DROP CONSTRAINT bank_statements_bank_id_sha256_key,
      ADD CONSTRAINT bank_statements_of_file
        UNIQUE NULLS NOT DISTINCT (bank_id, sha256, covered_from, covered_through);

    -- Lines that each bank has sent on the latest day that it sent any.
    CREATE TABLE bank_statement_days (
      bank_id text PRIMARY KEY REFERENCES entities,
      day     date NOT NULL,
      lines   int NOT NULL CHECK (lines >= 0)
    );

    CREATE TABLE bank_statement_counted (
      statement_id text NOT NULL REFERENCES bank_statements,
      -- Where in the file its page begins; what is missing comes last.
      position     int NOT NULL CHECK (position >= 0),
      differences  jsonb NOT NULL,
      -- Ids of lines that have too many fields: the file does not lack them.
      unread       text[],
      counted_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (statement_id, position)
    );
    CREATE INDEX bank_statement_counted_by_time ON bank_statement_counted (counted_at);

    -- While a file is matched, which differences it has told: another line is a duplicate.
    CREATE TABLE bank_statement_told (
      statement_id text NOT NULL REFERENCES bank_statements,
      difference   bigint NOT NULL,
      PRIMARY KEY (statement_id, difference)
    );

    DROP INDEX bank_statement_differences_unread;

    GRANT INSERT (covered_from, covered_through), UPDATE (exceptions) ON bank_statements TO assent_app;
    GRANT SELECT, INSERT, UPDATE (day, lines) ON bank_statement_days TO assent_app;
    GRANT SELECT, INSERT (statement_id, position, differences, unread), UPDATE (counted_at), DELETE
      ON bank_statement_counted TO assent_app;
    GRANT SELECT, INSERT, DELETE ON bank_statement_told TO assent_app;
  `);
}

/** The first of several statements of one file stays. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE INDEX bank_statement_differences_unread ON bank_statement_differences (statement_id, bank_transaction_id)
      WHERE difference = 'malformed' AND bank_transaction_id IS NOT NULL;
    DROP TABLE bank_statement_told, bank_statement_counted, bank_statement_days;
    ALTER TABLE bank_statements DROP CONSTRAINT bank_statements_of_file,
      DROP COLUMN covered_from, DROP COLUMN covered_through, DROP COLUMN exceptions;
    UPDATE bank_statements s SET sha256 = sha256(convert_to(s.id, 'UTF8')) WHERE EXISTS (
      SELECT FROM bank_statements f WHERE (f.bank_id, f.sha256) = (s.bank_id, s.sha256) AND f.id < s.id);
    ALTER TABLE bank_statements ADD CONSTRAINT bank_statements_bank_id_sha256_key UNIQUE (bank_id, sha256);
  `);
}
