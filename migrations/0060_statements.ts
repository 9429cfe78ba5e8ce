import type { Knex } from 'knex';

/**
 * When a settlement day is over for good, so that a statement of it never changes.
 *
 * A transaction reads its clock before midnight and may commit after it. So whoever settles money
 * says so first: `settling_now` takes a shared advisory lock, whose key is the quarter of an hour
 * that it is for the owner of the clock, and reads the clock while it holds it. Shared locks never
 * wait for each other. A day is over once the clock is past its end and nobody holds a key of
 * before; whoever takes one later reads a later clock, for clocks only go forward.
 *
 * What is posted late all the same, such as a correction, goes to the day that it is by then, and
 * says to which it belongs.
 */

const BELONGS_TO_ITS_DAY = `CHECK (abs(coalesce(belongs_to, settlement_day) - (settled_at AT TIME ZONE 'UTC')::date) <= 1
  AND (belongs_to IS NULL OR belongs_to < settlement_day))`;

/** Of charges and refunds, when their money moved: exactly what the history says of each. */
const SETTLED_AT = {
  billing_requests: `(CASE WHEN status = 'successful' THEN closed_at END)`,
  refunds: `(CASE WHEN status = 'completed' THEN closed_at END)`,
};
const SETTLED_OF = {
  billing_requests: ['bank_id', 'merchant_id', 'provider_id', 'payee_bank_id'],
  refunds: ['bank_id', 'merchant_id', 'provider_id'],
};
const TABLES = ['billing_requests', 'refunds'] as const;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- The two halves of the lock's key. Locks with two keys are used for nothing else.
    CREATE FUNCTION settling_owner(owner text) RETURNS int LANGUAGE sql IMMUTABLE
      RETURN (hashtextextended(owner, 0) & 2147483647)::int;
    -- In every zone days begin with a quarter of an hour.
    CREATE FUNCTION settling_quarter(moment timestamptz) RETURNS int LANGUAGE sql STABLE
      RETURN floor(extract(epoch FROM moment) / 900)::int;

    CREATE FUNCTION settling_now(owner text) RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS $$
    BEGIN
      PERFORM pg_advisory_xact_lock_shared(settling_owner(owner), settling_quarter(business_now(owner)));
      RETURN business_now(owner);
    END $$;

    -- Whether anything may still settle before the moment, by this owner's clock, or by anybody's
    -- where it is null: entities that are made later begin with real time. The clock is that of the
    -- statement's begin, which is before the locks are looked at. What is read in a later statement
    -- is complete.
    CREATE FUNCTION may_settle_before(moment timestamptz, owner text) RETURNS boolean LANGUAGE sql VOLATILE
      RETURN statement_timestamp() + coalesce((SELECT clock_offset FROM entities WHERE id = owner), '0') < moment
        OR EXISTS (
          SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND objid::bigint <= settling_quarter(moment - interval '1 microsecond')
            AND (owner IS NULL OR classid::bigint = settling_owner(owner)));

    -- Of an entry that was posted when its day was over, that day.
    ALTER TABLE ledger_entries ADD COLUMN belongs_to date, DROP CONSTRAINT ledger_entries_check;
    ALTER TABLE ledger_entries ADD CONSTRAINT ledger_entries_check ${BELONGS_TO_ITS_DAY};

    -- The day that an entry is posted to: that of its moment, while that is not over, or where this
    -- very transaction read its clock when it was not.
    CREATE FUNCTION ledger_booking_day(owner text, settled_at timestamptz, zone text) RETURNS date
      LANGUAGE plpgsql VOLATILE AS $$
    DECLARE
      day   date := (settled_at AT TIME ZONE zone)::date;
      today date := (settling_now(owner) AT TIME ZONE zone)::date;
    BEGIN
      IF day >= today OR EXISTS (
          SELECT FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory' AND objsubid = 2
            AND classid::bigint = settling_owner(owner) AND objid::bigint <= settling_quarter(settled_at)) THEN
        RETURN day;
      END IF;
      RETURN today;
    END $$;

    -- A party's entries of a day: between the first of that day and the last.
    CREATE INDEX ledger_postings_of_party ON ledger_postings (party_id, entry_id);

    -- Of a day that is over, the SHA-256 of the file that says so; once it has been made.
    CREATE TABLE statement_digests (
      party_id    text NOT NULL REFERENCES entities,
      day         date NOT NULL,
      currency    currency NOT NULL,
      sha256      text NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
      recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (party_id, day, currency)
    );
    CREATE TRIGGER statement_digests_record_time BEFORE INSERT ON statement_digests
      FOR EACH ROW EXECUTE FUNCTION set_record_time_recorded_at();
    CREATE TRIGGER statement_digests_are_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON statement_digests
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting_history();

    GRANT SELECT, INSERT (party_id, day, currency, sha256) ON statement_digests TO assent_app;
    GRANT INSERT (belongs_to) ON ledger_entries TO assent_app;
  `);
  for (const table of TABLES) {
    for (const party of SETTLED_OF[table]) {
      await knex.raw(`
        CREATE INDEX ${table}_settled_of_${party} ON ${table} (${party}, ${SETTLED_AT[table]})
          WHERE ${SETTLED_AT[table]} IS NOT NULL AND ${party} IS NOT NULL`);
    }
  }
}

export async function down(knex: Knex): Promise<void> {
  for (const table of TABLES) {
    for (const party of SETTLED_OF[table]) await knex.raw(`DROP INDEX ${table}_settled_of_${party}`);
  }
  await knex.raw(`
    DROP TABLE statement_digests;
    DROP INDEX ledger_postings_of_party;
    DROP FUNCTION ledger_booking_day;
    -- What was posted late stays on its day.
    ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_check, DROP COLUMN belongs_to;
    ALTER TABLE ledger_entries ADD CONSTRAINT ledger_entries_check
      CHECK (abs(settlement_day - (settled_at AT TIME ZONE 'UTC')::date) <= 1) NOT VALID;
    DROP FUNCTION may_settle_before;
    DROP FUNCTION settling_now;
    DROP FUNCTION settling_quarter;
    DROP FUNCTION settling_owner;
  `);
}
