/**
 * Events of each resource and the chains of hashes with their signed heads, kept for good; keys
 * that sign and encrypt.
 */
export const sql = `
    -- Every transition, once, with its time and cause. Append-only: not even the schema login
    -- changes history.
    CREATE TABLE events (
      id          text PRIMARY KEY CHECK (id ~ '^evt_'),
      resource_id text NOT NULL,
      -- Counts the transitions of one resource from 1; webhook items carry it, so receivers can
      -- order them.
      sequence    int NOT NULL CHECK (sequence > 0),
      type        text NOT NULL,
      cause       text NOT NULL CHECK (cause IN ('merchant', 'provider', 'bank', 'operator', 'network')),
      -- Ids, states and amounts; nothing personal, for this table is kept for good.
      details     jsonb NOT NULL DEFAULT '{}',
      business_at timestamptz NOT NULL,
      recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      request_id  text CHECK (request_id ~ '^[A-Za-z0-9._-]{1,128}$'),
      -- Shared by all events, webhooks and entries that one transaction has written. Numbers of
      -- transactions differ in a savepoint, and begin again in a restored database.
      commit_id   uuid NOT NULL,
      UNIQUE (resource_id, sequence)
    );
    GRANT SELECT, INSERT ON events TO assent_app;

    CREATE TRIGGER events_are_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON events
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting_history();
    CREATE TRIGGER events_record_time BEFORE INSERT ON events
      FOR EACH ROW EXECUTE FUNCTION set_record_time_recorded_at();

    CREATE TABLE ledger_chain (
      n      bigint PRIMARY KEY CHECK (n > 0),
      row_id bigint NOT NULL UNIQUE,
      hash   bytea NOT NULL CHECK (length(hash) = 32)
    );
    GRANT SELECT, INSERT ON ledger_chain TO assent_app;

    CREATE TRIGGER ledger_chain_is_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON ledger_chain
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting_history();

    CREATE TABLE event_chain (
      n      bigint PRIMARY KEY CHECK (n > 0),
      row_id text NOT NULL UNIQUE,
      hash   bytea NOT NULL CHECK (length(hash) = 32)
    );
    GRANT SELECT, INSERT ON event_chain TO assent_app;

    CREATE TRIGGER event_chain_is_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON event_chain
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting_history();

    CREATE TABLE audit_chain (
      n      bigint PRIMARY KEY CHECK (n > 0),
      row_id bigint NOT NULL UNIQUE,
      hash   bytea NOT NULL CHECK (length(hash) = 32)
    );
    GRANT SELECT, INSERT ON audit_chain TO assent_app;

    CREATE TRIGGER audit_chain_is_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON audit_chain
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting_history();

    -- The place of the next look for rows that are in no chain.
    CREATE TABLE chain_progress (
      stream     text PRIMARY KEY CHECK (stream IN ('ledger', 'events', 'audit')),
      -- No row up to this id can still appear.
      after      text NOT NULL,
      -- The next id for the mark, which holds once all transactions below this number have ended.
      next_after text NOT NULL,
      next_xmax  xid8 NOT NULL DEFAULT '3',
      chained_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      -- The last head that was signed: it is missed once it is deleted, and no other gets its number.
      last_head  bigint NOT NULL DEFAULT 0
    );
    GRANT SELECT, UPDATE (after, next_after, next_xmax, chained_at, last_head) ON chain_progress TO assent_app;

    INSERT INTO chain_progress (stream, after, next_after)
      VALUES ('ledger', '0', '0'), ('events', '', ''), ('audit', '0', '0');

    CREATE TABLE chain_heads (
      number      bigint PRIMARY KEY CHECK (number > 0),
      -- In the network's zone, when it was signed.
      day         date NOT NULL,
      jws         text NOT NULL,
      recorded_at timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    CREATE INDEX chain_heads_of_day ON chain_heads (day, number);
    GRANT SELECT, INSERT ON chain_heads TO assent_app;

    CREATE TRIGGER chain_heads_are_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON chain_heads
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting_history();
    CREATE TRIGGER chain_heads_record_time BEFORE INSERT ON chain_heads
      FOR EACH ROW EXECUTE FUNCTION set_record_time_recorded_at();

    CREATE TABLE chain_keys (
      kid                   text PRIMARY KEY,
      private_key_encrypted bytea NOT NULL,
      created_at            timestamptz NOT NULL DEFAULT clock_timestamp(),
      retired_at            timestamptz
    );
    -- One key signs at a time: of two processes that both make the first, one loses here.
    CREATE UNIQUE INDEX chain_keys_one_current ON chain_keys ((true)) WHERE retired_at IS NULL;
    GRANT SELECT, INSERT, UPDATE (retired_at) ON chain_keys TO assent_app;

    -- Its argument is the form of the actions that may make the change. Postgres would rather sort
    -- all acts of a party than read the newest.
    CREATE FUNCTION require_audit_event() RETURNS trigger LANGUAGE plpgsql
      SET search_path = pg_catalog, pg_temp SET enable_sort = off AS $$
    DECLARE
      -- An entity, or the entity of a client or an endpoint; null of the whole service.
      changed text := coalesce(to_jsonb(NEW) ->> 'entity_id', to_jsonb(NEW) ->> 'id');
    BEGIN
      -- The newest first, for a party may have a million.
      IF (
        SELECT true FROM public.audit_events WHERE entity_id = changed AND action ~ TG_ARGV[0]
          AND xmin = pg_current_xact_id()::xid ORDER BY id DESC LIMIT 1
      ) IS NULL AND (
        SELECT true FROM public.audit_events WHERE changed IS NULL AND entity_id IS NULL AND action ~ TG_ARGV[0]
          AND xmin = pg_current_xact_id()::xid ORDER BY id DESC LIMIT 1
      ) IS NULL THEN
        RAISE EXCEPTION '% is changed together with an audit event alone', TG_TABLE_NAME
          USING ERRCODE = 'restrict_violation';
      END IF;
      RETURN NULL;
    END $$;

    CREATE CONSTRAINT TRIGGER entities_status_is_on_record AFTER UPDATE OF status, token_generation ON entities
      DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION require_audit_event('^entity[.](enabled|disabled|tokens_revoked)$');
    CREATE CONSTRAINT TRIGGER entities_trust_is_on_record AFTER UPDATE OF trust_level ON entities
      DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION require_audit_event('^entity[.]trust_set$');
    CREATE CONSTRAINT TRIGGER entities_two_person_limit_is_on_record AFTER UPDATE OF two_person_above ON entities
      DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION require_audit_event('^entity[.]two_person_limit_set$');

    CREATE CONSTRAINT TRIGGER client_credentials_are_on_record
      AFTER UPDATE OF secret_hash, previous_secret_hash, previous_secret_until ON client_credentials
      DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION require_audit_event('^client_secret[.]');
    CREATE CONSTRAINT TRIGGER client_credentials_end_is_on_record AFTER UPDATE OF disabled_at ON client_credentials
      DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION require_audit_event('^client[.]disabled$');

    CREATE CONSTRAINT TRIGGER entities_persons_are_on_record AFTER UPDATE OF persons_since ON entities
      DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION require_audit_event('^person[.]');
    CREATE CONSTRAINT TRIGGER persons_are_on_record AFTER INSERT OR UPDATE OF role, disabled_at ON persons
      DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION require_audit_event('^person[.]');
    CREATE CONSTRAINT TRIGGER passkeys_are_on_record AFTER INSERT ON passkeys
      DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION require_audit_event('^person[.]passkey_made$');

    -- A transition counts its row's events, of which one has the new number.
    CREATE FUNCTION require_event() RETURNS trigger LANGUAGE plpgsql
      SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
      IF NEW.sequence <= OLD.sequence
        OR NOT EXISTS (SELECT FROM public.events WHERE resource_id = NEW.id AND sequence = NEW.sequence) THEN
        RAISE EXCEPTION '% is changed together with an event alone', NEW.id USING ERRCODE = 'restrict_violation';
      END IF;
      RETURN NULL;
    END $$;

    CREATE TABLE signing_keys (
      kid                   text PRIMARY KEY,
      private_key_encrypted bytea NOT NULL,
      created_at            timestamptz NOT NULL DEFAULT clock_timestamp(),
      retired_at            timestamptz,
      -- Dead at once, with all tokens that it signed.
      revoked_at            timestamptz,
      CHECK (retired_at >= created_at),
      CHECK (revoked_at >= retired_at),
      CHECK (revoked_at IS NULL OR retired_at IS NOT NULL)
    );
    -- One key signs at a time: of two processes that both make the first, one loses here.
    CREATE UNIQUE INDEX signing_keys_one_current ON signing_keys ((true)) WHERE retired_at IS NULL;
    GRANT SELECT, INSERT, UPDATE (retired_at, revoked_at) ON signing_keys TO assent_app;

    CREATE CONSTRAINT TRIGGER signing_keys_are_on_record
      AFTER INSERT OR UPDATE OF retired_at, revoked_at ON signing_keys DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION require_audit_event('^signing_key[.]');
    CREATE TRIGGER signing_keys_record_time BEFORE INSERT ON signing_keys
      FOR EACH ROW EXECUTE FUNCTION set_record_time_created_at();

    CREATE TABLE encryption_keys (
      kid         text PRIMARY KEY CHECK (length(kid) BETWEEN 1 AND 32),
      -- Derived from the key, one way: the same for the same bytes, and of no use for anything
      -- else.
      check_value bytea NOT NULL CHECK (length(check_value) = 32),
      -- False once all is encrypted by another, and only paymentIDs and deviceIds need it still.
      encrypts    boolean NOT NULL DEFAULT true
    );
    GRANT SELECT, INSERT, UPDATE (encrypts) ON encryption_keys TO assent_app;
  `;
