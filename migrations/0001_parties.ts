/**
 * Banks, merchants and providers, with their credentials and persons. Mode and time zone of the
 * database. Idempotency keys, rate limits, business clocks, and audit events.
 */
export const sql = `
    -- Clusters older than Postgres 15 let everybody create in this schema. Production names the
    -- statement to run if another role owns it.
    REVOKE CREATE ON SCHEMA public FROM PUBLIC;

    -- Roles belong to the whole cluster: another of its databases may be migrating at this moment.
    -- A schema login that may make no roles finds it made, with the logins.
    DO $$
    BEGIN
      IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'assent_app') THEN
        CREATE ROLE assent_app NOLOGIN;
      END IF;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END $$;
    -- One login that both owns and serves must be able to take the role. A superuser always is, and
    -- a schema login that may not hand the role out does not need it.
    DO $$
    BEGIN
      IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        EXECUTE format('GRANT assent_app TO %I', current_user);
      END IF;
    EXCEPTION WHEN insufficient_privilege OR unique_violation THEN NULL;
    END $$;
    -- A temporary table comes before one of the schema in a caller's search path, so only the
    -- schema login may make any. Production names the statement to run if another role owns the
    -- database.
    DO $$
    BEGIN
      IF (SELECT pg_has_role(datdba, 'USAGE') FROM pg_database WHERE datname = current_database()) THEN
        EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC, assent_app', current_database());
      END IF;
    END $$;

    GRANT USAGE ON SCHEMA public TO assent_app;
    GRANT SELECT (name) ON knex_migrations TO assent_app;

    CREATE DOMAIN amount AS bigint CHECK (VALUE > 0 AND VALUE <= 1000000000000);
    CREATE DOMAIN currency AS text CHECK (VALUE ~ '^[A-Z]{3}$');

    CREATE FUNCTION set_record_time_at() RETURNS trigger LANGUAGE plpgsql
      SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
      NEW.at := clock_timestamp();
      RETURN NEW;
    END $$;

    CREATE FUNCTION set_record_time_created_at() RETURNS trigger LANGUAGE plpgsql
      SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
      NEW.created_at := clock_timestamp();
      RETURN NEW;
    END $$;

    CREATE FUNCTION set_record_time_recorded_at() RETURNS trigger LANGUAGE plpgsql
      SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
      NEW.recorded_at := clock_timestamp();
      RETURN NEW;
    END $$;

    CREATE FUNCTION refuse_rewriting_history() RETURNS trigger LANGUAGE plpgsql
      SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
      RAISE EXCEPTION '% is append-only: % is refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
    END $$;

    CREATE TABLE deployment (
      single      boolean DEFAULT true PRIMARY KEY CHECK (single),
      mode        text NOT NULL CHECK (mode IN ('sandbox', 'production')),
      recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      time_zone   text NOT NULL
    );
    GRANT SELECT ON deployment TO assent_app;

    INSERT INTO deployment (mode, time_zone)
      VALUES (current_setting('assent.mode'), current_setting('assent.time_zone'));

    CREATE FUNCTION refuse_another_mode() RETURNS trigger LANGUAGE plpgsql
      SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
      RAISE EXCEPTION 'the mode of a database is never changed' USING ERRCODE = 'restrict_violation';
    END $$;

    CREATE TRIGGER deployment_stays BEFORE DELETE OR UPDATE OF single, mode, recorded_at OR TRUNCATE ON deployment
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_another_mode();

    CREATE TABLE entities (
      id               text PRIMARY KEY,
      type             text NOT NULL CHECK (type IN ('bank', 'merchant', 'provider')),
      name             text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
      -- The public profile of a merchant, sent to banks with each intent: business data, so not
      -- encrypted.
      email            text CHECK (length(email) <= 254),
      website          text CHECK (length(website) <= 2048),
      icon             text CHECK (length(icon) <= 2048),
      provider_id      text REFERENCES entities CHECK (left(provider_id, 4) = 'prv_'),
      client_ref       text CHECK (length(client_ref) BETWEEN 1 AND 200),
      trust_level      text NOT NULL DEFAULT 'untrusted' CHECK (trust_level IN ('untrusted', 'trusted')),
      status           text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
      -- The sandbox test clock: how far this biller's business time runs ahead, and where an
      -- advance goes.
      clock_offset     interval NOT NULL DEFAULT '0' CHECK (clock_offset >= '0'),
      clock_target     timestamptz,
      created_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
      -- A token names its generation, and is good while the entity has the same. Counting needs no
      -- clock: times in tokens are whole seconds, by the clock of the process that issued them.
      token_generation int NOT NULL DEFAULT 0 CHECK (token_generation >= 0),
      -- When a test clock last moved, in real time: what a jump made due is not late by the whole
      -- jump.
      clock_moved_at   timestamptz,
      -- Since then persons alone sign in to the console: an admin of it has had a passkey.
      persons_since    timestamptz,
      -- By currency the minor units, as text, above which a person's act waits for another person.
      two_person_above jsonb CHECK (jsonb_typeof(two_person_above) = 'object' AND two_person_above <> '{}'),
      UNIQUE (provider_id, client_ref),
      CHECK (left(id, 4) = CASE type WHEN 'bank' THEN 'bnk_' WHEN 'merchant' THEN 'mch_' ELSE 'prv_' END),
      CHECK (type = 'merchant' OR (provider_id IS NULL AND trust_level = 'untrusted')),
      CHECK (client_ref IS NULL OR provider_id IS NOT NULL)
    );
    CREATE INDEX merchants_by_name ON entities (name, id) WHERE type = 'merchant';
    CREATE INDEX entities_advancing ON entities (id) WHERE clock_target IS NOT NULL;
    CREATE INDEX entities_ahead ON entities (clock_offset) WHERE clock_offset > '0';
    CREATE INDEX entities_without_persons ON entities (id) WHERE persons_since IS NULL AND status = 'active';
    -- Whether any has been moved is asked at each new connection of production.
    CREATE INDEX entities_moved_clock ON entities (id) WHERE clock_offset <> '0' OR clock_target IS NOT NULL;
    GRANT SELECT, INSERT (id, type, name, email, website, icon, provider_id, client_ref),
      UPDATE (trust_level, status, clock_offset, clock_target, token_generation, clock_moved_at, persons_since,
        two_person_above) ON entities TO assent_app;

    CREATE FUNCTION refuse_moved_clock() RETURNS trigger LANGUAGE plpgsql
      SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
      IF (SELECT mode FROM public.deployment) = 'sandbox' THEN RETURN NEW; END IF;
      RAISE EXCEPTION 'no clock moves in production' USING ERRCODE = 'restrict_violation';
    END $$;

    CREATE TRIGGER entities_clock_stays BEFORE INSERT OR UPDATE OF clock_offset, clock_target ON entities
      FOR EACH ROW WHEN (NEW.clock_offset <> '0' OR NEW.clock_target IS NOT NULL)
      EXECUTE FUNCTION refuse_moved_clock();
    CREATE TRIGGER entities_record_time BEFORE INSERT ON entities
      FOR EACH ROW EXECUTE FUNCTION set_record_time_created_at();

    -- Business time of a biller: the database's clock plus the biller's test-clock offset. Null for
    -- an unknown biller, so every comparison with it fails.
    CREATE FUNCTION business_now(biller text) RETURNS timestamptz LANGUAGE sql
      SET search_path = pg_catalog, pg_temp
      RETURN (SELECT clock_timestamp() + clock_offset FROM public.entities WHERE id = biller);

    -- The two halves of the lock's key. Locks with two keys are used for nothing else.
    CREATE FUNCTION settling_biller(biller text) RETURNS int LANGUAGE sql IMMUTABLE
      SET search_path = pg_catalog, pg_temp
      RETURN (hashtextextended(biller, 0) & 2147483647)::int;

    -- In every zone days begin with a quarter of an hour.
    CREATE FUNCTION settling_quarter(moment timestamptz) RETURNS int LANGUAGE sql STABLE
      SET search_path = pg_catalog, pg_temp
      RETURN floor(extract(epoch FROM moment) / 900)::int;

    CREATE FUNCTION settling_now(biller text) RETURNS timestamptz LANGUAGE plpgsql
      SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
      PERFORM pg_advisory_xact_lock_shared(public.settling_biller(biller),
        public.settling_quarter(public.business_now(biller)));
      RETURN public.business_now(biller);
    END $$;

    -- Whether anything may still settle before the moment, by this biller's clock, or by anybody's
    -- where it is null. Later entities begin with real time. The clock is that of the statement's
    -- begin, which is before the locks are looked at. A later statement reads all of it.
    CREATE FUNCTION may_settle_before(moment timestamptz, biller text) RETURNS boolean LANGUAGE sql
      SET search_path = pg_catalog, pg_temp
      RETURN statement_timestamp() + coalesce((SELECT clock_offset FROM public.entities WHERE id = biller), '0') < moment
        OR EXISTS (
          SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND objid::bigint <= public.settling_quarter(moment - interval '1 microsecond')
            AND (biller IS NULL OR classid::bigint = public.settling_biller(biller)));

    CREATE TABLE audit_events (
      id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      recorded_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
      -- operator:<login> for the command line, otherwise the id of the entity that called, or of the
      -- person who called for it.
      actor          text NOT NULL CHECK (length(actor) BETWEEN 1 AND 200),
      action         text NOT NULL CHECK (action ~ '^[a-z_]+[.][a-z_]+$'),
      -- Whom it was done to; null for the keys of the whole service.
      entity_id      text REFERENCES entities,
      request_id     text CHECK (length(request_id) BETWEEN 1 AND 128),
      reason         text CHECK (length(reason) BETWEEN 1 AND 500),
      -- Neither has a secret or anything personal, for this table is kept for good.
      before         jsonb,
      after          jsonb,
      own_request_id uuid
    );
    CREATE INDEX audit_events_by_time ON audit_events (entity_id, recorded_at)
      WHERE (after ->> 'exceptionId') IS NULL AND (after ->> 'commitId') IS NULL;
    CREATE INDEX audit_events_of_actor ON audit_events (actor, id);
    CREATE INDEX audit_events_of_entity ON audit_events (entity_id, id);
    CREATE INDEX audit_events_of_exception ON audit_events (((after ->> 'exceptionId')))
      WHERE (after ->> 'exceptionId') IS NOT NULL;
    -- The act of a person by which the transaction of another event came.
    CREATE INDEX audit_events_of_commit ON audit_events (((after ->> 'commitId')))
      WHERE (after ->> 'commitId') IS NOT NULL;
    CREATE INDEX audit_events_of_period ON audit_events (((after ->> 'month')), id)
      WHERE action IN ('period.closed', 'period.reopened');
    GRANT SELECT, INSERT ON audit_events TO assent_app;

    CREATE TRIGGER audit_events_are_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON audit_events
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting_history();
    CREATE TRIGGER audit_events_record_time BEFORE INSERT ON audit_events
      FOR EACH ROW EXECUTE FUNCTION set_record_time_recorded_at();

    -- Spans without charges for a merchant (not trusted, or disabled) or a disabled bank. Their
    -- clock is the merchant's whose schedules they hold. The holds of a schedule's agreement stay
    -- in schedule_holds.
    CREATE TABLE entity_holds (
      entity_id   text REFERENCES entities,
      merchant_id text REFERENCES entities,
      from_at     timestamptz,
      to_at       timestamptz,
      PRIMARY KEY (entity_id, merchant_id, from_at),
      CHECK (to_at >= from_at)
    );
    CREATE UNIQUE INDEX entity_holds_one_open ON entity_holds (entity_id, merchant_id) WHERE to_at IS NULL;
    GRANT SELECT, INSERT, UPDATE (to_at) ON entity_holds TO assent_app;

    CREATE TABLE client_credentials (
      client_id             text PRIMARY KEY CHECK (left(client_id, 4) = 'cli_'),
      entity_id             text NOT NULL REFERENCES entities,
      name                  text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
      scopes                text[] NOT NULL
                            CHECK (scopes <> '{}' AND scopes <@ '{read,bill,refund,manage}'),
      secret_hash           bytea NOT NULL
                            CHECK (get_byte(secret_hash, 0) = 1
                              AND length(secret_hash) = 34 + get_byte(secret_hash, 1)),
      -- The secret before the last rotation, good until then.
      previous_secret_hash  bytea
                            CHECK (get_byte(previous_secret_hash, 0) = 1
                              AND length(previous_secret_hash) = 34 + get_byte(previous_secret_hash, 1)),
      previous_secret_until timestamptz,
      created_at            timestamptz NOT NULL DEFAULT clock_timestamp(),
      -- For good: another client takes its place.
      disabled_at           timestamptz,
      CHECK ((previous_secret_hash IS NULL) = (previous_secret_until IS NULL))
    );
    CREATE INDEX client_credentials_of_entity ON client_credentials (entity_id, created_at);
    CREATE UNIQUE INDEX client_credentials_one_of_name ON client_credentials (entity_id, name)
      WHERE disabled_at IS NULL;
    GRANT SELECT, INSERT, UPDATE (secret_hash, previous_secret_hash, previous_secret_until,
      disabled_at) ON client_credentials TO assent_app;

    CREATE TRIGGER client_credentials_record_time BEFORE INSERT ON client_credentials
      FOR EACH ROW EXECUTE FUNCTION set_record_time_created_at();

    -- People who act for an entity in the console.
    CREATE TABLE persons (
      id              text PRIMARY KEY CHECK (left(id, 4) = 'psn_'),
      entity_id       text NOT NULL REFERENCES entities,
      role            text NOT NULL CHECK (role IN ('viewer', 'clerk', 'admin')),
      email_encrypted bytea NOT NULL,
      email_index     bytea NOT NULL CHECK (length(email_index) = 32),
      disabled_at     timestamptz,
      created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
      UNIQUE (entity_id, email_index)
    );
    GRANT SELECT, INSERT (id, entity_id, role, email_encrypted, email_index),
      UPDATE (role, disabled_at) ON persons TO assent_app;

    CREATE TRIGGER persons_record_time BEFORE INSERT ON persons
      FOR EACH ROW EXECUTE FUNCTION set_record_time_created_at();

    CREATE TABLE passkeys (
      -- In base64url. A session names its passkey, in a cookie that browsers keep up to 4 kB.
      credential_id        text PRIMARY KEY CHECK (length(credential_id) BETWEEN 1 AND 700),
      person_id            text NOT NULL REFERENCES persons,
      -- Of the person.
      entity_id            text NOT NULL REFERENCES entities,
      -- COSE, in base64.
      public_key_encrypted bytea NOT NULL CHECK (length(public_key_encrypted) <= 4096),
      -- Uses that the authenticator has counted; many count none.
      counter              bigint NOT NULL CHECK (counter >= 0),
      created_at           timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    CREATE INDEX passkeys_of_person ON passkeys (person_id);
    GRANT SELECT, INSERT (credential_id, person_id, entity_id, public_key_encrypted, counter), UPDATE (counter),
      DELETE ON passkeys TO assent_app;

    CREATE TRIGGER passkeys_record_time BEFORE INSERT ON passkeys
      FOR EACH ROW EXECUTE FUNCTION set_record_time_created_at();

    -- A person's latest, until it is used.
    CREATE TABLE invitations (
      person_id  text PRIMARY KEY REFERENCES persons,
      token_hash bytea NOT NULL CHECK (length(token_hash) = 32),
      expires_at timestamptz NOT NULL
    );
    GRANT SELECT, INSERT, UPDATE (token_hash, expires_at), DELETE ON invitations TO assent_app;

    CREATE TABLE ended_console_sessions (
      id      text PRIMARY KEY CHECK (length(id) <= 40),
      ends_at timestamptz NOT NULL
    );
    CREATE INDEX ended_console_sessions_by_end ON ended_console_sessions (ends_at);
    GRANT SELECT, INSERT, UPDATE (ends_at), DELETE ON ended_console_sessions TO assent_app;

    CREATE TABLE idempotency_keys (
      caller_id             text,
      path                  text,
      key                   text CHECK (length(key) BETWEEN 1 AND 255),
      request_hash          bytea NOT NULL CHECK (length(request_hash) = 32),
      http_status           int NOT NULL CHECK (http_status BETWEEN 200 AND 499),
      answer_encrypted      bytea NOT NULL,
      -- Only where the answer holds secrets: what is shown once the hour for showing them again is
      -- over.
      secret_free_encrypted bytea,
      -- As in events: of the transaction that did the work.
      commit_id             uuid NOT NULL,
      created_at            timestamptz NOT NULL DEFAULT clock_timestamp(),
      expires_at            timestamptz NOT NULL,
      PRIMARY KEY (caller_id, path, key),
      CHECK (expires_at > created_at)
    ) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);
    CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);
    CREATE INDEX idempotency_keys_with_secrets ON idempotency_keys (created_at) WHERE secret_free_encrypted IS NOT NULL;
    GRANT SELECT, INSERT, UPDATE, DELETE ON idempotency_keys TO assent_app;

    -- Token buckets. A crash of Postgres empties the table, which only fills the buckets again.
    CREATE UNLOGGED TABLE rate_limits (
      key      text PRIMARY KEY,
      full_at  timestamptz NOT NULL,
      asked_at timestamptz NOT NULL,
      taken    int NOT NULL DEFAULT 0
    ) WITH (fillfactor = 50);
    CREATE INDEX rate_limits_full ON rate_limits (full_at);
    GRANT SELECT, INSERT, UPDATE, DELETE ON rate_limits TO assent_app;

    -- Money that a person moved alone while the entity had a limit, and each act that waited for a
    -- second person.
    CREATE TABLE person_acts (
      id                text PRIMARY KEY CHECK (id ~ '^act_'),
      entity_id         text NOT NULL REFERENCES entities,
      person_id         text NOT NULL REFERENCES persons,
      -- The row of the API's table, and the lowest role that may call it.
      operation         text NOT NULL,
      least_role        text NOT NULL CHECK (least_role IN ('clerk', 'admin')),
      -- Path and body as they were accepted; they may name a person.
      request_encrypted bytea,
      -- Null where the act moves none.
      amount            amount,
      currency          currency,
      state             text NOT NULL
                        CHECK (state IN ('alone', 'waiting', 'approved', 'refused', 'lapsed')),
      decided_by        text REFERENCES persons,
      decided_at        timestamptz,
      -- The code by which the approved act itself was refused.
      refusal           text,
      created_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
      CHECK ((amount IS NULL) = (currency IS NULL)),
      CHECK ((state = 'alone') = (request_encrypted IS NULL)),
      CHECK (num_nonnulls(decided_by, decided_at) = CASE WHEN state IN ('approved', 'refused') THEN 2 ELSE 0 END),
      CHECK (refusal IS NULL OR state = 'refused'),
      CONSTRAINT person_acts_two_persons CHECK (state <> 'approved' OR decided_by <> person_id)
    );
    CREATE INDEX person_acts_by_time ON person_acts (created_at);
    CREATE INDEX person_acts_done_alone ON person_acts (person_id, currency, created_at) WHERE state = 'alone';
    CREATE INDEX person_acts_waiting ON person_acts (person_id, created_at) WHERE state = 'waiting';
    CREATE INDEX person_acts_of_entity ON person_acts (entity_id, created_at) WHERE state <> 'alone';
    GRANT SELECT, INSERT, UPDATE (state, decided_by, decided_at, refusal), DELETE ON person_acts TO assent_app;

    CREATE TRIGGER person_acts_record_time BEFORE INSERT ON person_acts
      FOR EACH ROW EXECUTE FUNCTION set_record_time_created_at();
  `;
