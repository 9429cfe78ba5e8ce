import type { Knex } from 'knex';

/**
 * The books are chained: each row's hash is over its content and the hash of the row before it. A
 * signed head says how far each chain had come, and with which hash.
 *
 * Rows are chained afterwards, by a job, in tables of their own: whoever writes them waits for
 * nothing, and does nothing more than before.
 */

/** Of each stream, the table that has its links, and the type of its rows' ids. */
const LINKS = { ledger_chain: 'bigint', event_chain: 'text', act_chain: 'bigint' };

export async function up(knex: Knex): Promise<void> {
  for (const [table, type] of Object.entries(LINKS)) {
    await knex.raw(`
      CREATE TABLE ${table} (
        -- Counts from 1 without gaps, in the order of chaining.
        n      bigint PRIMARY KEY CHECK (n > 0),
        row_id ${type} NOT NULL UNIQUE,
        hash   bytea NOT NULL CHECK (length(hash) = 32)
      );
      CREATE TRIGGER ${table}_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ${table}
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting_history();
      GRANT SELECT, INSERT ON ${table} TO assent_app;
    `);
  }
  await knex.raw(`
    CREATE TABLE chain_keys (
      kid                text PRIMARY KEY,
      private_key_sealed bytea NOT NULL,
      public_jwk         jsonb NOT NULL,
      created_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
      retired_at         timestamptz
    );
    -- One key signs at a time: of two processes that both make the first, one loses here.
    CREATE UNIQUE INDEX chain_keys_one_current ON chain_keys ((true)) WHERE retired_at IS NULL;

    CREATE TABLE chain_heads (
      number      bigint PRIMARY KEY CHECK (number > 0),
      -- In the network's zone, when it was signed.
      day         date NOT NULL,
      jws         text NOT NULL,
      recorded_at timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    CREATE INDEX chain_heads_of_day ON chain_heads (day, number);
    CREATE TRIGGER chain_heads_record_time BEFORE INSERT ON chain_heads
      FOR EACH ROW EXECUTE FUNCTION set_record_time_recorded_at();
    CREATE TRIGGER chain_heads_are_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON chain_heads
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting_history();

    -- Where the next look for rows that are in no chain begins. It is for speed alone.
    CREATE TABLE chain_progress (
      stream     text PRIMARY KEY CHECK (stream IN ('ledger', 'events', 'acts')),
      -- No row up to this id can still appear.
      after      text NOT NULL,
      -- The next such id, which holds once all transactions below this number have ended.
      next_after text,
      next_xmax  xid8,
      chained_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      CHECK ((next_after IS NULL) = (next_xmax IS NULL))
    );
    INSERT INTO chain_progress (stream, after) VALUES ('ledger', '0'), ('events', ''), ('acts', '0');

    GRANT SELECT, INSERT ON chain_keys, chain_heads TO assent_app;
    GRANT UPDATE (retired_at) ON chain_keys TO assent_app;
    GRANT SELECT ON chain_progress TO assent_app;
    GRANT UPDATE (after, next_after, next_xmax, chained_at) ON chain_progress TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`DROP TABLE chain_progress, chain_heads, chain_keys, ${Object.keys(LINKS).join(', ')}`);
}
