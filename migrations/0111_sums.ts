import type { Knex } from 'knex';

/**
 * The ledger's balances have a count and the kind of their entries: statements and summaries are
 * made of them. Declines come from an index.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TRIGGER billing_requests_note_decline ON billing_requests;
    DROP TRIGGER billing_requests_note_decline_at_once ON billing_requests;
    DROP FUNCTION note_decline;
    DROP FUNCTION fold_daily_totals;
    DROP VIEW daily_totals;
    DROP TABLE daily_totals_changes, daily_totals_folded;
    DROP TABLE IF EXISTS days_looked_through;
    ALTER TABLE temporal_state DROP COLUMN IF EXISTS digested_at;

    DROP INDEX billing_requests_declined_by_end;
    CREATE INDEX billing_requests_declined_of_merchant_by_end ON billing_requests (merchant_id, closed_at)
      WHERE status = 'declined';
    CREATE INDEX billing_requests_declined_of_bank_by_end ON billing_requests (bank_id, closed_at)
      WHERE status = 'declined';

    DROP VIEW ledger_balances;
    DROP TABLE ledger_balance_changes, ledger_folded_balances;

    CREATE TABLE ledger_folded_balances (
      party_id text,
      day      date,
      account  text,
      currency text,
      -- Of the entries.
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

    -- What was posted to each account on each day, by the kind of entry.
    CREATE VIEW ledger_balances AS
      SELECT party_id, day, account, currency, kind, sum(count)::bigint AS count, sum(debits) AS debits,
        sum(credits) AS credits, sum(credits) - sum(debits) AS balance
      FROM (SELECT * FROM ledger_folded_balances UNION ALL SELECT * FROM ledger_balance_changes) AS parts
      GROUP BY party_id, day, account, currency, kind;
    GRANT SELECT ON ledger_balances TO assent_app;

    -- Its owner's rights: whoever may post may not write balances. The postings of one statement
    -- balance by themselves, so an entry balances at every moment.
    CREATE OR REPLACE FUNCTION note_ledger_postings() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
      SET search_path = pg_catalog, public, pg_temp AS $$
    DECLARE
      unbalanced bigint;
      noted      int;
    BEGIN
      SELECT entry_id INTO unbalanced FROM posted GROUP BY entry_id, currency
        HAVING sum(CASE direction WHEN 'debit' THEN amount ELSE -amount END) <> 0 LIMIT 1;
      IF FOUND THEN
        RAISE EXCEPTION 'entry % does not balance', unbalanced USING ERRCODE = 'check_violation';
      END IF;
      INSERT INTO ledger_balance_changes (party_id, day, account, currency, kind, count, debits, credits)
        SELECT p.party_id, e.settlement_day, p.account, p.currency, e.kind, 1,
          CASE p.direction WHEN 'debit' THEN p.amount ELSE 0 END,
          CASE p.direction WHEN 'credit' THEN p.amount ELSE 0 END
        FROM posted p JOIN ledger_entries e ON e.id = p.entry_id AND e.created_xid = pg_current_xact_id();
      GET DIAGNOSTICS noted = ROW_COUNT;
      IF noted < (SELECT count(*) FROM posted) THEN
        RAISE EXCEPTION 'an entry takes no more postings once it is written: a correction is an entry of its own'
          USING ERRCODE = 'restrict_violation';
      END IF;
      RETURN NULL;
    END $$;
    DROP TRIGGER ledger_entries_balance ON ledger_postings;
    DROP FUNCTION require_balanced_entry;

    CREATE OR REPLACE FUNCTION fold_ledger_balances(at_most int) RETURNS int LANGUAGE plpgsql SECURITY DEFINER
      SET search_path = pg_catalog, public, pg_temp AS $$
    DECLARE
      folded int;
    BEGIN
      IF NOT pg_try_advisory_xact_lock(hashtextextended('ledger_balances', 0)) THEN RETURN 0; END IF;
      WITH taken AS (
        DELETE FROM ledger_balance_changes
        WHERE ctid = ANY (ARRAY(SELECT ctid FROM ledger_balance_changes LIMIT at_most)) RETURNING *),
      summed AS (
        INSERT INTO ledger_folded_balances AS f (party_id, day, account, currency, kind, count, debits, credits)
        SELECT party_id, day, account, currency, kind, sum(count), sum(debits), sum(credits) FROM taken
        GROUP BY party_id, day, account, currency, kind
        ON CONFLICT (party_id, day, account, currency, kind) DO UPDATE SET
          count = f.count + excluded.count, debits = f.debits + excluded.debits, credits = f.credits + excluded.credits)
      SELECT count(*) INTO folded FROM taken;
      RETURN folded;
    END $$;

    DROP TABLE statement_digests;
    -- Of a day that is over, the SHA-256 of the file that says so; once it has been made.
    CREATE TABLE statement_digests (
      party_id    text REFERENCES entities,
      day         date,
      currency    currency,
      -- How often its month had been reopened: a file of before is another one.
      reopenings  int DEFAULT 0,
      sha256      text NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
      recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (party_id, day, currency, reopenings)
    );
    GRANT SELECT, INSERT (party_id, day, currency, reopenings, sha256) ON statement_digests TO assent_app;
    CREATE TRIGGER statement_digests_are_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON statement_digests
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting_history();
    CREATE TRIGGER statement_digests_record_time BEFORE INSERT ON statement_digests
      FOR EACH ROW EXECUTE FUNCTION set_record_time_recorded_at();
  `);
}

export async function down(): Promise<void> {
  throw new Error('the daily totals are gone');
}
