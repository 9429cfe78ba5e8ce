import type { Knex } from 'knex';

/**
 * Devices, by which a customer is recognised in a shop or on a web page.
 *
 * A device is its fingerprint: sealed, and found again by a blind index. Everybody who enrols it
 * gets a token of their own for it, which is computed and stored nowhere.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE devices (
      id                 text PRIMARY KEY CHECK (id ~ '^dev_'),
      fingerprint_sealed bytea NOT NULL,
      fingerprint_index  bytea NOT NULL UNIQUE CHECK (length(fingerprint_index) = 32),
      -- The key that all tokens of this device are made with, however the ring rotates.
      token_key          text NOT NULL CHECK (length(token_key) BETWEEN 1 AND 32),
      created_at         timestamptz NOT NULL DEFAULT clock_timestamp()
    );

    CREATE TABLE device_holders (
      device_id   text NOT NULL REFERENCES devices,
      holder_id   text NOT NULL REFERENCES entities,
      enrolled_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (device_id, holder_id)
    );

    -- Kept after its end: when a payment is disputed, it matters whose the device was then.
    CREATE TABLE device_links (
      id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      device_id   text NOT NULL,
      bank_id     text NOT NULL,
      customer_id text NOT NULL REFERENCES customers,
      linked_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
      unlinked_at timestamptz CHECK (unlinked_at >= linked_at),
      FOREIGN KEY (device_id, bank_id) REFERENCES device_holders (device_id, holder_id)
    );
    -- Of all banks and customers that link a device at the same moment, one gets it.
    CREATE UNIQUE INDEX device_links_one_open ON device_links (device_id) WHERE unlinked_at IS NULL;
    CREATE INDEX device_links_of_bank ON device_links (bank_id, linked_at, device_id) WHERE unlinked_at IS NULL;
    -- These two find the beginnings of ids and phrases, whatever the database's locale.
    CREATE INDEX device_links_of_customer ON device_links (customer_id text_pattern_ops)
      WHERE unlinked_at IS NULL;
    CREATE INDEX customers_by_phrase ON customers (bank_id, lookup_id text_pattern_ops);

    GRANT SELECT, INSERT ON devices, device_holders, device_links TO assent_app;
    -- Linking sets device_id to what it is, so as to be told by the same statement who has the
    -- device.
    GRANT UPDATE (device_id, unlinked_at) ON device_links TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP INDEX customers_by_phrase;
    DROP TABLE device_links, device_holders, devices;
  `);
}
