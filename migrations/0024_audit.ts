import type { Knex } from 'knex';

/** Who did what is privileged: written by the transaction that did it, and never changed. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE audit_events (
      id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      -- operator:<login> for the command line, otherwise the id of the entity that called.
      actor       text NOT NULL CHECK (length(actor) BETWEEN 1 AND 200),
      action      text NOT NULL CHECK (action ~ '^[a-z_]+[.][a-z_]+$'),
      -- Whom it was done to; null for the keys of the whole service.
      entity_id   text REFERENCES entities,
      request_id  text CHECK (length(request_id) BETWEEN 1 AND 128),
      reason      text CHECK (length(reason) BETWEEN 1 AND 500),
      -- What it changed; no secret, and nothing personal, for this table is kept for good.
      before      jsonb,
      after       jsonb
    );
    CREATE INDEX audit_events_of_entity ON audit_events (entity_id, id);
    CREATE INDEX audit_events_of_actor ON audit_events (actor, id);

    CREATE TRIGGER audit_events_record_time BEFORE INSERT ON audit_events
      FOR EACH ROW EXECUTE FUNCTION set_record_time_recorded_at();
    CREATE TRIGGER audit_events_are_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_events
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting_history();

    GRANT SELECT, INSERT ON audit_events TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE audit_events');
}
