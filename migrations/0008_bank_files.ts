/**
 * Bookings that are expected of banks, the files of bookings that banks send, and the differences.
 */
export const sql = `
    CREATE TABLE bank_files (
      id              text PRIMARY KEY CHECK (id ~ '^stm_'),
      bank_id         text NOT NULL REFERENCES entities,
      sha256          bytea NOT NULL CHECK (length(sha256) = 32),
      covered_from    date,
      covered_through date,
      status          text NOT NULL DEFAULT 'processing' CHECK (status IN ('processing', 'completed', 'failed', 'withdrawn')),
      begins          date,
      reaches         jsonb NOT NULL,
      lines           int NOT NULL CHECK (lines >= 0),
      matched         int NOT NULL DEFAULT 0 CHECK (matched >= 0),
      duplicates      int NOT NULL DEFAULT 0 CHECK (duplicates >= 0),
      unknown_here    int NOT NULL DEFAULT 0 CHECK (unknown_here >= 0),
      amount_differs  int NOT NULL DEFAULT 0 CHECK (amount_differs >= 0),
      malformed       int NOT NULL DEFAULT 0 CHECK (malformed >= 0),
      pending         int NOT NULL DEFAULT 0 CHECK (pending >= 0),
      missing_at_bank int NOT NULL DEFAULT 0 CHECK (missing_at_bank >= 0),
      exceptions      int NOT NULL DEFAULT 0 CHECK (exceptions >= 0),
      not_kept        int NOT NULL DEFAULT 0 CHECK (not_kept >= 0),
      kept_bytes      bigint NOT NULL DEFAULT 0 CHECK (kept_bytes >= 0),
      recorded_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
      ended_at        timestamptz,
      withdrawn_at    timestamptz,
      CHECK ((status = 'processing') = (ended_at IS NULL)),
      CHECK ((status = 'withdrawn') = (withdrawn_at IS NOT NULL)),
      CHECK (matched + duplicates + unknown_here + amount_differs + malformed + pending <= lines),
      CHECK (status <> 'completed'
        OR matched + duplicates + unknown_here + amount_differs + malformed + pending = lines)
    );
    -- The bytes of a withdrawn file may be sent again.
    CREATE UNIQUE INDEX bank_files_of_file ON bank_files (bank_id, sha256, covered_from, covered_through)
      NULLS NOT DISTINCT WHERE status <> 'withdrawn';
    CREATE INDEX bank_files_of_bank ON bank_files (bank_id, recorded_at, id);
    CREATE INDEX bank_files_processing ON bank_files (id) WHERE status = 'processing';
    COMMENT ON COLUMN bank_files.begins IS 'The first day of the file';
    COMMENT ON COLUMN bank_files.pending IS
      'Lines with the reference of a charge or refund that had not ended';
    COMMENT ON COLUMN bank_files.reaches IS
      'The last day of the file for each currency, and under * for all';
    COMMENT ON COLUMN bank_files.not_kept IS
      'Differences of its lines that are counted alone, for those of its bank''s day took enough bytes';

    CREATE TABLE bank_file_pages (
      statement_id text CHECK (statement_id ~ '^stm_'),
      -- How many lines come before it.
      position     int CHECK (position >= 0),
      lines        jsonb NOT NULL,
      staged_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (statement_id, position)
    );
    CREATE INDEX bank_file_pages_staged ON bank_file_pages (staged_at);
    -- To sweep it locks rows, which asks for UPDATE of some column.
    GRANT SELECT, INSERT (statement_id, position, lines), UPDATE (staged_at), DELETE ON bank_file_pages TO assent_app;

    CREATE TABLE expectations (
      bank_id      text PRIMARY KEY REFERENCES entities,
      begins       date NOT NULL,
      statement_id text REFERENCES bank_files
    );
    COMMENT ON TABLE expectations IS 'From which day on bookings are expected in the files of a bank';
    COMMENT ON COLUMN expectations.statement_id IS 'The file that says so; null for an operator';
    GRANT SELECT, INSERT, UPDATE, DELETE ON expectations TO assent_app;

    -- Each line of a file that does not match, and what is missing once the file is read.
    CREATE TABLE bank_file_differences (
      statement_id text NOT NULL REFERENCES bank_files,
      -- The page's place, by its first line; missing bookings come after all lines.
      position     int NOT NULL CHECK (position >= 0),
      differences  jsonb NOT NULL,
      counted_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (statement_id, position)
    );
    CREATE INDEX bank_file_differences_by_time ON bank_file_differences (counted_at);

    -- While a file is matched, which lines without a booking it has had: the same again is a
    -- duplicate.
    CREATE TABLE bank_file_reported (
      statement_id text NOT NULL REFERENCES bank_files,
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
      booked_on          date,
      booked_id          text,
      first_matched_by   text,
      matched_by         text,
      reported_in        text,
      ended_at           timestamptz,
      written_off_at     timestamptz,
      -- An id may be that of both legs of a payment between customers of the bank, or be taken back.
      PRIMARY KEY (bank_id, identified_by, identifier, direction),
      CHECK ((matched_by IS NULL) = (booked_on IS NULL) AND (matched_by IS NULL) = (first_matched_by IS NULL)),
      CHECK (booked_id IS NULL OR matched_by IS NOT NULL)
    );
    CREATE INDEX expected_bookings_booked_as ON expected_bookings (bank_id, booked_id, direction, identifier)
      WHERE booked_id IS NOT NULL;
    CREATE INDEX expected_bookings_of_charge ON expected_bookings (billing_request_id);
    CREATE INDEX expected_bookings_in_no_file ON expected_bookings (bank_id, settlement_day, currency)
      WHERE matched_by IS NULL AND reported_in IS NULL AND ended_at IS NULL AND written_off_at IS NULL;
    CREATE INDEX expected_bookings_written_off ON expected_bookings (bank_id) WHERE written_off_at IS NOT NULL;
    COMMENT ON TABLE expected_bookings IS
      'Bookings that a bank is to make, each row made with the ledger entry of a charge, refund, reversal or credit';
    COMMENT ON COLUMN expected_bookings.booked_on IS 'The bookingDate of its line, as the bank wrote it';
    COMMENT ON COLUMN expected_bookings.booked_id IS 'The id of its line, where it was found by its reference';
    COMMENT ON COLUMN expected_bookings.first_matched_by IS 'The first file that has it';
    COMMENT ON COLUMN expected_bookings.matched_by IS 'The latest file that has it';
    COMMENT ON COLUMN expected_bookings.written_off_at IS
      'When the network took its loss on itself; a line of it takes that back';
    COMMENT ON COLUMN expected_bookings.reported_in IS
      'The file that made it missing, or had it with another amount';
    COMMENT ON COLUMN expected_bookings.ended_at IS
      'When it was found that the money never moved, or need not move any more';

    -- Without foreign keys: a line locks no charge, which an answer may hold.
    CREATE TABLE extra_bookings (
      bank_id               text,
      bank_transaction_id   text,
      direction             text CHECK (direction IN ('debit', 'credit')),
      booked_on             date,
      amount                amount,
      currency              currency,
      reference             text,
      billing_request_id    text NOT NULL,
      refund_id             text,
      is_extra              boolean NOT NULL,
      differs               boolean NOT NULL DEFAULT false,
      is_reversal           boolean NOT NULL DEFAULT false,
      counterpart_id        text,
      counterpart_booked_on date,
      ended_at              timestamptz,
      stands                boolean GENERATED ALWAYS AS
                            (is_extra AND NOT differs AND counterpart_id IS NULL AND ended_at IS NULL) STORED NOT NULL,
      first_matched_by      text NOT NULL,
      matched_by            text NOT NULL,
      recorded_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (bank_id, bank_transaction_id, direction, booked_on, amount, currency),
      CHECK ((counterpart_id IS NULL) = (counterpart_booked_on IS NULL))
    );
    CREATE INDEX extra_bookings_by_reference ON extra_bookings (bank_id, reference) WHERE reference IS NOT NULL;
    CREATE INDEX extra_bookings_of_charge ON extra_bookings (billing_request_id);
    CREATE INDEX extra_bookings_of_file ON extra_bookings (matched_by, billing_request_id);
    CREATE INDEX extra_bookings_standing ON extra_bookings (bank_id, billing_request_id) WHERE stands;
    CREATE INDEX extra_bookings_differing ON extra_bookings (bank_id, billing_request_id) WHERE differs;
    COMMENT ON TABLE extra_bookings IS
      'Lines of bank files that belong to a charge or a refund, and settle nothing';
    COMMENT ON COLUMN extra_bookings.booked_on IS 'As the bank wrote it';
    COMMENT ON COLUMN extra_bookings.is_extra IS
      'On the side of its charge or refund; otherwise it may take an extra booking back';
    COMMENT ON COLUMN extra_bookings.differs IS
      'The only line of its booking, which has another amount';
    COMMENT ON COLUMN extra_bookings.is_reversal IS 'Whether its bank has marked it as a reversal';
    COMMENT ON COLUMN extra_bookings.counterpart_id IS
      'The line that takes it back, or that it takes back: of the same amount, on the other side';
    COMMENT ON COLUMN extra_bookings.ended_at IS 'When it was written off: compensated outside the files';
    GRANT SELECT, INSERT, UPDATE, DELETE ON extra_bookings TO assent_app;

    CREATE TRIGGER extra_bookings_record_time BEFORE INSERT ON extra_bookings
      FOR EACH ROW EXECUTE FUNCTION set_record_time_recorded_at();

    GRANT SELECT, INSERT (id, bank_id, sha256, covered_from, covered_through, begins, reaches, lines),
      UPDATE (status, matched, duplicates, unknown_here, amount_differs, malformed, pending, missing_at_bank, exceptions,
        not_kept, kept_bytes, ended_at, withdrawn_at) ON bank_files TO assent_app;
    GRANT SELECT, INSERT (statement_id, position, differences), UPDATE (differences, counted_at), DELETE
      ON bank_file_differences TO assent_app;
    GRANT SELECT, INSERT, DELETE ON bank_file_reported TO assent_app;
    GRANT SELECT, INSERT, UPDATE (amount, booked_on, booked_id, first_matched_by, matched_by, reported_in, ended_at, written_off_at)
      ON expected_bookings TO assent_app;
  `;
