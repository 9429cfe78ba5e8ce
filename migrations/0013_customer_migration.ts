import type { Knex } from 'knex';

/**
 * Large batches of customers: what waits to be onboarded, and what became of the entries that were
 * not.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- Entries of a large batch, a page a row. Written while the request arrives, before there is a
    -- batch; gone with the transaction that onboards them.
    CREATE TABLE staged_customers (
      batch_id       text NOT NULL CHECK (batch_id ~ '^bat_'),
      -- Place in the batch of the page's first entry.
      first_index    int NOT NULL CHECK (first_index >= 0),
      entries_sealed bytea NOT NULL,
      -- The request was accepted; what stays unaccepted is of a request that broke off.
      accepted       boolean NOT NULL DEFAULT false,
      staged_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (batch_id, first_index)
    );
    CREATE INDEX staged_customers_abandoned ON staged_customers (staged_at) WHERE NOT accepted;

    CREATE TABLE customer_batch_failures (
      batch_id             text NOT NULL REFERENCES customer_batches,
      -- Place of the entry in the batch, from 0.
      index                int NOT NULL CHECK (index >= 0),
      client_ref           text CHECK (length(client_ref) BETWEEN 1 AND 200),
      reason               text NOT NULL,
      -- Of a duplicate: a later entry with this account number, or its client_ref, is one as well.
      account_number_index bytea CHECK (length(account_number_index) = 32),
      PRIMARY KEY (batch_id, index)
    );
    CREATE INDEX customers_of_batch ON customers (batch_id, id);

    GRANT SELECT, INSERT, DELETE ON staged_customers TO assent_app;
    GRANT UPDATE (accepted) ON staged_customers TO assent_app;
    GRANT SELECT, INSERT ON customer_batch_failures TO assent_app;
    GRANT UPDATE (status, successful, failed, duplicates) ON customer_batches TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    REVOKE UPDATE (status, successful, failed, duplicates) ON customer_batches FROM assent_app;
    DROP INDEX customers_of_batch;
    DROP TABLE customer_batch_failures, staged_customers;
  `);
}
