import type { Knex } from 'knex';

/**
 * What is told: the audit trail, webhooks to banks and merchants, and messages to Temporal. All
 * three are written in the transaction that changes the state they speak of.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Every transition, once, with its time and cause. Append-only: not even the owner changes
    -- history.
    CREATE TABLE events (
      id            text PRIMARY KEY CHECK (id ~ '^evt_'),
      resource_id   text NOT NULL,
      -- Counts the transitions of one resource from 1; webhook items carry it, so receivers can
      -- order them.
      sequence      int NOT NULL CHECK (sequence > 0),
      type          text NOT NULL,
      cause         text NOT NULL CHECK (cause IN ('merchant', 'provider', 'bank', 'operator', 'network')),
      -- Ids, states and amounts; nothing personal, for this table is kept for good.
      details       jsonb NOT NULL DEFAULT '{}',
      business_at   timestamptz NOT NULL,
      recorded_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
      UNIQUE (resource_id, sequence)
    );

    CREATE FUNCTION refuse_rewriting_history() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION '% is append-only: % is refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
    END $$;
    CREATE TRIGGER events_are_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON events
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting_history();

    CREATE TABLE webhook_deliveries (
      id            text PRIMARY KEY CHECK (id ~ '^dlv_'),
      -- The id of the same message in the recipient's events feed.
      event_id      text NOT NULL UNIQUE CHECK (event_id ~ '^evt_'),
      entity_id     text NOT NULL REFERENCES entities,
      webhook_type  text NOT NULL,
      batch_id      text CHECK (batch_id ~ '^bat_'),
      -- The exact bytes that every attempt sends, sealed: they hold the customer's e-mail for the
      -- bank.
      body_sealed   bytea NOT NULL,
      status        text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
      -- The workflow that makes the first attempt; from the second on it is webhook-delivery/<id>.
      carrier       text NOT NULL,
      attempts      int NOT NULL DEFAULT 0 CHECK (attempts >= 0),
      -- Visibility order for the feed: a reader goes no further than the oldest transaction still
      -- open.
      created_xid   xid8 NOT NULL DEFAULT pg_current_xact_id(),
      created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
      finished_at   timestamptz,
      CHECK ((status = 'pending') = (finished_at IS NULL))
    );
    CREATE INDEX webhook_deliveries_of_entity ON webhook_deliveries (entity_id, created_xid, event_id);
    -- Only deliveries that nobody has attempted yet: it stays as small as the work in hand.
    CREATE INDEX webhook_deliveries_unattempted ON webhook_deliveries (carrier)
      WHERE status = 'pending' AND attempts = 0;

    CREATE TABLE webhook_attempts (
      delivery_id   text NOT NULL REFERENCES webhook_deliveries,
      n             int NOT NULL CHECK (n > 0),
      at            timestamptz NOT NULL DEFAULT clock_timestamp(),
      duration_ms   int NOT NULL CHECK (duration_ms >= 0),
      http_status   int,
      error         text,
      -- The first 1 KiB of what the receiver said.
      response_head text CHECK (octet_length(response_head) <= 4096),
      PRIMARY KEY (delivery_id, n)
    );

    -- What Temporal must hear of a committed transaction; rows go once it has.
    CREATE TABLE outbox (
      id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      kind          text NOT NULL CHECK (kind IN ('start', 'wake')),
      workflow_id   text NOT NULL,
      -- For a start: {type, args, attributes, summary} of the workflow.
      start         jsonb,
      not_before    timestamptz NOT NULL DEFAULT '-infinity',
      created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
      CHECK ((kind = 'start') = (start IS NOT NULL))
    );

    GRANT SELECT, INSERT ON events TO assent_app;
    GRANT SELECT, INSERT ON webhook_deliveries, webhook_attempts TO assent_app;
    GRANT UPDATE (status, carrier, attempts, finished_at) ON webhook_deliveries TO assent_app;
    GRANT SELECT, INSERT, UPDATE, DELETE ON outbox TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE outbox, webhook_attempts, webhook_deliveries, events;
    DROP FUNCTION refuse_rewriting_history();
  `);
}
