import type { Knex } from 'knex';

/**
 * A daily total that is wrong is made right from what it is made of. What is missing, or too much,
 * is added as one more change, so that what is booked meanwhile counts as ever. The role that
 * serves has no say in the amount.
 *
 * What somebody has to look into is counted kind by kind, so its index is, too.
 */

/** As `note_decline` has it. */
const REASON = `CASE WHEN b.decline_reason IN ('expired', 'not_delivered', 'denied', 'suspended', 'limit_reached',
  'insufficient_funds', 'temporarily_unavailable') THEN b.decline_reason ELSE 'other' END`;

/** Longest that a zone sets its clocks back: around midnight, a day has such an hour twice. */
const SET_BACK = `interval '3 hours'`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP INDEX reconciliation_exceptions_unresolved;
    CREATE INDEX reconciliation_exceptions_unresolved ON reconciliation_exceptions (kind, recorded_at, id)
      INCLUDE (state) WHERE state <> 'resolved';

    CREATE FUNCTION mend_daily_totals(of_day date) RETURNS int LANGUAGE plpgsql
      SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DECLARE
      mended int;
    BEGIN
      -- Two at once would both add what is missing. The statement below sees what the one before
      -- has committed.
      PERFORM pg_advisory_xact_lock(hashtextextended('mend_daily_totals', 0));
      INSERT INTO daily_totals_changes (party_id, day, currency, what, reason, count, amount)
      SELECT party_id, of_day, currency, what, reason, sum(count), sum(amount)
      FROM (
        SELECT p.party_id, p.currency::text AS currency,
          CASE e.kind WHEN 'charge' THEN 'charged' WHEN 'refund' THEN 'refunded' ELSE 'reversed' END AS what,
          '' AS reason, count(*) AS count, sum(p.amount) AS amount
        FROM ledger_entries e JOIN ledger_postings p ON p.entry_id = e.id
        WHERE e.settlement_day = of_day AND e.kind IN ('charge', 'refund', 'reversal')
          AND p.account IN ('merchant', 'customer_bank')
        GROUP BY 1, 2, 3
        UNION ALL
        SELECT party, b.currency::text, 'declined', ${REASON}, count(*), sum(b.amount)
        FROM deployment d, billing_requests b, unnest(ARRAY[b.merchant_id, b.bank_id]) AS party
        WHERE b.status = 'declined' AND party IS NOT NULL
          AND b.closed_at >= (of_day::timestamp AT TIME ZONE d.time_zone) - ${SET_BACK}
          AND b.closed_at < ((of_day + 1)::timestamp AT TIME ZONE d.time_zone) + ${SET_BACK}
          AND (b.closed_at AT TIME ZONE d.time_zone)::date = of_day
        GROUP BY 1, 2, 4
        UNION ALL
        SELECT f.party_id, f.currency, f.what, f.reason, -f.count, -f.amount
        FROM entities n CROSS JOIN LATERAL (
          SELECT * FROM daily_totals_folded WHERE party_id = n.id AND day = of_day) AS f
        UNION ALL
        SELECT party_id, currency, what, reason, -count, -amount FROM daily_totals_changes WHERE day = of_day
      ) AS parts
      GROUP BY party_id, currency, what, reason
      HAVING sum(count) <> 0 OR sum(amount) <> 0;
      GET DIAGNOSTICS mended = ROW_COUNT;
      RETURN mended;
    END $$;
    REVOKE EXECUTE ON FUNCTION mend_daily_totals FROM PUBLIC;
    GRANT EXECUTE ON FUNCTION mend_daily_totals TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP FUNCTION mend_daily_totals;
    DROP INDEX reconciliation_exceptions_unresolved;
    CREATE INDEX reconciliation_exceptions_unresolved ON reconciliation_exceptions (recorded_at, id)
      INCLUDE (kind) WHERE state <> 'resolved';
  `);
}
