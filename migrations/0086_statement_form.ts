import type { Knex } from 'knex';

/**
 * By which form of a statement's file its SHA-256 was kept: which columns it has, in which order,
 * and how each cell is written. Bytes of another form say nothing about the file of now.
 *
 * Nobody knows by which form older versions kept theirs. A process of such a version that is still
 * running goes on with 1, too.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE statement_digests ADD COLUMN form int NOT NULL DEFAULT 1,
      DROP CONSTRAINT statement_digests_pkey;
    ALTER TABLE statement_digests ADD PRIMARY KEY (party_id, day, currency, reopenings, form);
    GRANT INSERT (form) ON statement_digests TO assent_app;
  `);
}

/**
 * A version without the column makes files of form 2. It would call what later forms have wrong,
 * and works out anew what it does not have.
 */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE statement_digests DISABLE TRIGGER statement_digests_are_append_only;
    DELETE FROM statement_digests d WHERE d.form > 2 OR EXISTS (
      SELECT FROM statement_digests n
      WHERE (n.party_id, n.day, n.currency, n.reopenings) = (d.party_id, d.day, d.currency, d.reopenings)
        AND n.form > d.form AND n.form <= 2);
    ALTER TABLE statement_digests ENABLE TRIGGER statement_digests_are_append_only;
    ALTER TABLE statement_digests DROP CONSTRAINT statement_digests_pkey, DROP COLUMN form,
      ADD PRIMARY KEY (party_id, day, currency, reopenings);
  `);
}
