import type { Knex } from 'knex';

/**
 * What was done to a party while a charge went on is a part of its story. A bank may have a million
 * acts on exceptions, nearly all of them on those of other charges, so these are found by their
 * exception.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE INDEX audit_events_by_time ON audit_events (entity_id, recorded_at)
      WHERE (after->>'exceptionId') IS NULL;
    CREATE INDEX audit_events_of_exception ON audit_events ((after->>'exceptionId'))
      WHERE (after->>'exceptionId') IS NOT NULL;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX audit_events_of_exception, audit_events_by_time');
}
