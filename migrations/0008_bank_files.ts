import type { Knex } from 'knex';

/**
 * What banks say that they have booked, and how it differs.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE bank_statements (
      id              text PRIMARY KEY CHECK (id ~ '^stm_'),
      bank_id         text NOT NULL REFERENCES entities,
      sha256          bytea NOT NULL CHECK (length(sha256) = 32),
      status          text NOT NULL DEFAULT 'processing' CHECK (status IN ('processing', 'completed', 'failed')),
      lines           int NOT NULL CHECK (lines >= 0),
      -- What the file is about: its days in the network's zone, and its currencies.
      first_day       date,
      last_day        date,
      currencies      text[] NOT NULL,
      -- What its lines came to so far.
      matched         int NOT NULL DEFAULT 0 CHECK (matched >= 0),
      duplicates      int NOT NULL DEFAULT 0 CHECK (duplicates >= 0),
      unknown_here    int NOT NULL DEFAULT 0 CHECK (unknown_here >= 0),
      amount_differs  int NOT NULL DEFAULT 0 CHECK (amount_differs >= 0),
      malformed       int NOT NULL DEFAULT 0 CHECK (malformed >= 0),
      missing_at_bank int NOT NULL DEFAULT 0 CHECK (missing_at_bank >= 0),
      -- How far the ledger was gone through for what no statement has.
      ledger_day      date NOT NULL DEFAULT '-infinity',
      ledger_entry_id bigint NOT NULL DEFAULT 0,
      recorded_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
      ended_at        timestamptz,
      known_first_day date,
      known_last_day  date,
      unknown_days    date[] NOT NULL DEFAULT '{}'::date[],
      dismissed_at    timestamptz,
      -- The days that the bank says the file covers, beside those of its lines.
      covered_from    date,
      covered_through date,
      exceptions      int NOT NULL DEFAULT 0 CHECK (exceptions >= 0),
      CONSTRAINT bank_statements_of_file UNIQUE NULLS NOT DISTINCT (bank_id, sha256, covered_from, covered_through),
      CHECK ((status = 'processing') = (ended_at IS NULL)),
      CHECK (((first_day IS NULL) = (last_day IS NULL)) AND (first_day <= last_day)),
      CHECK (((((matched + duplicates) + unknown_here) + amount_differs) + malformed) <= lines),
      CHECK ((status <> 'completed')
        OR (((((matched + duplicates) + unknown_here) + amount_differs) + malformed) = lines)),
      CONSTRAINT bank_statements_dismissed CHECK (dismissed_at IS NULL OR status <> 'processing')
    );
    CREATE INDEX bank_statements_of_dismissed ON bank_statements (id) WHERE dismissed_at IS NOT NULL;
    CREATE INDEX bank_statements_processing ON bank_statements (id) WHERE status = 'processing';
    GRANT SELECT, INSERT (id, bank_id, sha256, lines, first_day, last_day, currencies, covered_from, covered_through),
      UPDATE (status, matched, duplicates, unknown_here, amount_differs, malformed, missing_at_bank, ledger_day,
      ledger_entry_id, ended_at, known_first_day, known_last_day, unknown_days, dismissed_at,
      exceptions) ON bank_statements TO assent_app;

    CREATE TRIGGER bank_statements_record_time BEFORE INSERT ON bank_statements
      FOR EACH ROW EXECUTE FUNCTION set_record_time_recorded_at();

    -- Lines that each bank has sent on the latest day that it sent any.
    CREATE TABLE bank_statement_days (
      bank_id text PRIMARY KEY REFERENCES entities,
      day     date NOT NULL,
      lines   int NOT NULL CHECK (lines >= 0)
    );
    GRANT SELECT, INSERT, UPDATE (day, lines) ON bank_statement_days TO assent_app;

    CREATE TABLE bank_statement_pages (
      statement_id text CHECK (statement_id ~ '^stm_'),
      -- How many lines come before it.
      position     int CHECK (position >= 0),
      lines        jsonb NOT NULL,
      -- Until then it may be swept away.
      accepted     boolean NOT NULL DEFAULT false,
      staged_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (statement_id, position)
    );
    CREATE INDEX bank_statement_pages_staged ON bank_statement_pages (staged_at) WHERE NOT accepted;
    GRANT SELECT, INSERT (statement_id, position, lines), UPDATE (accepted), DELETE ON bank_statement_pages TO assent_app;

    -- The latest statement that has it. Of a payment between customers, its credit is another.
    CREATE TABLE bank_statement_matches (
      resource_id           text PRIMARY KEY,
      statement_id          text NOT NULL REFERENCES bank_statements,
      line                  int NOT NULL CHECK (line > 0),
      earlier_statement_ids text[] NOT NULL DEFAULT '{}'::text[]
    );
    GRANT SELECT, INSERT, UPDATE (statement_id, line, earlier_statement_ids) ON bank_statement_matches TO assent_app;

    CREATE TABLE bank_statement_differences (
      statement_id        text REFERENCES bank_statements,
      -- In the order of the file; what is missing comes last.
      position            int CHECK (position >= 0),
      difference          text NOT NULL
                          CHECK (difference IN ('unknown_here', 'amount_differs', 'duplicate', 'malformed', 'missing_at_bank', 'settled')),
      line                int CHECK (line > 0),
      bank_transaction_id text,
      booking_date        date,
      direction           text CHECK (direction IN ('debit', 'credit')),
      amount              amount,
      currency            currency,
      reference           text,
      -- The network's side of it, where it has one.
      network_reference   text,
      network_amount      amount,
      network_currency    currency,
      exception_id        text REFERENCES reconciliation_exceptions,
      problem             text,
      PRIMARY KEY (statement_id, position),
      CHECK ((difference = 'malformed') = (problem IS NOT NULL)),
      CHECK ((difference = 'missing_at_bank') = (line IS NULL))
    );
    CREATE INDEX bank_statement_differences_of_exception ON bank_statement_differences (exception_id)
      WHERE exception_id IS NOT NULL;
    GRANT SELECT, INSERT ON bank_statement_differences TO assent_app;

    CREATE TABLE bank_statement_counted (
      statement_id text REFERENCES bank_statements,
      -- Where in the file its page begins; what is missing comes last.
      position     int CHECK (position >= 0),
      differences  jsonb NOT NULL,
      -- Ids of lines that have too many fields: the file does not lack them.
      unread       text[],
      counted_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (statement_id, position)
    );
    CREATE INDEX bank_statement_counted_by_time ON bank_statement_counted (counted_at);
    GRANT SELECT, INSERT (statement_id, position, differences, unread), UPDATE (counted_at),
      DELETE ON bank_statement_counted TO assent_app;

    -- While a file is matched, which differences it has told: another line is a duplicate.
    CREATE TABLE bank_statement_told (
      statement_id text REFERENCES bank_statements,
      difference   bigint,
      PRIMARY KEY (statement_id, difference)
    );
    GRANT SELECT, INSERT, DELETE ON bank_statement_told TO assent_app;

    ALTER TABLE reconciliation_exceptions ADD FOREIGN KEY (dismissed_with) REFERENCES bank_statements;
  `);
}
