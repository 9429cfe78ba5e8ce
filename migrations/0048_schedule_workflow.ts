import type { Knex } from 'knex';

/**
 * A schedule is charged by its own workflow alone, which is signalled where it sleeps; signals have
 * names.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE schedules DROP COLUMN looks_at;
    ALTER TABLE schedules ADD COLUMN asleep boolean NOT NULL DEFAULT false;
    -- How long after its next due moment its workflow wakes, so that those of one moment do not all
    -- wake at once. Null until it is known.
    ALTER TABLE schedules ADD COLUMN delay_ms integer CHECK (delay_ms >= 0);
    UPDATE schedules SET asleep = true WHERE acts_at IS NOT NULL;
    GRANT UPDATE (asleep, delay_ms) ON schedules TO assent_app;
    CREATE INDEX schedules_due_together ON schedules (next_due_at, delay_ms) WHERE next_due_at IS NOT NULL;

    ALTER TABLE outbox DROP CONSTRAINT outbox_kind_check;
    ALTER TABLE outbox ADD COLUMN signal text;
    UPDATE outbox SET kind = 'signal', signal = 'foundOverdue' WHERE kind = 'wake';
    UPDATE outbox SET start = jsonb_set(start, '{again}', '"foundOverdue"') WHERE start->'again' IS NOT NULL;
    ALTER TABLE outbox ADD CONSTRAINT outbox_kind_check CHECK (kind IN ('start', 'signal'));
    ALTER TABLE outbox ADD CONSTRAINT outbox_signal_check CHECK ((kind = 'signal') = (signal IS NOT NULL));
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE outbox DROP CONSTRAINT outbox_signal_check;
    ALTER TABLE outbox DROP CONSTRAINT outbox_kind_check;
    UPDATE outbox SET kind = 'wake' WHERE kind = 'signal';
    UPDATE outbox SET start = jsonb_set(start, '{again}', 'true') WHERE start->'again' IS NOT NULL;
    ALTER TABLE outbox ADD CONSTRAINT outbox_kind_check CHECK (kind IN ('start', 'wake'));
    ALTER TABLE outbox DROP COLUMN signal;

    DROP INDEX schedules_due_together;
    ALTER TABLE schedules DROP COLUMN delay_ms;
    ALTER TABLE schedules DROP COLUMN asleep;
    ALTER TABLE schedules ADD COLUMN looks_at timestamptz;
    GRANT UPDATE (looks_at) ON schedules TO assent_app;
  `);
}
