import type { Knex } from 'knex';

/**
 * Write access to these tables makes nobody a party. Client secrets are hashed with a key of the
 * ring, which each hash names. Public keys come out of the private ones that the ring opens, and
 * are stored nowhere. A change of either is on record, or is no change.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE client_credentials
      DROP CONSTRAINT client_credentials_secret_hash_check,
      DROP CONSTRAINT client_credentials_previous_secret_hash_check;
    -- A hash without a key cannot be given one: its client needs a new secret. It names a key that
    -- no ring holds, so that nothing matches it.
    UPDATE client_credentials SET secret_hash = '\\x01046e6f6e65' || secret_hash,
      previous_secret_hash = NULL, previous_secret_until = NULL;
    ALTER TABLE client_credentials
      ADD CHECK (get_byte(secret_hash, 0) = 1 AND length(secret_hash) = 34 + get_byte(secret_hash, 1)),
      ADD CHECK (get_byte(previous_secret_hash, 0) = 1
                 AND length(previous_secret_hash) = 34 + get_byte(previous_secret_hash, 1));

    ALTER TABLE signing_keys DROP COLUMN public_jwk;
    ALTER TABLE chain_keys DROP COLUMN public_jwk;

    CREATE FUNCTION require_audit_event() RETURNS trigger LANGUAGE plpgsql
      SET search_path = pg_catalog, public, pg_temp AS $$
    DECLARE
      -- The client of an entity, or else a key of the whole service.
      changed text := to_jsonb(NEW) ->> 'entity_id';
    BEGIN
      IF NOT EXISTS (
        SELECT FROM audit_events WHERE entity_id = changed AND action LIKE TG_ARGV[0]
          AND xmin = pg_current_xact_id()::xid
      ) AND NOT EXISTS (
        SELECT FROM audit_events WHERE changed IS NULL AND entity_id IS NULL AND action LIKE TG_ARGV[0]
          AND xmin = pg_current_xact_id()::xid
      ) THEN
        RAISE EXCEPTION '% is changed together with an audit event alone', TG_TABLE_NAME
          USING ERRCODE = 'restrict_violation';
      END IF;
      RETURN NULL;
    END $$;

    CREATE CONSTRAINT TRIGGER client_credentials_are_on_record
      AFTER UPDATE OF secret_hash, previous_secret_hash, previous_secret_until ON client_credentials
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION require_audit_event('client\\_secret.%');
    CREATE CONSTRAINT TRIGGER signing_keys_are_on_record
      AFTER INSERT OR UPDATE OF retired_at, revoked_at ON signing_keys
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION require_audit_event('signing\\_key.%');
  `);
}

/** Keys of either kind are made again by whoever needs one, and client secrets by the operator. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TRIGGER client_credentials_are_on_record ON client_credentials;
    DROP TRIGGER signing_keys_are_on_record ON signing_keys;
    DROP FUNCTION require_audit_event();
    DELETE FROM signing_keys;
    DELETE FROM chain_keys;
    ALTER TABLE signing_keys ADD COLUMN public_jwk jsonb NOT NULL;
    ALTER TABLE chain_keys ADD COLUMN public_jwk jsonb NOT NULL;
    ALTER TABLE client_credentials
      DROP CONSTRAINT client_credentials_secret_hash_check,
      DROP CONSTRAINT client_credentials_previous_secret_hash_check;
    UPDATE client_credentials SET secret_hash = sha256(secret_hash),
      previous_secret_hash = NULL, previous_secret_until = NULL;
    ALTER TABLE client_credentials
      ADD CHECK (length(secret_hash) = 32), ADD CHECK (length(previous_secret_hash) = 32);
  `);
}
