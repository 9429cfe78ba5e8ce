import type { Knex } from 'knex';

/**
 * Which settlement days were looked through for statements whose SHA-256 is not worked out while
 * somebody waits: in which edition of their month, and by which form of the file. It is for speed
 * alone; what is kept is in `statement_digests`.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE digested_days (
      day        date NOT NULL,
      reopenings int NOT NULL,
      form       int NOT NULL,
      PRIMARY KEY (day, reopenings, form)
    );
    GRANT SELECT, INSERT ON digested_days TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE digested_days');
}
