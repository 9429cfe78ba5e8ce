import type { Knex } from 'knex';

/**
 * The close of a month. A closed month takes no entries; what belongs to it is posted to the day
 * that it is by then, as with any day that is over. One that was reopened takes what belongs to it
 * until it is closed again, and its statements are made anew.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- By its first day. Who closed and reopened it, when and why, is in the audit trail.
    CREATE TABLE ledger_periods (
      month      date PRIMARY KEY CHECK (extract(day FROM month) = 1),
      state      text NOT NULL DEFAULT 'closed' CHECK (state IN ('closed', 'reopened')),
      reopenings int NOT NULL DEFAULT 0 CHECK (reopenings >= 0)
    );
    GRANT SELECT, INSERT (month), UPDATE (state, reopenings) ON ledger_periods TO assent_app;

    -- Whatever is inserted, and however. What settled at the end of a month and is not committed
    -- keeps it from being closed.
    CREATE FUNCTION refuse_closed_period() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF EXISTS (SELECT FROM ledger_periods
                 WHERE month = date_trunc('month', NEW.settlement_day)::date AND state = 'closed') THEN
        RAISE EXCEPTION 'the month of % is closed', NEW.settlement_day USING ERRCODE = 'restrict_violation';
      END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER ledger_entries_closed BEFORE INSERT ON ledger_entries
      FOR EACH ROW WHEN (NEW.settlement_day < current_date - 1) EXECUTE FUNCTION refuse_closed_period();

    -- Its owner's rights: the row of a reopened month is held until the entry is committed, so that
    -- it is not closed before.
    CREATE OR REPLACE FUNCTION ledger_booking_day(owner text, settled_at timestamptz, zone text) RETURNS date
      LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DECLARE
      day   date := (settled_at AT TIME ZONE zone)::date;
      today date := (settling_now(owner) AT TIME ZONE zone)::date;
    BEGIN
      IF day >= today OR EXISTS (
          SELECT FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory' AND objsubid = 2
            AND classid::bigint = settling_owner(owner) AND objid::bigint <= settling_quarter(settled_at)) THEN
        RETURN day;
      END IF;
      PERFORM FROM ledger_periods WHERE month = date_trunc('month', day)::date AND state = 'reopened' FOR SHARE;
      RETURN CASE WHEN FOUND THEN day ELSE today END;
    END $$;
    REVOKE EXECUTE ON FUNCTION ledger_booking_day FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION ledger_booking_day TO assent_app;

    -- Of each edition of a day's file: how often its month had been reopened.
    ALTER TABLE statement_digests ADD COLUMN reopenings int NOT NULL DEFAULT 0,
      DROP CONSTRAINT statement_digests_pkey;
    ALTER TABLE statement_digests ADD PRIMARY KEY (party_id, day, currency, reopenings);
    GRANT INSERT (reopenings) ON statement_digests TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE statement_digests DISABLE TRIGGER statement_digests_are_append_only;
    DELETE FROM statement_digests d WHERE EXISTS (
      SELECT FROM statement_digests n WHERE (n.party_id, n.day, n.currency) = (d.party_id, d.day, d.currency)
        AND n.reopenings > d.reopenings);
    ALTER TABLE statement_digests ENABLE TRIGGER statement_digests_are_append_only;
    ALTER TABLE statement_digests DROP CONSTRAINT statement_digests_pkey, DROP COLUMN reopenings,
      ADD PRIMARY KEY (party_id, day, currency);
    CREATE OR REPLACE FUNCTION ledger_booking_day(owner text, settled_at timestamptz, zone text) RETURNS date
      LANGUAGE plpgsql VOLATILE SECURITY INVOKER AS $$
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
    GRANT EXECUTE ON FUNCTION ledger_booking_day TO PUBLIC;
    DROP TRIGGER ledger_entries_closed ON ledger_entries;
    DROP FUNCTION refuse_closed_period;
    DROP TABLE ledger_periods;
  `);
}
