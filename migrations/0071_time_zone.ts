import type { Knex } from 'knex';

/**
 * The zone in which the network's days begin, said once, beside the mode: a process that goes by
 * another would post to other days, count limits by them, and close other months. It is that of the
 * process that migrates. Should that have been given another than all the rest, the owner of the
 * schema may correct it; nobody else may.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE deployment ADD COLUMN time_zone text NOT NULL DEFAULT current_setting('assent.time_zone');
    ALTER TABLE deployment ALTER COLUMN time_zone DROP DEFAULT;
    DROP TRIGGER deployment_stays ON deployment;
    CREATE TRIGGER deployment_stays BEFORE UPDATE OF single, mode, recorded_at OR DELETE OR TRUNCATE ON deployment
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_another_mode();
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE deployment DROP COLUMN time_zone;
    DROP TRIGGER deployment_stays ON deployment;
    CREATE TRIGGER deployment_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON deployment
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_another_mode();
  `);
}
