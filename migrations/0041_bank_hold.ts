import type { Knex } from 'knex';

/**
 * Banks that were disabled before 0026 have no span without charges: it began those of merchants
 * only. Once such a bank were enabled, its customers would be charged for every date that was
 * missed meanwhile, up to the arrears limit.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- As disabling a bank writes them, for each merchant that charges there. From 0026 on such a
    -- bank was charged nothing, so they begin with it, by the clock of the merchant as it stands.
    INSERT INTO entity_holds (entity_id, merchant_id, from_at)
      SELECT e.id, m.merchant_id, business_now(m.merchant_id) - (clock_timestamp() - coalesce(
        (SELECT max(migration_time) FROM knex_migrations WHERE name = '0026_entity_hold'), clock_timestamp()))
      FROM entities e CROSS JOIN LATERAL (
        SELECT DISTINCT s.merchant_id FROM schedules s
        WHERE s.bank_id = e.id AND s.status NOT IN ('completed', 'cancelled', 'failed')) AS m
      WHERE e.type = 'bank' AND e.status <> 'active'
        AND NOT EXISTS (SELECT FROM entity_holds h
                        WHERE h.entity_id = e.id AND h.merchant_id = m.merchant_id AND h.to_at IS NULL)
      ON CONFLICT DO NOTHING;
  `);
}

/** The spans stay: they are as true before this migration as after it, and go with their table. */
export function down(): Promise<void> {
  return Promise.resolve();
}
