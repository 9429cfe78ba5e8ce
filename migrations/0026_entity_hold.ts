import type { Knex } from 'knex';

/**
 * From when to when a merchant or a bank was held, and which signing keys are good no more.
 *
 * A schedule that is not looked at when its merchant loses trust must not take the moment of its
 * look for that of the loss.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Spans in which nothing is charged for a merchant (not trusted, or disabled), or to a bank
    -- (disabled), by the clock of the merchant whose schedules they hold. Those of a schedule's
    -- agreement stay in schedule_holds.
    CREATE TABLE entity_holds (
      entity_id   text NOT NULL REFERENCES entities,
      merchant_id text NOT NULL REFERENCES entities,
      from_at     timestamptz NOT NULL,
      to_at       timestamptz CHECK (to_at >= from_at),
      PRIMARY KEY (entity_id, merchant_id, from_at)
    );
    CREATE UNIQUE INDEX entity_holds_one_open ON entity_holds (entity_id, merchant_id) WHERE to_at IS NULL;
    GRANT SELECT, INSERT ON entity_holds TO assent_app;
    GRANT UPDATE (to_at) ON entity_holds TO assent_app;

    -- What is held now goes on here: until this moment it is in the holds of each schedule.
    INSERT INTO entity_holds (entity_id, merchant_id, from_at)
      SELECT id, id, business_now(id) FROM entities
      WHERE type = 'merchant' AND (trust_level <> 'trusted' OR status <> 'active')
        AND EXISTS (SELECT FROM schedules s WHERE s.merchant_id = entities.id);
    UPDATE schedule_holds h SET to_at = greatest(business_now(s.merchant_id), h.from_at)
      FROM schedules s JOIN agreements a ON a.id = s.agreement_id
      WHERE h.schedule_id = s.id AND h.reason = 'suspended' AND h.to_at IS NULL
        AND a.decision = 'approve_recurring' AND NOT a.blocked AND a.currency = s.currency;

    -- Dead at once, with all tokens that it signed.
    ALTER TABLE signing_keys ADD COLUMN revoked_at timestamptz CHECK (revoked_at >= retired_at),
      ADD CHECK (revoked_at IS NULL OR retired_at IS NOT NULL);
    GRANT UPDATE (revoked_at) ON signing_keys TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE signing_keys DROP COLUMN revoked_at;
    INSERT INTO schedule_holds (schedule_id, reason, from_at, to_at)
      SELECT s.id, 'suspended', h.from_at, h.to_at FROM entity_holds h
        JOIN schedules s ON s.merchant_id = h.merchant_id AND h.entity_id IN (s.merchant_id, s.bank_id)
      WHERE s.status NOT IN ('completed', 'cancelled', 'failed')
      ON CONFLICT DO NOTHING;
    DROP TABLE entity_holds;
  `);
}
