import type { Knex } from 'knex';

/**
 * What one act writes without a bound goes behind what single calls ask for. The primary key is in
 * the order in which rows are taken: a second index would make each of them dearer.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE outbox ADD COLUMN rank smallint NOT NULL DEFAULT 0 CHECK (rank IN (0, 1));
    ALTER TABLE outbox DROP CONSTRAINT outbox_pkey, ADD PRIMARY KEY (rank, id);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE outbox DROP CONSTRAINT outbox_pkey, ADD PRIMARY KEY (id);
    ALTER TABLE outbox DROP COLUMN rank;
  `);
}
