import type { Knex } from 'knex';

/**
 * Which keys of the ring anything in this database hangs on, a row each: a process whose ring lacks
 * one of them, or has other bytes under its id, is told so at its start, and not by the first value
 * that it cannot open.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE sealing_keys (
      kid         text PRIMARY KEY CHECK (length(kid) BETWEEN 1 AND 32),
      -- Derived from the key, one way: the same for the same bytes, and of no use for anything
      -- else.
      check_value bytea CHECK (length(check_value) = 32),
      -- Of a key from before this table: a value that it sealed, and for which place. The first
      -- process that opens it writes the check value instead.
      sample      bytea,
      place       text,
      -- False once all is sealed by another, and only paymentIDs and deviceIds need it still.
      seals       boolean NOT NULL DEFAULT true,
      CHECK ((sample IS NULL) = (place IS NULL)),
      CHECK (check_value IS NULL OR sample IS NULL)
    );
    GRANT SELECT, INSERT ON sealing_keys TO assent_app;
    GRANT UPDATE (check_value, sample, place, seals) ON sealing_keys TO assent_app;
  `);
  for (const [table, column, place] of SEALED) {
    // One read of each table, once. min() of a row's place in the file finds one value without
    // sorting them all.
    await knex.raw(`
      INSERT INTO sealing_keys (kid, sample, place)
        SELECT k.kid, t.${column}, ${place}
        FROM (SELECT convert_from(substring(${column} FROM 3 FOR get_byte(${column}, 1)), 'UTF8') AS kid, min(ctid) AS at
              FROM ${table} WHERE ${column} IS NOT NULL GROUP BY 1) AS k JOIN ${table} t ON t.ctid = k.at
        ON CONFLICT DO NOTHING`);
  }
  await knex.raw(`
    INSERT INTO sealing_keys (kid, seals)
      SELECT payment_id_key, false FROM agreements UNION SELECT token_key, false FROM devices
      ON CONFLICT DO NOTHING`);
}

/**
 * All that is sealed, and the place that it was sealed for. What is nobody's personal data is
 * looked at first.
 */
const SEALED = [
  ['signing_keys', 'private_key_sealed', `'signing_keys.private_key:' || t.kid`],
  ['webhook_endpoints', 'secret_sealed', `'webhook_endpoints.secret:' || t.entity_id`],
  ['webhook_endpoints', 'previous_secret_sealed', `'webhook_endpoints.secret:' || t.entity_id`],
  ['retired_webhook_secrets', 'secret_sealed', `'webhook_endpoints.secret:' || t.entity_id`],
  ['devices', 'fingerprint_sealed', `'devices.fingerprint_sealed:' || t.id`],
  ['customers', 'account_number_sealed', `'customers.account_number_sealed:' || t.id`],
  ['customers', 'email_sealed', `'customers.email_sealed:' || t.id`],
  ['customers', 'phone_sealed', `'customers.phone_sealed:' || t.id`],
  ['customers', 'address_sealed', `'customers.address_sealed:' || t.id`],
  ['webhook_deliveries', 'body_sealed', `'webhook_deliveries.body_sealed:' || t.id`],
  ['webhook_deliveries', 'old_secret_sealed', `'webhook_endpoints.secret:' || t.entity_id`],
  [
    'idempotency_keys',
    'answer_sealed',
    `'idempotency_keys.answer:' || t.caller_id || ' ' || t.path || ' ' || t.key`,
  ],
  [
    'idempotency_keys',
    'secret_free_sealed',
    `'idempotency_keys.answer:' || t.caller_id || ' ' || t.path || ' ' || t.key`,
  ],
  [
    'staged_customers',
    'entries_sealed',
    `'staged_customers.entries_sealed:' || t.batch_id || ' ' || t.first_index`,
  ],
] as const;

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE sealing_keys');
}
