import type { Knex } from 'knex';

/**
 * Statements of banks: what each says that it booked, beside what the network has settled.
 *
 * While a file arrives its lines wait in pages, without names or accounts, which are never kept. A
 * page is deleted by the transaction that judges it. What stays is which charge, refund or reversal
 * was in which statement, and each difference.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE bank_statements (
      id              text PRIMARY KEY CHECK (id ~ '^stm_'),
      bank_id         text NOT NULL REFERENCES entities,
      -- Of the file: the same again is the same statement.
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
      UNIQUE (bank_id, sha256),
      CHECK ((status = 'processing') = (ended_at IS NULL)),
      CHECK ((first_day IS NULL) = (last_day IS NULL) AND first_day <= last_day),
      CHECK (matched + duplicates + unknown_here + amount_differs + malformed <= lines),
      CHECK (status <> 'completed' OR matched + duplicates + unknown_here + amount_differs + malformed = lines)
    );
    CREATE INDEX bank_statements_processing ON bank_statements (id) WHERE status = 'processing';

    CREATE TABLE bank_statement_pages (
      statement_id text NOT NULL CHECK (statement_id ~ '^stm_'),
      -- How many lines come before it.
      position     int NOT NULL CHECK (position >= 0),
      lines        jsonb NOT NULL,
      -- Until then it may be swept away.
      accepted     boolean NOT NULL DEFAULT false,
      staged_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (statement_id, position)
    );
    CREATE INDEX bank_statement_pages_staged ON bank_statement_pages (staged_at) WHERE NOT accepted;

    -- The latest statement that has it. Of a payment between customers, its credit is another.
    CREATE TABLE bank_statement_matches (
      resource_id  text PRIMARY KEY,
      statement_id text NOT NULL REFERENCES bank_statements,
      line         int NOT NULL CHECK (line > 0)
    );

    CREATE TABLE bank_statement_differences (
      statement_id        text NOT NULL REFERENCES bank_statements,
      -- In the order of the file; what is missing comes last.
      position            int NOT NULL CHECK (position >= 0),
      difference          text NOT NULL CHECK (difference IN
                          ('unknown_here', 'amount_differs', 'duplicate', 'malformed', 'missing_at_bank', 'settled')),
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

    CREATE TRIGGER bank_statements_record_time BEFORE INSERT ON bank_statements
      FOR EACH ROW EXECUTE FUNCTION set_record_time_recorded_at();

    GRANT SELECT ON bank_statements, bank_statement_pages, bank_statement_matches, bank_statement_differences TO assent_app;
    GRANT INSERT (id, bank_id, sha256, lines, first_day, last_day, currencies) ON bank_statements TO assent_app;
    GRANT UPDATE (status, matched, duplicates, unknown_here, amount_differs, malformed, missing_at_bank, ledger_day,
      ledger_entry_id, ended_at) ON bank_statements TO assent_app;
    GRANT INSERT (statement_id, position, lines), UPDATE (accepted), DELETE ON bank_statement_pages TO assent_app;
    GRANT INSERT, UPDATE (statement_id, line) ON bank_statement_matches TO assent_app;
    GRANT INSERT ON bank_statement_differences TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE bank_statement_differences, bank_statement_matches, bank_statement_pages, bank_statements;
  `);
}
