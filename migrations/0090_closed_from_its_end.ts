import type { Knex } from 'knex';

/**
 * A closed month takes no entry from the moment on that it is closed, also none for its last days.
 * Which month it is depends on the zone, which may be corrected; where days begin first it is
 * fourteen hours ahead of UTC. Of the month that it is there nothing is closed anywhere, so entries
 * of it, which nearly all are, look nothing up.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TRIGGER ledger_entries_closed ON ledger_entries;
    CREATE TRIGGER ledger_entries_closed BEFORE INSERT ON ledger_entries FOR EACH ROW
      WHEN (NEW.settlement_day < date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC' + interval '14 hours')::date)
      EXECUTE FUNCTION refuse_closed_period();
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TRIGGER ledger_entries_closed ON ledger_entries;
    CREATE TRIGGER ledger_entries_closed BEFORE INSERT ON ledger_entries
      FOR EACH ROW WHEN (NEW.settlement_day < current_date - 1) EXECUTE FUNCTION refuse_closed_period();
  `);
}
