/**
 * The ledger in double entry, its balances and days, the close of a month, and the statements of
 * its days.
 */
export const sql = `
    -- By its first day. The audit trail says who closed and reopened it, when and why.
    CREATE TABLE ledger_periods (
      month      date PRIMARY KEY CHECK (extract(day FROM month) = 1),
      state      text NOT NULL DEFAULT 'closed' CHECK (state IN ('closed', 'reopened')),
      reopenings int NOT NULL DEFAULT 0 CHECK (reopenings >= 0)
    );
    GRANT SELECT, INSERT (month), UPDATE (state, reopenings) ON ledger_periods TO assent_app;

    CREATE CONSTRAINT TRIGGER ledger_periods_are_on_record AFTER INSERT OR UPDATE ON ledger_periods
      DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION require_audit_event('^period[.]');

    -- For each way to insert. An uncommitted entry of a month keeps it from being closed.
    CREATE FUNCTION refuse_closed_period() RETURNS trigger LANGUAGE plpgsql
      SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
      IF EXISTS (SELECT FROM public.ledger_periods
                 WHERE month = date_trunc('month', NEW.settlement_day)::date AND state = 'closed') THEN
        RAISE EXCEPTION 'the month of % is closed', NEW.settlement_day USING ERRCODE = 'restrict_violation';
      END IF;
      RETURN NEW;
    END $$;

    CREATE TABLE ledger_entries (
      id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      kind           text NOT NULL
                     CHECK (kind IN ('charge', 'credit', 'refund', 'reversal', 'write_off', 'write_off_return',
                       'refund_return')),
      -- The charge, refund, reversal or exception that it follows.
      resource_id    text NOT NULL,
      -- Business time, and its day in the network's zone.
      settled_at     timestamptz NOT NULL,
      settlement_day date NOT NULL,
      recorded_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
      -- With the transaction that wrote it an entry is complete.
      created_xid    xid8 NOT NULL DEFAULT pg_current_xact_id(),
      -- As in events.
      commit_id      uuid NOT NULL,
      -- The day that was over when the entry was posted; otherwise null.
      belongs_to     date,
      UNIQUE (resource_id, kind),
      CHECK ((abs((coalesce(belongs_to, settlement_day) - ((settled_at AT TIME ZONE 'UTC'))::date)) <= 1)
        AND (belongs_to IS NULL OR belongs_to < settlement_day)),
      CHECK (left(resource_id, 4) IN ('brq_', 'rfd_', 'txn_', 'exc_'))
    );
    CREATE INDEX ledger_entries_of_day ON ledger_entries (settlement_day, id);
    GRANT SELECT, INSERT (kind, resource_id, settled_at, settlement_day, commit_id, belongs_to) ON ledger_entries TO assent_app;

    CREATE TABLE ledger_postings (
      entry_id  bigint REFERENCES ledger_entries,
      n         smallint CHECK (n > 0),
      -- The account: party, kind and currency.
      party_id  text NOT NULL,
      account   text NOT NULL CHECK (account IN ('customer_bank', 'merchant', 'payee_bank', 'in_transit', 'disputed')),
      currency  currency NOT NULL,
      direction text NOT NULL CHECK (direction IN ('debit', 'credit')),
      amount    amount NOT NULL,
      PRIMARY KEY (entry_id, n),
      CHECK (party_id LIKE CASE account WHEN 'merchant' THEN 'mch\\_%' ELSE 'bnk\\_%' END)
    );
    -- A party's entries of a day: between the first of that day and the last.
    CREATE INDEX ledger_postings_of_party ON ledger_postings (party_id, entry_id);
    GRANT SELECT, INSERT ON ledger_postings TO assent_app;

    -- It is asked at the commit, when all of an entry is there.
    CREATE FUNCTION require_postings() RETURNS trigger LANGUAGE plpgsql
      SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
      IF NOT EXISTS (SELECT FROM public.ledger_postings WHERE entry_id = NEW.id) THEN
        RAISE EXCEPTION 'entry % has no postings', NEW.id USING ERRCODE = 'check_violation';
      END IF;
      RETURN NULL;
    END $$;

    CREATE TABLE ledger_folded_balances (
      party_id text,
      day      date,
      account  text,
      currency text,
      -- The kind of the entries.
      kind     text,
      -- How many postings.
      count    bigint NOT NULL,
      -- Sums of amounts outgrow a bigint.
      debits   numeric NOT NULL,
      credits  numeric NOT NULL,
      PRIMARY KEY (party_id, day, account, currency, kind)
    );
    CREATE INDEX ledger_folded_balances_of_day ON ledger_folded_balances (day);
    GRANT SELECT ON ledger_folded_balances TO assent_app;

    -- Without an index: it is read whole, and holds a minute's postings.
    CREATE TABLE ledger_balance_changes (LIKE ledger_folded_balances);
    GRANT SELECT ON ledger_balance_changes TO assent_app;

    -- Sums of each account and day, by the kind of entry.
    CREATE VIEW ledger_balances AS
      SELECT party_id, day, account, currency, kind, sum(count)::bigint AS count, sum(debits) AS debits,
        sum(credits) AS credits, sum(credits) - sum(debits) AS balance
      FROM (SELECT * FROM ledger_folded_balances UNION ALL SELECT * FROM ledger_balance_changes) AS parts
      GROUP BY party_id, day, account, currency, kind;
    GRANT SELECT ON ledger_balances TO assent_app;

    -- The schema login's rights: whoever may post may not write balances. The postings of one
    -- statement balance by themselves, so an entry balances at every moment.
    CREATE FUNCTION note_ledger_postings() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
      SET search_path = pg_catalog, pg_temp AS $$
    DECLARE
      unbalanced bigint;
      noted      int;
    BEGIN
      SELECT entry_id INTO unbalanced FROM posted GROUP BY entry_id, currency
        HAVING sum(CASE direction WHEN 'debit' THEN amount ELSE -amount END) <> 0 LIMIT 1;
      IF FOUND THEN
        RAISE EXCEPTION 'entry % does not balance', unbalanced USING ERRCODE = 'check_violation';
      END IF;
      INSERT INTO public.ledger_balance_changes (party_id, day, account, currency, kind, count, debits, credits)
        SELECT p.party_id, e.settlement_day, p.account, p.currency, e.kind, 1,
          CASE p.direction WHEN 'debit' THEN p.amount ELSE 0 END,
          CASE p.direction WHEN 'credit' THEN p.amount ELSE 0 END
        FROM posted p JOIN public.ledger_entries e ON e.id = p.entry_id AND e.created_xid = pg_current_xact_id();
      GET DIAGNOSTICS noted = ROW_COUNT;
      IF noted < (SELECT count(*) FROM posted) THEN
        RAISE EXCEPTION 'an entry takes no more postings once it is written: a correction is an entry of its own'
          USING ERRCODE = 'restrict_violation';
      END IF;
      RETURN NULL;
    END $$;
    REVOKE EXECUTE ON FUNCTION note_ledger_postings FROM PUBLIC;

    -- Changes of transactions that are still open are not seen, and so stay for the next time. One
    -- of two calls at once does it.
    CREATE FUNCTION fold_ledger_balances(at_most int) RETURNS int LANGUAGE plpgsql SECURITY DEFINER
      SET search_path = pg_catalog, pg_temp AS $$
    DECLARE
      folded int;
    BEGIN
      IF NOT pg_try_advisory_xact_lock(hashtextextended('ledger_balances', 0)) THEN RETURN 0; END IF;
      WITH taken AS (
        DELETE FROM public.ledger_balance_changes
        WHERE ctid = ANY (ARRAY(SELECT ctid FROM public.ledger_balance_changes LIMIT at_most)) RETURNING *),
      summed AS (
        INSERT INTO public.ledger_folded_balances AS f (party_id, day, account, currency, kind, count, debits, credits)
        SELECT party_id, day, account, currency, kind, sum(count), sum(debits), sum(credits) FROM taken
        GROUP BY party_id, day, account, currency, kind
        ON CONFLICT (party_id, day, account, currency, kind) DO UPDATE SET
          count = f.count + excluded.count, debits = f.debits + excluded.debits, credits = f.credits + excluded.credits)
      SELECT count(*) INTO folded FROM taken;
      RETURN folded;
    END $$;
    REVOKE EXECUTE ON FUNCTION fold_ledger_balances FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION fold_ledger_balances TO assent_app;

    CREATE TRIGGER ledger_entries_are_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON ledger_entries
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting_history();
    CREATE TRIGGER ledger_entries_closed BEFORE INSERT ON ledger_entries
      FOR EACH ROW
      WHEN (NEW.settlement_day < date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC' + interval '14 hours')::date)
      EXECUTE FUNCTION refuse_closed_period();
    CREATE CONSTRAINT TRIGGER ledger_entries_have_postings AFTER INSERT ON ledger_entries DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION require_postings();

    CREATE TRIGGER ledger_postings_are_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON ledger_postings
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting_history();
    CREATE TRIGGER ledger_postings_change_balances AFTER INSERT ON ledger_postings REFERENCING NEW TABLE AS posted
      FOR EACH STATEMENT EXECUTE FUNCTION note_ledger_postings();

    -- The schema login's rights: the row of a reopened month is held until the entry is
    -- committed, so that it is not closed before.
    CREATE FUNCTION ledger_booking_day(biller text, settled_at timestamptz, zone text) RETURNS date
      LANGUAGE plpgsql SECURITY DEFINER
      SET search_path = pg_catalog, pg_temp AS $$
    DECLARE
      day   date := (settled_at AT TIME ZONE zone)::date;
      today date := (public.settling_now(biller) AT TIME ZONE zone)::date;
    BEGIN
      IF day >= today OR EXISTS (
          SELECT FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory' AND objsubid = 2
            AND classid::bigint = public.settling_biller(biller)
            AND objid::bigint <= public.settling_quarter(settled_at)) THEN
        RETURN day;
      END IF;
      PERFORM FROM public.ledger_periods WHERE month = date_trunc('month', day)::date AND state = 'reopened' FOR SHARE;
      RETURN CASE WHEN FOUND THEN day ELSE today END;
    END $$;
    REVOKE EXECUTE ON FUNCTION ledger_booking_day FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION ledger_booking_day TO assent_app;

    -- The SHA-256 of the file of a day, or a month, that is over, once it has been made.
    CREATE TABLE statement_digests (
      party_id    text REFERENCES entities,
      first_day   date,
      last_day    date,
      currency    currency,
      -- How often its month had been reopened: a file of before is another one.
      reopenings  int DEFAULT 0,
      sha256      text NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
      recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (party_id, first_day, last_day, currency, reopenings)
    );
    GRANT SELECT, INSERT (party_id, first_day, last_day, currency, reopenings, sha256) ON statement_digests TO assent_app;

    CREATE TRIGGER statement_digests_are_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON statement_digests
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting_history();

    -- The last result of "books verify". Books that are too large for a night are compared in
    -- parts.
    CREATE TABLE books_verified (
      -- A span of days: 1 has the last.
      part        int PRIMARY KEY,
      -- Null until the first result.
      differences int CHECK (differences >= 0),
      -- The first of the differences, in words.
      found       jsonb NOT NULL DEFAULT '[]',
      verified_at timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    GRANT SELECT, UPDATE (differences, found, verified_at) ON books_verified TO assent_app;

    INSERT INTO books_verified (part) SELECT generate_series(1, 5);
  `;
