import type { Knex } from 'knex';

/**
 * Owners take turns at the relay. The primary key is in the order in which rows are taken: a second
 * index would make each of them dearer.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- By bytes: it is compared for every message.
    ALTER TABLE outbox ADD COLUMN owner_id text COLLATE "C" NOT NULL DEFAULT 'none';
    ALTER TABLE outbox DROP CONSTRAINT outbox_pkey, ADD PRIMARY KEY (rank, owner_id, id);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE outbox DROP CONSTRAINT outbox_pkey, ADD PRIMARY KEY (rank, id);
    ALTER TABLE outbox DROP COLUMN owner_id;
  `);
}
