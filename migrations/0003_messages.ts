/**
 * The outbox to Temporal, webhooks with their endpoints and attempts, and the heartbeats of
 * workers.
 */
export const sql = `
    -- Messages of committed transactions to Temporal; rows go once it has them.
    CREATE TABLE outbox (
      id          bigint GENERATED ALWAYS AS IDENTITY,
      kind        text NOT NULL CHECK (kind IN ('start', 'signal')),
      workflow_id text NOT NULL,
      -- For a start: {type, args, attributes, summary} of the workflow.
      start       jsonb,
      not_before  timestamptz NOT NULL DEFAULT '-infinity',
      created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
      signal      text,
      rank        smallint DEFAULT 0 CHECK (rank IN (0, 1)),
      -- By bytes: it is compared for every message.
      owner_id    text COLLATE "C" DEFAULT 'none',
      PRIMARY KEY (rank, owner_id, id),
      CHECK ((kind = 'start') = (start IS NOT NULL)),
      CHECK ((kind = 'signal') = (signal IS NOT NULL))
      -- A lease rewrites the row in its page, and no index entry.
    ) WITH (fillfactor = 50);
    CREATE INDEX outbox_starts ON outbox (workflow_id) WHERE kind = 'start';
    GRANT SELECT, INSERT, UPDATE, DELETE ON outbox TO assent_app;

    -- One row: which Temporal the workflows of all that is open are in, how far they have been
    -- looked at, and when what has expired was taken away.
    CREATE TABLE temporal_state (
      only_row         boolean DEFAULT true PRIMARY KEY CHECK (only_row),
      -- The id that Temporal gave its namespace. Another one means that its data is gone.
      namespace_id     text,
      -- Set while all that is open is being started again, because Temporal has lost it.
      restarting_since timestamptz,
      -- The open row of each kind that was looked at last.
      cursors          jsonb NOT NULL DEFAULT '{}',
      installation     uuid NOT NULL DEFAULT gen_random_uuid(),
      -- When reconcile last went through some of what is open; at first, when it could have begun.
      recovered_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
      -- When sweep last took each kind away; a kind that is not there counts from begun_at.
      swept            jsonb NOT NULL DEFAULT '{}',
      begun_at         timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    GRANT SELECT, INSERT, UPDATE (namespace_id, restarting_since, cursors, recovered_at, swept)
      ON temporal_state TO assent_app;

    INSERT INTO temporal_state DEFAULT VALUES;

    CREATE TABLE worker_heartbeats (
      worker_id      text PRIMARY KEY CHECK (length(worker_id) BETWEEN 1 AND 300),
      version        text NOT NULL,
      started_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
      beat_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
      -- When Temporal last answered this worker; null until it first has.
      temporal_at    timestamptz,
      -- In hand at the last heartbeat.
      workflow_tasks int NOT NULL CHECK (workflow_tasks >= 0),
      activities     int NOT NULL CHECK (activities >= 0)
    ) WITH (fillfactor = 50);
    GRANT SELECT, INSERT, UPDATE (beat_at, temporal_at, workflow_tasks, activities),
      DELETE ON worker_heartbeats TO assent_app;

    CREATE TABLE webhook_endpoints (
      entity_id                 text PRIMARY KEY REFERENCES entities,
      url                       text CHECK (length(url) <= 2048),
      secret_encrypted          bytea NOT NULL,
      previous_secret_encrypted bytea,
      previous_secret_since     timestamptz,
      previous_secret_until     timestamptz,
      -- Set by the first failed attempt, cleared by a delivered one: a failing receiver gets no
      -- quick try.
      failing_since             timestamptz,
      -- The last event that the entity was given of its feed. It never goes back.
      feed_read_xid             xid8 NOT NULL DEFAULT '0',
      feed_read_event_id        text NOT NULL DEFAULT '',
      CHECK (num_nulls(previous_secret_encrypted, previous_secret_since, previous_secret_until) IN (0, 3))
    );
    GRANT SELECT, INSERT, UPDATE (url, secret_encrypted, previous_secret_encrypted, previous_secret_since,
      previous_secret_until, failing_since, feed_read_xid, feed_read_event_id) ON webhook_endpoints TO assent_app;

    CREATE CONSTRAINT TRIGGER webhook_endpoints_url_is_on_record AFTER UPDATE OF url ON webhook_endpoints
      DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION require_audit_event('^endpoint[.]');
    -- The schema login encrypts them anew, with one audit event for all that it encrypts.
    CREATE CONSTRAINT TRIGGER webhook_endpoints_secrets_are_on_record
      AFTER UPDATE OF secret_encrypted, previous_secret_encrypted, previous_secret_since, previous_secret_until
      ON webhook_endpoints
      DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW WHEN (NOT has_table_privilege('public.webhook_endpoints', 'TRIGGER'))
      EXECUTE FUNCTION require_audit_event('^webhook_secret[.]');

    CREATE TABLE retired_webhook_secrets (
      id               text DEFAULT (gen_random_uuid())::text PRIMARY KEY,
      entity_id        text NOT NULL REFERENCES entities,
      -- Encrypted as it was in webhook_endpoints.
      secret_encrypted bytea NOT NULL,
      -- When a rotation put another beside it, and when it was good no more.
      replaced_at      timestamptz NOT NULL,
      retired_at       timestamptz NOT NULL
    );
    CREATE INDEX retired_webhook_secrets_by_time ON retired_webhook_secrets (retired_at);
    CREATE INDEX retired_webhook_secrets_of_entity ON retired_webhook_secrets (entity_id, retired_at);
    GRANT SELECT, INSERT, DELETE ON retired_webhook_secrets TO assent_app;

    CREATE TABLE webhook_deliveries (
      id                   text PRIMARY KEY CHECK (id ~ '^dlv_'),
      -- The id of the same message in the recipient's events feed.
      event_id             text GENERATED ALWAYS AS ('evt_' || substr(id, 5)) STORED NOT NULL,
      -- Entities are never deleted. A foreign key would lock the receiver's row for each webhook.
      entity_id            text NOT NULL,
      webhook_type         text NOT NULL,
      batch_id             text CHECK (batch_id ~ '^bat_'),
      -- The exact bytes that every attempt sends, encrypted, for they hold the customer's e-mail.
      -- Encrypted bytes do not compress.
      body_encrypted       bytea STORAGE EXTERNAL NOT NULL,
      status               text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
      workflow_id          text NOT NULL,
      attempts             int NOT NULL DEFAULT 0 CHECK (attempts >= 0),
      -- Visibility order for the feed: a reader goes no further than the oldest transaction still
      -- open.
      created_xid          xid8 NOT NULL DEFAULT pg_current_xact_id(),
      -- As in events.
      commit_id            uuid NOT NULL,
      -- The ids of the events that its items tell of.
      tells                text[] NOT NULL DEFAULT '{}',
      created_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
      finished_at          timestamptz,
      -- Attempts before it was last asked for again: the table of retries counts from there.
      earlier_attempts     int NOT NULL DEFAULT 0,
      -- The old endpoint that a delivery tells of its recipient's move, and its secret. A prompt
      -- delivery is attempted once.
      old_url              text CHECK (length(old_url) <= 2048),
      old_secret_encrypted bytea,
      -- Attempts by which the recipient may have got it, those on their way included.
      sent                 int NOT NULL DEFAULT 0 CHECK (sent >= 0),
      -- An attempt has to be recorded until then; nobody else makes one meanwhile.
      claimed_until        timestamptz,
      -- When it was taken back, before a byte of it was sent and before it was read in the feed. It
      -- stays so for good.
      withdrawn_at         timestamptz,
      -- No attempt is made before. Null: at once, as nothing has failed yet.
      next_attempt_at      timestamptz,
      CHECK ((status = 'pending') = (finished_at IS NULL)),
      CHECK (earlier_attempts >= 0 AND earlier_attempts <= attempts),
      CHECK ((old_url IS NULL) = (old_secret_encrypted IS NULL)),
      CHECK (withdrawn_at IS NULL OR (status = 'failed' AND sent = 0))
      -- Each row is updated twice, in its page as long as that has room.
    ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);
    CREATE INDEX webhook_deliveries_by_time ON webhook_deliveries (entity_id, created_at, id);
    CREATE INDEX webhook_deliveries_by_type ON webhook_deliveries (entity_id, webhook_type, created_at, id);
    CREATE INDEX webhook_deliveries_of_entity ON webhook_deliveries (entity_id, created_xid, event_id);
    CREATE INDEX webhook_deliveries_of_commit ON webhook_deliveries (commit_id);
    CREATE INDEX webhook_deliveries_retried ON webhook_deliveries (id) WHERE status = 'pending' AND attempts > 0;
    -- Only deliveries that nobody has attempted yet: it stays as small as the work in hand.
    CREATE INDEX webhook_deliveries_unattempted ON webhook_deliveries (workflow_id)
      WHERE status = 'pending' AND attempts = 0;
    CREATE INDEX webhook_deliveries_failed ON webhook_deliveries (entity_id, created_at, id) WHERE status = 'failed';
    -- Deliveries that wait for their recipient to be let in again.
    CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (entity_id, id) WHERE status = 'pending';
    GRANT SELECT, INSERT, UPDATE (status, workflow_id, attempts, finished_at, earlier_attempts, old_url,
      old_secret_encrypted, sent, claimed_until, withdrawn_at, next_attempt_at), DELETE
      ON webhook_deliveries TO assent_app;

    CREATE TRIGGER webhook_deliveries_record_time BEFORE INSERT ON webhook_deliveries
      FOR EACH ROW EXECUTE FUNCTION set_record_time_created_at();

    CREATE TABLE webhook_attempts (
      delivery_id             text REFERENCES webhook_deliveries,
      n                       int CHECK (n > 0),
      at                      timestamptz NOT NULL DEFAULT clock_timestamp(),
      duration_ms             int NOT NULL CHECK (duration_ms >= 0),
      http_status             int,
      error                   text,
      reached                 text CHECK (reached IN ('no', 'maybe', 'yes')),
      -- The first 1 KiB of what the receiver said.
      response_head_encrypted bytea,
      PRIMARY KEY (delivery_id, n),
      CHECK (octet_length(response_head_encrypted) <= 4096)
    ) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);
    GRANT SELECT, INSERT, DELETE ON webhook_attempts TO assent_app;

    CREATE TRIGGER webhook_attempts_record_time BEFORE INSERT ON webhook_attempts
      FOR EACH ROW EXECUTE FUNCTION set_record_time_at();

    -- The rest of a forgotten delivery that asked for money to be moved.
    CREATE TABLE webhook_receipts (
      delivery_id   text PRIMARY KEY,
      entity_id     text NOT NULL REFERENCES entities,
      webhook_type  text NOT NULL,
      announced_at  timestamptz NOT NULL,
      -- Attempts by which the receiver may have got it.
      sent          int NOT NULL,
      -- The first attempt that was answered with a 2xx.
      delivered_at  timestamptz,
      -- The receiver had read it in its feed.
      feed_read     boolean NOT NULL DEFAULT false,
      body_sha256   bytea CHECK (length(body_sha256) = 32)
    );
    GRANT SELECT, INSERT ON webhook_receipts TO assent_app;

    CREATE TRIGGER webhook_receipts_are_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON webhook_receipts
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting_history();

    -- One row: of what was announced up to then some may be gone. A reader that stopped there gets
    -- an error.
    CREATE TABLE feed_horizon (
      only_row boolean DEFAULT true PRIMARY KEY CHECK (only_row),
      passed   timestamptz NOT NULL
    );
    GRANT SELECT, UPDATE (passed) ON feed_horizon TO assent_app;

    INSERT INTO feed_horizon (passed) VALUES ('-infinity');

    -- A webhook that asks for several charges loses each charge that ends before it is sent. A body
    -- that anybody may have seen stays as it is: the role that serves may replace it in no other
    -- way.
    CREATE FUNCTION replace_unseen_body(delivery text, body bytea) RETURNS boolean LANGUAGE sql SECURITY DEFINER
      SET search_path = pg_catalog, pg_temp AS $$
    WITH replaced AS (
      UPDATE public.webhook_deliveries d SET body_encrypted = body FROM public.webhook_endpoints w
      WHERE d.id = delivery AND w.entity_id = d.entity_id AND d.sent = 0 AND d.status <> 'delivered'
        AND (d.created_xid, d.event_id) > (w.feed_read_xid, w.feed_read_event_id)
      RETURNING d.id)
    SELECT EXISTS (SELECT FROM replaced) $$;
    REVOKE EXECUTE ON FUNCTION replace_unseen_body FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION replace_unseen_body TO assent_app;
  `;
