import type { Knex } from 'knex';

/**
 * The ledger: what each party is owed and owes, in entries of debits and credits that add up to
 * nothing. It stands beside the rows of charges and refunds, whose transitions it follows; nothing
 * in it is ever changed.
 *
 * Balances per account and day are the sums of postings. A large merchant is posted to by hundreds
 * of transactions at once, so a balance is no row that each of them updates: each leaves its change
 * in a row of its own, and now and then one statement folds the changes that it sees into the sums.
 * What is not folded yet counts as well: the view adds it.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE ledger_entries (
      id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      kind           text NOT NULL CHECK (kind IN ('charge', 'credit', 'refund', 'reversal', 'write_off')),
      -- What it follows: the charge, refund, reversal or exception.
      resource_id    text NOT NULL,
      -- Business time, and its day in the network's zone.
      settled_at     timestamptz NOT NULL,
      settlement_day date NOT NULL,
      recorded_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
      -- With the transaction that wrote it an entry is complete.
      created_xid    xid8 NOT NULL DEFAULT pg_current_xact_id(),
      UNIQUE (resource_id, kind),
      CHECK (abs(settlement_day - (settled_at AT TIME ZONE 'UTC')::date) <= 1),
      CHECK (kind NOT IN ('charge', 'credit') OR resource_id LIKE 'brq\\_%'),
      CHECK (kind <> 'refund' OR resource_id LIKE 'rfd\\_%')
    );

    CREATE TABLE ledger_postings (
      entry_id  bigint NOT NULL REFERENCES ledger_entries,
      n         smallint NOT NULL CHECK (n > 0),
      -- The account: of whom, what for, and in which currency.
      party_id  text NOT NULL,
      account   text NOT NULL CHECK (account IN ('customer_bank', 'merchant', 'payee_bank', 'in_transit', 'disputed')),
      currency  currency NOT NULL,
      direction text NOT NULL CHECK (direction IN ('debit', 'credit')),
      amount    amount NOT NULL,
      PRIMARY KEY (entry_id, n),
      CHECK (party_id LIKE CASE account WHEN 'merchant' THEN 'mch\\_%' ELSE 'bnk\\_%' END)
    );

    CREATE TABLE ledger_folded_balances (
      party_id text NOT NULL,
      account  text NOT NULL,
      currency text NOT NULL,
      day      date NOT NULL,
      -- Sums of amounts outgrow a bigint.
      debits   numeric NOT NULL,
      credits  numeric NOT NULL,
      PRIMARY KEY (party_id, account, currency, day)
    );
    -- Without an index: it is read whole, and holds a minute's postings.
    CREATE TABLE ledger_balance_changes (LIKE ledger_folded_balances);

    -- Of each account and day, what was posted. Positive where the network owes it to the party.
    CREATE VIEW ledger_balances AS
      SELECT party_id, account, currency, day, sum(debits) AS debits, sum(credits) AS credits,
        sum(credits) - sum(debits) AS balance
      FROM (SELECT * FROM ledger_folded_balances UNION ALL SELECT * FROM ledger_balance_changes) AS parts
      GROUP BY party_id, account, currency, day;

    CREATE TRIGGER ledger_entries_record_time BEFORE INSERT ON ledger_entries
      FOR EACH ROW EXECUTE FUNCTION set_record_time_recorded_at();
    CREATE TRIGGER ledger_entries_are_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entries
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting_history();
    CREATE TRIGGER ledger_postings_are_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_postings
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting_history();

    -- Its owner's rights: whoever may post may not write balances.
    CREATE FUNCTION note_ledger_postings() RETURNS trigger LANGUAGE plpgsql
      SECURITY DEFINER SET search_path = public, pg_temp AS $$
    BEGIN
      IF EXISTS (SELECT FROM posted p JOIN ledger_entries e ON e.id = p.entry_id
                 WHERE e.created_xid <> pg_current_xact_id()) THEN
        RAISE EXCEPTION 'an entry takes no more postings once it is written: a correction is an entry of its own'
          USING ERRCODE = 'restrict_violation';
      END IF;
      INSERT INTO ledger_balance_changes (party_id, account, currency, day, debits, credits)
        SELECT p.party_id, p.account, p.currency, e.settlement_day,
          coalesce(sum(p.amount) FILTER (WHERE p.direction = 'debit'), 0),
          coalesce(sum(p.amount) FILTER (WHERE p.direction = 'credit'), 0)
        FROM posted p JOIN ledger_entries e ON e.id = p.entry_id
        GROUP BY p.party_id, p.account, p.currency, e.settlement_day;
      RETURN NULL;
    END $$;
    CREATE TRIGGER ledger_postings_change_balances AFTER INSERT ON ledger_postings
      REFERENCING NEW TABLE AS posted FOR EACH STATEMENT EXECUTE FUNCTION note_ledger_postings();

    -- Both are asked at the commit, when all of an entry is there.
    CREATE FUNCTION require_balanced_entry() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF EXISTS (SELECT FROM ledger_postings WHERE entry_id = NEW.entry_id GROUP BY currency
                 HAVING sum(CASE direction WHEN 'debit' THEN amount ELSE -amount END) <> 0) THEN
        RAISE EXCEPTION 'entry % does not balance', NEW.entry_id USING ERRCODE = 'check_violation';
      END IF;
      RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER ledger_entries_balance AFTER INSERT ON ledger_postings
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION require_balanced_entry();
    CREATE FUNCTION require_postings() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF NOT EXISTS (SELECT FROM ledger_postings WHERE entry_id = NEW.id) THEN
        RAISE EXCEPTION 'entry % has no postings', NEW.id USING ERRCODE = 'check_violation';
      END IF;
      RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER ledger_entries_have_postings AFTER INSERT ON ledger_entries
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION require_postings();

    -- Changes of transactions that are still open are not seen, and so stay for the next time. Of
    -- two at once, one does it.
    CREATE FUNCTION fold_ledger_balances(at_most int) RETURNS int LANGUAGE plpgsql
      SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DECLARE
      folded int;
    BEGIN
      IF NOT pg_try_advisory_xact_lock(hashtextextended('ledger_balances', 0)) THEN RETURN 0; END IF;
      WITH taken AS (
        DELETE FROM ledger_balance_changes
        WHERE ctid = ANY (ARRAY(SELECT ctid FROM ledger_balance_changes LIMIT at_most)) RETURNING *),
      summed AS (
        INSERT INTO ledger_folded_balances AS f (party_id, account, currency, day, debits, credits)
        SELECT party_id, account, currency, day, sum(debits), sum(credits) FROM taken
        GROUP BY party_id, account, currency, day
        ON CONFLICT (party_id, account, currency, day)
        DO UPDATE SET debits = f.debits + excluded.debits, credits = f.credits + excluded.credits)
      SELECT count(*) INTO folded FROM taken;
      RETURN folded;
    END $$;
    -- Nor may anybody else use its owner's rights, by a trigger on a table of their own.
    REVOKE EXECUTE ON FUNCTION fold_ledger_balances, note_ledger_postings FROM PUBLIC;

    GRANT SELECT ON ledger_entries, ledger_postings, ledger_folded_balances, ledger_balance_changes, ledger_balances
      TO assent_app;
    -- What else an entry has, the database says.
    GRANT INSERT (kind, resource_id, settled_at, settlement_day) ON ledger_entries TO assent_app;
    GRANT INSERT ON ledger_postings TO assent_app;
    GRANT EXECUTE ON FUNCTION fold_ledger_balances TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP VIEW ledger_balances;
    DROP TABLE ledger_balance_changes, ledger_folded_balances, ledger_postings, ledger_entries;
    DROP FUNCTION fold_ledger_balances;
    DROP FUNCTION note_ledger_postings;
    DROP FUNCTION require_balanced_entry;
    DROP FUNCTION require_postings;
  `);
}
