import type { Knex } from 'knex';

/**
 * Whether a month is closed is compared with the acts that say so: a few a year, among any number
 * of others.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE INDEX audit_events_of_period ON audit_events ((after->>'month'), id)
      WHERE action IN ('period.closed', 'period.reopened');
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX audit_events_of_period');
}
