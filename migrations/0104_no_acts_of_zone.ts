import type { Knex } from 'knex';

/** No command corrects the zone of a database that has settled anything: no act is looked for. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX audit_events_of_zone');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE INDEX audit_events_of_zone ON audit_events (recorded_at) WHERE action = 'time_zone.corrected';
  `);
}
