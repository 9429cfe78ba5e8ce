import type { Knex } from 'knex';

/**
 * When something was written down is evidence, and the database alone says it: whoever holds the
 * login of the API or a worker could otherwise write a past. A value that is given is passed over,
 * for the owner of the tables too.
 */
const EVIDENCE = {
  recorded_at: [
    'events',
    'intents',
    'billing_requests',
    'reconciliation_exceptions',
    'schedules',
    'refunds',
    'refund_exceptions',
  ],
  created_at: ['webhook_deliveries', 'entities', 'signing_keys'],
  at: ['webhook_attempts'],
};

const functionOf = (column: string) => `set_record_time_${column}`;

export async function up(knex: Knex): Promise<void> {
  for (const [column, tables] of Object.entries(EVIDENCE)) {
    // One function for each name of the column: plpgsql that looks a name up at run time takes ten
    // times as long.
    await knex.raw(`
      CREATE FUNCTION ${functionOf(column)}() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        NEW.${column} := clock_timestamp();
        RETURN NEW;
      END $$
    `);
    for (const table of tables) {
      await knex.raw(`
        CREATE TRIGGER ${table}_record_time BEFORE INSERT ON ${table}
          FOR EACH ROW EXECUTE FUNCTION ${functionOf(column)}()
      `);
    }
  }
}

export async function down(knex: Knex): Promise<void> {
  for (const [column, tables] of Object.entries(EVIDENCE)) {
    for (const table of tables) await knex.raw(`DROP TRIGGER ${table}_record_time ON ${table}`);
    await knex.raw(`DROP FUNCTION ${functionOf(column)}()`);
  }
}
