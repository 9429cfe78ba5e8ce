/**
 * Customers of banks, the migrations that bring them, their devices, and what they are asked
 * about.
 */
export const sql = `
    CREATE TABLE customer_batches (
      id         text PRIMARY KEY CHECK (id ~ '^bat_'),
      bank_id    text NOT NULL REFERENCES entities,
      status     text NOT NULL CHECK (status IN ('processing', 'completed', 'failed')),
      total      int NOT NULL CHECK (total > 0),
      successful int NOT NULL DEFAULT 0 CHECK (successful >= 0),
      failed     int NOT NULL DEFAULT 0 CHECK (failed >= 0),
      duplicates int NOT NULL DEFAULT 0 CHECK (duplicates >= 0),
      created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      CHECK (((successful + failed) + duplicates) <= total),
      CHECK ((status <> 'completed') OR (((successful + failed) + duplicates) = total))
    );
    CREATE INDEX customer_batches_open ON customer_batches (id) WHERE status = 'processing';
    GRANT SELECT, INSERT, UPDATE (status, successful, failed, duplicates) ON customer_batches TO assent_app;

    CREATE TABLE customer_batch_failures (
      batch_id             text REFERENCES customer_batches,
      -- Place of the entry in the batch, from 0.
      index                int CHECK (index >= 0),
      client_ref           text CHECK (length(client_ref) BETWEEN 1 AND 200),
      reason               text NOT NULL,
      -- A later entry with this account number, or its client_ref, is a duplicate as well.
      account_number_index bytea CHECK (length(account_number_index) = 32),
      PRIMARY KEY (batch_id, index)
    );
    GRANT SELECT, INSERT ON customer_batch_failures TO assent_app;

    -- Entries of a large batch, a page a row. Written while the request arrives, before there is a
    -- batch; gone with the transaction that onboards them.
    CREATE TABLE staged_customers (
      batch_id          text CHECK (batch_id ~ '^bat_'),
      -- Place in the batch of the page's first entry.
      first_index       int CHECK (first_index >= 0),
      entries_encrypted bytea NOT NULL,
      -- The request was accepted; what stays unaccepted is of a request that broke off.
      accepted          boolean NOT NULL DEFAULT false,
      staged_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (batch_id, first_index)
    );
    CREATE INDEX staged_customers_abandoned ON staged_customers (staged_at) WHERE NOT accepted;
    GRANT SELECT, INSERT, UPDATE (accepted), DELETE ON staged_customers TO assent_app;

    CREATE EXTENSION IF NOT EXISTS pg_trgm;

    CREATE FUNCTION letters_and_pairs(names text) RETURNS text[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
      SET search_path = pg_catalog, pg_temp AS $$
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

    CREATE TABLE customers (
      id                       text PRIMARY KEY CHECK (id ~ '^cus_'),
      bank_id                  text NOT NULL REFERENCES entities,
      batch_id                 text NOT NULL REFERENCES customer_batches,
      -- The normal form: lower case, words and digits joined by hyphens.
      lookup_id                text NOT NULL UNIQUE CHECK (lookup_id ~ '^([a-z]+-){4}[0-9]{2}$'),
      client_ref               text NOT NULL CHECK (length(client_ref) BETWEEN 1 AND 200),
      firstname                text NOT NULL CHECK (length(firstname) BETWEEN 1 AND 200),
      lastname                 text NOT NULL CHECK (length(lastname) BETWEEN 1 AND 200),
      account_name             text NOT NULL CHECK (length(account_name) BETWEEN 1 AND 200),
      country                  text NOT NULL CHECK (country ~ '^[A-Z]{2}$'),
      reference                text CHECK (length(reference) BETWEEN 1 AND 200),
      email_encrypted          bytea NOT NULL,
      email_index              bytea NOT NULL CHECK (length(email_index) = 32),
      account_number_encrypted bytea NOT NULL,
      account_number_index     bytea NOT NULL CHECK (length(account_number_index) = 32),
      created_at               timestamptz NOT NULL DEFAULT clock_timestamp(),
      middlename               text CHECK (length(middlename) BETWEEN 1 AND 200),
      display_picture          text CHECK (length(display_picture) BETWEEN 1 AND 2048),
      address_encrypted        bytea,
      phone_encrypted          bytea,
      -- Null until the first change.
      updated_at               timestamptz,
      searched_names           text GENERATED ALWAYS AS (
                              lower((firstname || ' ' || coalesce(middlename || ' ', '') || lastname || ' ' || account_name)
                                COLLATE pg_c_utf8)) STORED COLLATE "pg_c_utf8" NOT NULL,
      searched_parts           text[] GENERATED ALWAYS AS (letters_and_pairs(
                              lower((firstname || ' ' || coalesce(middlename || ' ', '') || lastname || ' ' || account_name)
                                COLLATE pg_c_utf8))) STORED COLLATE "pg_c_utf8" NOT NULL,
      UNIQUE (bank_id, account_number_index),
      UNIQUE (bank_id, client_ref),
      CHECK (updated_at >= created_at)
    );
    CREATE INDEX customers_by_name ON customers USING gin (searched_names gin_trgm_ops);
    CREATE INDEX customers_by_parts ON customers USING gin (searched_parts);
    CREATE INDEX customers_of_bank ON customers (bank_id, created_at, id);
    CREATE INDEX customers_of_bank_by_lastname ON customers (bank_id, lastname, id);
    CREATE INDEX customers_of_batch ON customers (batch_id, id);
    CREATE INDEX customers_of_email ON customers (email_index, bank_id, id);
    GRANT SELECT, INSERT, UPDATE (firstname, lastname, account_name, middlename, display_picture, address_encrypted,
      phone_encrypted, updated_at) ON customers TO assent_app;

    CREATE TABLE customer_prompts (
      customer_id text REFERENCES customers,
      -- A calendar day in the network's time zone, in real time.
      day         date,
      kind        text CHECK (kind IN ('intent', 'approval')),
      prompts     int NOT NULL CHECK (prompts > 0),
      PRIMARY KEY (customer_id, day, kind)
    ) WITH (fillfactor = 50);
    CREATE INDEX customer_prompts_day ON customer_prompts (day);
    GRANT SELECT, INSERT, UPDATE (prompts), DELETE ON customer_prompts TO assent_app;

    CREATE TABLE devices (
      id                    text PRIMARY KEY CHECK (id ~ '^dev_'),
      fingerprint_encrypted bytea NOT NULL,
      fingerprint_index     bytea NOT NULL UNIQUE CHECK (length(fingerprint_index) = 32),
      -- The key that all tokens of this device are made with, however the ring rotates.
      token_key             text NOT NULL CHECK (length(token_key) BETWEEN 1 AND 32),
      created_at            timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    GRANT SELECT, INSERT ON devices TO assent_app;

    CREATE TABLE device_holders (
      device_id   text REFERENCES devices,
      holder_id   text REFERENCES entities,
      PRIMARY KEY (device_id, holder_id)
    );
    GRANT SELECT, INSERT ON device_holders TO assent_app;

    -- Kept after its end: when a payment is disputed, it matters whose the device was then.
    CREATE TABLE device_links (
      id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      device_id   text NOT NULL,
      bank_id     text NOT NULL,
      customer_id text NOT NULL REFERENCES customers,
      linked_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
      unlinked_at timestamptz,
      -- A link names its customer's phrase, which never changes: no join can look up the beginnings
      -- of phrases with devices.
      phrase      text NOT NULL,
      FOREIGN KEY (device_id, bank_id) REFERENCES device_holders(device_id, holder_id),
      CHECK (unlinked_at >= linked_at)
    );
    CREATE INDEX device_links_by_phrase ON device_links (bank_id, phrase text_pattern_ops) WHERE unlinked_at IS NULL;
    CREATE INDEX device_links_of_bank ON device_links (bank_id, linked_at, device_id) WHERE unlinked_at IS NULL;
    -- Both indexes find the beginnings of ids and phrases in any locale of the database.
    CREATE INDEX device_links_of_customer ON device_links (customer_id text_pattern_ops) WHERE unlinked_at IS NULL;
    -- One of all banks and customers that link a device at the same moment gets it.
    CREATE UNIQUE INDEX device_links_one_open ON device_links (device_id) WHERE unlinked_at IS NULL;
    GRANT SELECT, INSERT, UPDATE (device_id, unlinked_at) ON device_links TO assent_app;
  `;
