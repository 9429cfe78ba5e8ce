import type { Knex } from 'knex';

/**
 * The day of an entry is compared with its moment, but for what was posted before the network's
 * zone was corrected. That is done hardly ever, among any number of other acts.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE INDEX audit_events_of_zone ON audit_events (recorded_at) WHERE action = 'time_zone.corrected';
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX audit_events_of_zone');
}
