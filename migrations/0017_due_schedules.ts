import type { Knex } from 'knex';

/**
 * Workers look for what is due themselves, across all merchants; the workflow of each schedule
 * looks later.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- When, in real time, the workflow of a schedule will next look by itself, as it said at its
    -- last look. Until its first look under this migration the schedule is its workflow's alone.
    ALTER TABLE schedules ADD COLUMN looks_at timestamptz;
    GRANT UPDATE (looks_at) ON schedules TO assent_app;

    CREATE INDEX schedules_due ON schedules (acts_at) WHERE acts_at IS NOT NULL;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP INDEX schedules_due;
    ALTER TABLE schedules DROP COLUMN looks_at;
  `);
}
