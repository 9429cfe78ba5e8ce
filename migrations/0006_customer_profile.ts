import type { Knex } from 'knex';

/**
 * What a bank adds to its customers later, and the list in which it finds them again.
 *
 * Names are searched by any part of them, for which Postgres' own pg_trgm has the index; it is a
 * trusted extension, so the database's owner may make it. Lower case is that of Unicode, whatever
 * the database's locale; the column has that collation too, for an index serves only comparisons in
 * its own.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE EXTENSION IF NOT EXISTS pg_trgm;

    ALTER TABLE customers
      ADD COLUMN middlename      text CHECK (length(middlename) BETWEEN 1 AND 200),
      ADD COLUMN display_picture text CHECK (length(display_picture) BETWEEN 1 AND 2048),
      ADD COLUMN address_sealed  bytea,
      ADD COLUMN phone_sealed    bytea,
      -- Null until the first change.
      ADD COLUMN updated_at      timestamptz CHECK (updated_at >= created_at),
      ADD COLUMN searched_names  text COLLATE "pg_c_utf8" NOT NULL GENERATED ALWAYS AS (
        lower((firstname || ' ' || coalesce(middlename || ' ', '') || lastname || ' ' || account_name)
              COLLATE "pg_c_utf8")) STORED;

    CREATE INDEX customers_by_name ON customers USING gin (searched_names gin_trgm_ops);
    CREATE INDEX customers_of_bank ON customers (bank_id, created_at, id);
    CREATE INDEX customers_of_bank_by_lastname ON customers (bank_id, lastname, id);

    GRANT UPDATE (firstname, middlename, lastname, account_name, display_picture, address_sealed, phone_sealed,
      updated_at) ON customers TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    REVOKE UPDATE (firstname, lastname, account_name) ON customers FROM assent_app;
    DROP INDEX customers_by_name, customers_of_bank, customers_of_bank_by_lastname;
    ALTER TABLE customers DROP COLUMN searched_names, DROP COLUMN middlename, DROP COLUMN display_picture,
      DROP COLUMN address_sealed, DROP COLUMN phone_sealed, DROP COLUMN updated_at;
    DROP EXTENSION pg_trgm;
  `);
}
