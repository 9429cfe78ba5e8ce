import type { Knex } from 'knex';

/**
 * An installation has an id of its own, by which a namespace of Temporal knows whose it is. The row
 * is there before the first worker. Another installation's namespace is then told apart from one
 * that is new.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE temporal_state
      ADD COLUMN installation    uuid NOT NULL DEFAULT gen_random_uuid(),
      -- When reconcile last went through some of what is open; at first, when it could have begun.
      ADD COLUMN reconciled_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
      -- Where its look at schedules goes on; for all other kinds that is cursor_kind and
      -- cursor_after.
      ADD COLUMN schedules_after text NOT NULL DEFAULT '',
      -- None before the first worker.
      ALTER COLUMN namespace_id DROP NOT NULL;
    INSERT INTO temporal_state DEFAULT VALUES ON CONFLICT DO NOTHING;
    GRANT UPDATE (reconciled_at, schedules_after) ON temporal_state TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DELETE FROM temporal_state WHERE namespace_id IS NULL;
    ALTER TABLE temporal_state
      DROP COLUMN installation, DROP COLUMN reconciled_at, DROP COLUMN schedules_after,
      ALTER COLUMN namespace_id SET NOT NULL;
  `);
}
