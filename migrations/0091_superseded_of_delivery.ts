import type { Knex } from 'knex';

/**
 * A webhook that asks a bank for several intents goes on to ask for those that were superseded when
 * the window of another one passes. They are looked for like those that are open.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE INDEX intents_asked_of_delivery ON intents (bank_delivery_id) WHERE status IN ('pending', 'superseded');
    DROP INDEX intents_open_of_delivery;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE INDEX intents_open_of_delivery ON intents (bank_delivery_id) WHERE status = 'pending';
    DROP INDEX intents_asked_of_delivery;
  `);
}
