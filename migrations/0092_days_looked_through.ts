import type { Knex } from 'knex';

/**
 * Which settlement days the workflow `digest` has looked through for statements that have more
 * lines than `hashed_max`, whose SHA-256 is not worked out while somebody waits: in which edition
 * of their month, and by which form of the file. What is kept is in `statement_digests`.
 *
 * `digested_at` is when it last came on, as `reconciled_at` is of `reconcile`.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE days_looked_through (
      day        date NOT NULL,
      reopenings int NOT NULL,
      form       int NOT NULL,
      hashed_max int NOT NULL,
      PRIMARY KEY (day, reopenings, form, hashed_max)
    );
    GRANT SELECT, INSERT ON days_looked_through TO assent_app;
    ALTER TABLE temporal_state ADD COLUMN digested_at timestamptz NOT NULL DEFAULT clock_timestamp();
    GRANT UPDATE (digested_at) ON temporal_state TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE temporal_state DROP COLUMN digested_at;
    DROP TABLE days_looked_through;
  `);
}
