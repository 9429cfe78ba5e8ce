import type { Knex } from 'knex';

/**
 * Webhook secrets that are in use no more, for some days. What tells an old endpoint of a change
 * has to be signed so that its owner believes it, also where a thief has changed the secret first.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE retired_webhook_secrets (
      id            text PRIMARY KEY DEFAULT gen_random_uuid()::text,
      entity_id     text NOT NULL REFERENCES entities,
      -- Sealed as it was in webhook_endpoints.
      secret_sealed bytea NOT NULL,
      retired_at    timestamptz NOT NULL
    );
    CREATE INDEX retired_webhook_secrets_of_entity ON retired_webhook_secrets (entity_id, retired_at);
    CREATE INDEX retired_webhook_secrets_by_time ON retired_webhook_secrets (retired_at);
    GRANT SELECT, INSERT, DELETE ON retired_webhook_secrets TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`DROP TABLE retired_webhook_secrets`);
}
