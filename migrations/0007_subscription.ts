import type { Knex } from 'knex';

/** Lets a bank turn the pages of its customers' schedules, as their merchants do. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`CREATE INDEX schedules_of_bank ON schedules (bank_id, id DESC)`);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`DROP INDEX schedules_of_bank`);
}
