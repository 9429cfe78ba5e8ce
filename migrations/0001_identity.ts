import type { Knex } from 'knex';

/**
 * Who takes part (banks, merchants, providers), how each proves it, and what every request needs
 * before any billing: signing keys, idempotency keys, rate limits and the clock that business time
 * is told by.
 */
export async function up(knex: Knex): Promise<void> {
  // Roles belong to the whole cluster: another of its databases may be migrating at this very
  // moment. An owner that may make no roles finds it made, by whoever set up the logins.
  await knex.raw(`
    DO $$
    BEGIN
      IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'assent_app') THEN
        CREATE ROLE assent_app NOLOGIN;
      END IF;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END $$
  `);
  // Where one login both owns and serves, it must be able to take the role, as a superuser always
  // is. An owner that may not hand the role out does not need it: whoever set up the logins has
  // granted it.
  await knex.raw(`
    DO $$
    BEGIN
      IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        EXECUTE format('GRANT assent_app TO %I', current_user);
      END IF;
    EXCEPTION WHEN insufficient_privilege OR unique_violation THEN NULL;
    END $$
  `);
  await knex.raw(`
    GRANT USAGE ON SCHEMA public TO assent_app;

    CREATE TABLE entities (
      id           text PRIMARY KEY,
      type         text NOT NULL CHECK (type IN ('bank', 'merchant', 'provider')),
      name         text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
      -- The public face of a merchant, sent to banks with each intent: business data, so not
      -- sealed.
      email        text CHECK (length(email) <= 254),
      website      text CHECK (length(website) <= 2048),
      icon         text CHECK (length(icon) <= 2048),
      provider_id  text REFERENCES entities (id),
      client_ref   text CHECK (length(client_ref) BETWEEN 1 AND 200),
      trust_level  text NOT NULL DEFAULT 'untrusted' CHECK (trust_level IN ('untrusted', 'trusted')),
      status       text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
      -- The sandbox test clock: how far this owner's business time runs ahead, and where an advance
      -- goes.
      clock_offset interval NOT NULL DEFAULT '0' CHECK (clock_offset >= '0'),
      clock_target timestamptz,
      created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
      UNIQUE (provider_id, client_ref),
      CHECK (left(id, 4) = CASE type WHEN 'bank' THEN 'bnk_' WHEN 'merchant' THEN 'mch_' ELSE 'prv_' END),
      CHECK (type = 'merchant' OR (provider_id IS NULL AND trust_level = 'untrusted')),
      CHECK (left(provider_id, 4) = 'prv_'),
      CHECK (client_ref IS NULL OR provider_id IS NOT NULL)
    );

    CREATE TABLE client_credentials (
      client_id             text PRIMARY KEY CHECK (left(client_id, 4) = 'cli_'),
      entity_id             text NOT NULL UNIQUE REFERENCES entities (id),
      secret_hash           bytea NOT NULL CHECK (length(secret_hash) = 32),
      -- The secret before the last rotation, good until then.
      previous_secret_hash  bytea CHECK (length(previous_secret_hash) = 32),
      previous_secret_until timestamptz,
      CHECK ((previous_secret_hash IS NULL) = (previous_secret_until IS NULL))
    );

    CREATE TABLE webhook_endpoints (
      entity_id              text PRIMARY KEY REFERENCES entities (id),
      url                    text CHECK (length(url) <= 2048),
      secret_sealed          bytea NOT NULL,
      previous_secret_sealed bytea,
      previous_secret_until  timestamptz,
      -- Set by the first failed attempt, cleared by a delivered one: a failing receiver gets no
      -- quick try.
      failing_since          timestamptz,
      CHECK ((previous_secret_sealed IS NULL) = (previous_secret_until IS NULL))
    );

    CREATE TABLE signing_keys (
      kid                text PRIMARY KEY,
      private_key_sealed bytea NOT NULL,
      public_jwk         jsonb NOT NULL,
      created_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
      retired_at         timestamptz CHECK (retired_at >= created_at)
    );
    -- One key signs at a time: of two processes that both make the first, one loses here.
    CREATE UNIQUE INDEX signing_keys_one_current ON signing_keys ((true)) WHERE retired_at IS NULL;

    CREATE TABLE idempotency_keys (
      caller_id          text NOT NULL REFERENCES entities (id),
      path               text NOT NULL,
      key                text NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
      request_hash       bytea NOT NULL CHECK (length(request_hash) = 32),
      http_status        integer NOT NULL CHECK (http_status BETWEEN 200 AND 499),
      answer_sealed      bytea NOT NULL,
      -- Only where the answer holds secrets: what is shown once the hour for showing them again is
      -- over.
      secret_free_sealed bytea,
      created_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
      expires_at         timestamptz NOT NULL,
      PRIMARY KEY (caller_id, path, key),
      CHECK (expires_at > created_at)
    );
    CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);
    CREATE INDEX idempotency_keys_with_secrets ON idempotency_keys (created_at) WHERE secret_free_sealed IS NOT NULL;

    -- Token buckets. A crash of Postgres empties the table, which only fills the buckets again.
    CREATE UNLOGGED TABLE rate_limits (
      key      text PRIMARY KEY,
      full_at  timestamptz NOT NULL,
      asked_at timestamptz NOT NULL,
      admitted boolean NOT NULL
    ) WITH (fillfactor = 50);
    CREATE INDEX rate_limits_full ON rate_limits (full_at);

    -- Business time of whoever owns a row: the database's clock plus the owner's test-clock offset.
    -- Unknown owner: null, so every comparison with it fails.
    CREATE FUNCTION business_now(owner text) RETURNS timestamptz LANGUAGE sql VOLATILE
      RETURN (SELECT clock_timestamp() + clock_offset FROM entities WHERE id = owner);

    GRANT SELECT, INSERT ON entities, client_credentials, webhook_endpoints, signing_keys, idempotency_keys,
      rate_limits TO assent_app;
    GRANT UPDATE (name, email, website, icon, trust_level, status, clock_offset, clock_target)
      ON entities TO assent_app;
    GRANT UPDATE (secret_hash, previous_secret_hash, previous_secret_until) ON client_credentials TO assent_app;
    GRANT UPDATE (url, secret_sealed, previous_secret_sealed, previous_secret_until, failing_since)
      ON webhook_endpoints TO assent_app;
    GRANT UPDATE (retired_at) ON signing_keys TO assent_app;
    GRANT UPDATE, DELETE ON idempotency_keys, rate_limits TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  // The role stays: other databases of the cluster may use it.
  await knex.raw(`
    DROP FUNCTION business_now(text);
    DROP TABLE rate_limits, idempotency_keys, signing_keys, webhook_endpoints, client_credentials, entities;
    REVOKE USAGE ON SCHEMA public FROM assent_app;
  `);
}
