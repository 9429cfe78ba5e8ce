import type { Knex } from 'knex';

/**
 * What each merchant and each bank has moved per day: how many and how much was charged, declined
 * by reason, refunded and reversed. It is kept beside the ledger's balances and in the same way,
 * for a month of a large party is a million rows, and whoever opens the console waits for the
 * answer. What moved money follows the ledger's entries, and so the days of statements.
 */

/** As the ledger's balances have changed until now. */
const CHANGES_BALANCES = `
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
    GROUP BY p.party_id, p.account, p.currency, e.settlement_day;`;

const notePostings = (body: string) => `
  CREATE OR REPLACE FUNCTION note_ledger_postings() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$
  BEGIN ${body}
    RETURN NULL;
  END $$`;

/** Of the two sides of what moved money, those whose console shows it. */
const MOVED = (postings: string) => `
  SELECT p.party_id, e.settlement_day, p.currency,
    CASE e.kind WHEN 'charge' THEN 'charged' WHEN 'refund' THEN 'refunded' ELSE 'reversed' END, '', count(*), sum(p.amount)
  FROM ${postings} p JOIN ledger_entries e ON e.id = p.entry_id
  WHERE p.account IN ('merchant', 'customer_bank') AND e.kind IN ('charge', 'refund', 'reversal')
  GROUP BY 1, 2, 3, 4`;

/**
 * Reasons that are the network's own words, as `reasonForAudit` has them. Whatever else a bank
 * writes is one kind.
 */
const REASON = (reason: string) => `CASE WHEN ${reason} IN ('expired', 'not_delivered', 'denied', 'suspended',
  'limit_reached', 'insufficient_funds', 'temporarily_unavailable') THEN ${reason} ELSE 'other' END`;

const COLUMNS = 'party_id, day, currency, what, reason, count, amount';

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE daily_totals_folded (
      party_id text NOT NULL,
      day      date NOT NULL,
      currency text NOT NULL,
      what     text NOT NULL CHECK (what IN ('charged', 'declined', 'refunded', 'reversed')),
      -- Of what was declined.
      reason   text NOT NULL,
      count    bigint NOT NULL,
      amount   numeric NOT NULL,
      PRIMARY KEY (party_id, day, currency, what, reason)
    );
    -- Without an index: it is read whole, and holds a minute's changes.
    CREATE TABLE daily_totals_changes (LIKE daily_totals_folded);

    CREATE VIEW daily_totals AS
      SELECT party_id, day, currency, what, reason, sum(count)::bigint AS count, sum(amount) AS amount
      FROM (SELECT * FROM daily_totals_folded UNION ALL SELECT * FROM daily_totals_changes) AS parts
      GROUP BY party_id, day, currency, what, reason;

    ${notePostings(`${CHANGES_BALANCES}
      INSERT INTO daily_totals_changes (${COLUMNS}) ${MOVED('posted')};`)};

    -- A charge may be declined as soon as it is made, by a limit.
    CREATE FUNCTION note_decline() RETURNS trigger LANGUAGE plpgsql
      SECURITY DEFINER SET search_path = public, pg_temp AS $$
    BEGIN
      INSERT INTO daily_totals_changes (${COLUMNS})
        SELECT party, (NEW.closed_at AT TIME ZONE d.time_zone)::date, NEW.currency, 'declined',
          ${REASON('NEW.decline_reason')}, 1, NEW.amount
        FROM deployment d, unnest(ARRAY[NEW.merchant_id, NEW.bank_id]) AS party WHERE party IS NOT NULL;
      RETURN NULL;
    END $$;
    CREATE TRIGGER billing_requests_note_decline AFTER UPDATE ON billing_requests FOR EACH ROW
      WHEN (OLD.status <> 'declined' AND NEW.status = 'declined') EXECUTE FUNCTION note_decline();
    CREATE TRIGGER billing_requests_note_decline_at_once AFTER INSERT ON billing_requests FOR EACH ROW
      WHEN (NEW.status = 'declined') EXECUTE FUNCTION note_decline();

    -- As fold_ledger_balances: what is not committed yet stays for the next time, and of two at
    -- once one does it.
    CREATE FUNCTION fold_daily_totals(at_most int) RETURNS int LANGUAGE plpgsql
      SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DECLARE
      folded int;
    BEGIN
      IF NOT pg_try_advisory_xact_lock(hashtextextended('daily_totals', 0)) THEN RETURN 0; END IF;
      WITH taken AS (
        DELETE FROM daily_totals_changes
        WHERE ctid = ANY (ARRAY(SELECT ctid FROM daily_totals_changes LIMIT at_most)) RETURNING *),
      summed AS (
        INSERT INTO daily_totals_folded AS f (${COLUMNS})
        SELECT party_id, day, currency, what, reason, sum(count), sum(amount) FROM taken
        GROUP BY party_id, day, currency, what, reason
        ON CONFLICT (party_id, day, currency, what, reason)
        DO UPDATE SET count = f.count + excluded.count, amount = f.amount + excluded.amount)
      SELECT count(*) INTO folded FROM taken;
      RETURN folded;
    END $$;
    REVOKE EXECUTE ON FUNCTION fold_daily_totals, note_decline FROM PUBLIC;

    GRANT SELECT ON daily_totals_folded, daily_totals_changes, daily_totals TO assent_app;
    GRANT EXECUTE ON FUNCTION fold_daily_totals TO assent_app;

    -- What has moved until now.
    INSERT INTO daily_totals_folded (${COLUMNS}) ${MOVED('ledger_postings')};
    INSERT INTO daily_totals_folded (${COLUMNS})
      SELECT party, (b.closed_at AT TIME ZONE d.time_zone)::date, b.currency, 'declined', ${REASON('b.decline_reason')},
        count(*), sum(b.amount)
      FROM billing_requests b, deployment d, unnest(ARRAY[b.merchant_id, b.bank_id]) AS party
      WHERE b.status = 'declined' AND party IS NOT NULL
      GROUP BY 1, 2, 3, 5;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TRIGGER billing_requests_note_decline ON billing_requests;
    DROP TRIGGER billing_requests_note_decline_at_once ON billing_requests;
    DROP FUNCTION note_decline;
    DROP FUNCTION fold_daily_totals;
    ${notePostings(CHANGES_BALANCES)};
    DROP VIEW daily_totals;
    DROP TABLE daily_totals_changes, daily_totals_folded;
  `);
}
