import type { Knex } from 'knex';

/**
 * Lists that read on and on to find little.
 *
 * A trigram index looks up three letters or digits in a row, and where the database's locale is C,
 * only those of ASCII: by fewer letters, or others, all customers were read. So a customer is found
 * by each letter of its names, and by each two that stand side by side, too. They are kept in the
 * row: where so many customers are found that they are better read in order, each is looked at, and
 * to take its names apart takes longer than to read it.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE FUNCTION letters_and_pairs(names text) RETURNS text[]
      LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
    DECLARE
      letters text[] := string_to_array(names, NULL);
      parts text[] := letters;
    BEGIN
      FOR i IN 2 .. cardinality(letters) LOOP
        parts := parts || (letters[i - 1] || letters[i]);
      END LOOP;
      -- The quickest way to have each once.
      RETURN tsvector_to_array(array_to_tsvector(parts));
    END $$;
    ALTER TABLE customers ADD COLUMN searched_parts text[] COLLATE "pg_c_utf8" NOT NULL GENERATED ALWAYS AS (
      letters_and_pairs(lower((firstname || ' ' || coalesce(middlename || ' ', '') || lastname || ' ' || account_name)
                              COLLATE "pg_c_utf8"))) STORED;
    CREATE INDEX customers_by_parts ON customers USING gin (searched_parts);

    -- What a webhook asked for is looked up by the webhook: a merchant may have many open intents.
    CREATE INDEX intents_open_of_delivery ON intents (bank_delivery_id) WHERE status = 'pending';

    -- A link names its customer's phrase, which is for good: no join can look up the beginnings of
    -- those that have devices.
    ALTER TABLE device_links ADD COLUMN phrase text;
    UPDATE device_links l SET phrase = c.lookup_id FROM customers c WHERE c.id = l.customer_id;
    ALTER TABLE device_links ALTER COLUMN phrase SET NOT NULL;
    CREATE INDEX device_links_by_phrase ON device_links (bank_id, phrase text_pattern_ops) WHERE unlinked_at IS NULL;
    DROP INDEX customers_by_phrase;

    -- One index for all states in place of one for the few: it counts the many, too, and tells two
    -- kinds of few apart.
    DROP INDEX refunds_unsettled_of_bank, refunds_unsettled_of_merchant, webhook_deliveries_undelivered;
    CREATE INDEX refunds_of_bank_by_status ON refunds (bank_id, status, created_at DESC, id DESC);
    CREATE INDEX refunds_of_merchant_by_status ON refunds (merchant_id, status, created_at DESC, id DESC);
    CREATE INDEX refunds_of_provider_by_status ON refunds (provider_id, status, created_at DESC, id DESC)
      WHERE provider_id IS NOT NULL;
    CREATE INDEX webhook_deliveries_undelivered ON webhook_deliveries (entity_id, status, created_at DESC, id DESC)
      WHERE status <> 'delivered';
    -- A provider's as a merchant's.
    CREATE INDEX billing_requests_declined_of_provider ON billing_requests (provider_id, created_at DESC, id DESC)
      WHERE status = 'declined' AND provider_id IS NOT NULL;
    CREATE INDEX schedules_of_provider_by_status ON schedules (provider_id, status, id DESC)
      WHERE provider_id IS NOT NULL;
    -- A large bank and a large merchant may have little to do with each other.
    CREATE INDEX billing_requests_of_bank_and_merchant ON billing_requests (bank_id, merchant_id, created_at DESC, id DESC)
      WHERE merchant_id IS NOT NULL;
    CREATE INDEX refunds_of_bank_and_merchant ON refunds (bank_id, merchant_id, created_at DESC, id DESC);
    -- What a bank's customers pay each other is found as the payer's: here it only stood in the
    -- way.
    DROP INDEX billing_requests_of_payee_bank;
    CREATE INDEX billing_requests_of_payee_bank ON billing_requests (payee_bank_id, created_at DESC, id DESC)
      WHERE payee_bank_id <> bank_id;
    CREATE INDEX billing_requests_of_payee_bank_by_status ON billing_requests (payee_bank_id, status, created_at DESC, id DESC)
      WHERE payee_bank_id <> bank_id;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP INDEX intents_open_of_delivery, billing_requests_of_payee_bank_by_status, billing_requests_of_payee_bank;
    CREATE INDEX billing_requests_of_payee_bank ON billing_requests (payee_bank_id, created_at DESC, id DESC)
      WHERE payee_bank_id IS NOT NULL;
    DROP INDEX refunds_of_bank_and_merchant, billing_requests_of_bank_and_merchant, schedules_of_provider_by_status,
      billing_requests_declined_of_provider, webhook_deliveries_undelivered, refunds_of_provider_by_status,
      refunds_of_merchant_by_status, refunds_of_bank_by_status;
    CREATE INDEX webhook_deliveries_undelivered ON webhook_deliveries (entity_id, created_at DESC, id DESC)
      WHERE status <> 'delivered';
    CREATE INDEX refunds_unsettled_of_merchant ON refunds (merchant_id, created_at DESC, id DESC)
      WHERE status <> 'completed';
    CREATE INDEX refunds_unsettled_of_bank ON refunds (bank_id, created_at DESC, id DESC) WHERE status <> 'completed';
    CREATE INDEX customers_by_phrase ON customers (bank_id, lookup_id text_pattern_ops);
    ALTER TABLE device_links DROP COLUMN phrase;
    ALTER TABLE customers DROP COLUMN searched_parts;
    DROP FUNCTION letters_and_pairs;
  `);
}
