import type { Knex } from 'knex';

/** Each worker says every few seconds that it lives. One that was frozen or killed falls silent. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE worker_heartbeats (
      worker_id      text PRIMARY KEY CHECK (length(worker_id) BETWEEN 1 AND 300),
      version        text NOT NULL,
      started_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
      beat_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
      -- When Temporal last answered this worker; null until it first has.
      temporal_at    timestamptz,
      -- What the worker had in hand at its last beat.
      workflow_tasks int NOT NULL CHECK (workflow_tasks >= 0),
      activities     int NOT NULL CHECK (activities >= 0)
    ) WITH (fillfactor = 50);

    GRANT SELECT, INSERT, DELETE ON worker_heartbeats TO assent_app;
    GRANT UPDATE (beat_at, temporal_at, workflow_tasks, activities) ON worker_heartbeats TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`DROP TABLE worker_heartbeats`);
}
