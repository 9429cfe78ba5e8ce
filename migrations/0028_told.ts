import type { Knex } from 'knex';

/**
 * How often the receivers of a resource have been told of it, where what happened to it does not
 * say so: each of them is told alike. A charge, an intent and a refund tell a receiver at fixed
 * points of their life, and need no counter.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE schedules ADD COLUMN told int NOT NULL DEFAULT 0 CHECK (told >= 0);
    ALTER TABLE agreements ADD COLUMN told int NOT NULL DEFAULT 0 CHECK (told >= 0);
    GRANT UPDATE (told) ON schedules, agreements TO assent_app;
    -- Receivers have seen numbers up to that of the last transition; what they are told next must
    -- be a higher one.
    UPDATE schedules SET told = sequence WHERE status NOT IN ('completed', 'cancelled', 'failed');
    UPDATE agreements SET told = sequence;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE schedules DROP COLUMN told;
    ALTER TABLE agreements DROP COLUMN told;
  `);
}
