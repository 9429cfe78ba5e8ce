import type { Knex } from 'knex';

/**
 * Customers, as their banks onboard them in batches.
 *
 * E-mail and account number are sealed, each with a blind index by which it is found again. Names
 * stay readable: banks search them by any part, which no blind index can do, and no merchant is
 * ever shown one.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE customer_batches (
      id          text PRIMARY KEY CHECK (id ~ '^bat_'),
      bank_id     text NOT NULL REFERENCES entities,
      status      text NOT NULL CHECK (status IN ('processing', 'completed', 'failed')),
      total       int NOT NULL CHECK (total > 0),
      successful  int NOT NULL DEFAULT 0 CHECK (successful >= 0),
      failed      int NOT NULL DEFAULT 0 CHECK (failed >= 0),
      duplicates  int NOT NULL DEFAULT 0 CHECK (duplicates >= 0),
      created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
      CHECK (successful + failed + duplicates <= total),
      CHECK (status <> 'completed' OR successful + failed + duplicates = total)
    );

    CREATE TABLE customers (
      id                    text PRIMARY KEY CHECK (id ~ '^cus_'),
      bank_id               text NOT NULL REFERENCES entities,
      batch_id              text NOT NULL REFERENCES customer_batches,
      -- The normal form: lower case, words and digits joined by hyphens.
      lookup_id             text NOT NULL UNIQUE CHECK (lookup_id ~ '^([a-z]+-){4}[0-9]{2}$'),
      client_ref            text NOT NULL CHECK (length(client_ref) BETWEEN 1 AND 200),
      firstname             text NOT NULL CHECK (length(firstname) BETWEEN 1 AND 200),
      lastname              text NOT NULL CHECK (length(lastname) BETWEEN 1 AND 200),
      account_name          text NOT NULL CHECK (length(account_name) BETWEEN 1 AND 200),
      country               text NOT NULL CHECK (country ~ '^[A-Z]{2}$'),
      reference             text CHECK (length(reference) BETWEEN 1 AND 200),
      email_sealed          bytea NOT NULL,
      email_index           bytea NOT NULL CHECK (length(email_index) = 32),
      account_number_sealed bytea NOT NULL,
      account_number_index  bytea NOT NULL CHECK (length(account_number_index) = 32),
      created_at            timestamptz NOT NULL DEFAULT clock_timestamp(),
      UNIQUE (bank_id, client_ref),
      UNIQUE (bank_id, account_number_index)
    );
    CREATE INDEX customers_by_email ON customers (email_index);

    GRANT SELECT, INSERT ON customers, customer_batches TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE customers, customer_batches');
}
