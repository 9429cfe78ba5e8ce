/**
 * Bookings that are expected of banks, the files of bookings that banks send, and the differences.
 */
export const sql = `
    CREATE TABLE bank_statements (
      id              text PRIMARY KEY CHECK (id ~ '^stm_'),
      bank_id         text NOT NULL REFERENCES entities,
      sha256          bytea NOT NULL CHECK (length(sha256) = 32),
      covered_from    date,
      covered_through date,
      status          text NOT NULL DEFAULT 'processing' CHECK (status IN ('processing', 'completed', 'failed')),
      begins          date,
      reaches         jsonb NOT NULL,
      lines           int NOT NULL CHECK (lines >= 0),
      matched         int NOT NULL DEFAULT 0 CHECK (matched >= 0),
      duplicates      int NOT NULL DEFAULT 0 CHECK (duplicates >= 0),
      unknown_here    int NOT NULL DEFAULT 0 CHECK (unknown_here >= 0),
      amount_differs  int NOT NULL DEFAULT 0 CHECK (amount_differs >= 0),
      malformed       int NOT NULL DEFAULT 0 CHECK (malformed >= 0),
      missing_at_bank int NOT NULL DEFAULT 0 CHECK (missing_at_bank >= 0),
      exceptions      int NOT NULL DEFAULT 0 CHECK (exceptions >= 0),
      not_kept        int NOT NULL DEFAULT 0 CHECK (not_kept >= 0),
      kept_bytes      bigint NOT NULL DEFAULT 0 CHECK (kept_bytes >= 0),
      recorded_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
      ended_at        timestamptz,
      CONSTRAINT bank_statements_of_file UNIQUE NULLS NOT DISTINCT (bank_id, sha256, covered_from, covered_through),
      CHECK ((status = 'processing') = (ended_at IS NULL)),
      CHECK (matched + duplicates + unknown_here + amount_differs + malformed <= lines),
      CHECK (status <> 'completed' OR matched + duplicates + unknown_here + amount_differs + malformed = lines)
    );
    CREATE INDEX bank_statements_of_bank ON bank_statements (bank_id, recorded_at, id);
    CREATE INDEX bank_statements_processing ON bank_statements (id) WHERE status = 'processing';
    COMMENT ON COLUMN bank_statements.begins IS
      'The first day of the file. Bookings are expected from that of the bank''s first file on.';
    COMMENT ON COLUMN bank_statements.reaches IS
      'The last day of the file for each currency, and under * for all';
    COMMENT ON COLUMN bank_statements.not_kept IS
      'Differences of its lines that are counted alone, for those of its bank''s day took enough bytes';

    CREATE TABLE bank_statement_pages (
      statement_id text CHECK (statement_id ~ '^stm_'),
      -- How many lines come before it.
      position     int CHECK (position >= 0),
      lines        jsonb NOT NULL,
      staged_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (statement_id, position)
    );
    CREATE INDEX bank_statement_pages_staged ON bank_statement_pages (staged_at);
    -- To sweep it locks rows, which asks for UPDATE of some column.
    GRANT SELECT, INSERT (statement_id, position, lines), UPDATE (staged_at), DELETE ON bank_statement_pages TO assent_app;

    -- Each line of a file that does not match, and what is missing once the file is read.
    CREATE TABLE bank_statement_differences (
      statement_id text NOT NULL REFERENCES bank_statements,
      -- The page's place, by its first line; missing bookings come after all lines.
      position     int NOT NULL CHECK (position >= 0),
      differences  jsonb NOT NULL,
      counted_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (statement_id, position)
    );
    CREATE INDEX bank_statement_differences_by_time ON bank_statement_differences (counted_at);

    -- While a file is matched, which lines without a booking it has had: the same again is a
    -- duplicate.
    CREATE TABLE bank_statement_reported (
      statement_id text NOT NULL REFERENCES bank_statements,
      line_hash    bigint NOT NULL,
      PRIMARY KEY (statement_id, line_hash)
    );

    -- Without foreign keys: each charge writes a row, in the statement that writes its ledger
    -- entry.
    CREATE TABLE expected_bookings (
      bank_id            text NOT NULL,
      identified_by      text NOT NULL CHECK (identified_by IN ('bankTransactionId', 'reference')),
      identifier         text NOT NULL,
      direction          text NOT NULL CHECK (direction IN ('debit', 'credit')),
      amount             amount NOT NULL,
      currency           currency NOT NULL,
      settlement_day     date NOT NULL,
      billing_request_id text NOT NULL,
      refund_id          text,
      matched_by         text,
      reported_in        text,
      ended_at           timestamptz,
      PRIMARY KEY (bank_id, identified_by, identifier)
    );
    CREATE INDEX expected_bookings_in_no_file ON expected_bookings (bank_id, settlement_day)
      WHERE matched_by IS NULL AND reported_in IS NULL AND ended_at IS NULL;
    COMMENT ON TABLE expected_bookings IS
      'Bookings that a bank is to make, each row made with the ledger entry of a charge, refund, reversal or credit';
    COMMENT ON COLUMN expected_bookings.matched_by IS 'The latest file that has it';
    COMMENT ON COLUMN expected_bookings.reported_in IS
      'The file that made it missing, or had it with another amount';
    COMMENT ON COLUMN expected_bookings.ended_at IS
      'When it was found that the money never moved, or need not move any more';

    GRANT SELECT, INSERT (id, bank_id, sha256, covered_from, covered_through, begins, reaches, lines),
      UPDATE (status, matched, duplicates, unknown_here, amount_differs, malformed, missing_at_bank, exceptions, not_kept,
        kept_bytes, ended_at) ON bank_statements TO assent_app;
    GRANT SELECT, INSERT (statement_id, position, differences), UPDATE (differences, counted_at), DELETE
      ON bank_statement_differences TO assent_app;
    GRANT SELECT, INSERT, DELETE ON bank_statement_reported TO assent_app;
    GRANT SELECT, INSERT, UPDATE (amount, matched_by, reported_in, ended_at) ON expected_bookings TO assent_app;
  `;
