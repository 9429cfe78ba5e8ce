import type { Knex } from 'knex';

/**
 * What has been migrated is no secret: `assent doctor` says from it which part of a schema lacks.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`GRANT SELECT (name) ON knex_migrations TO assent_app`);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`REVOKE SELECT (name) ON knex_migrations FROM assent_app`);
}
