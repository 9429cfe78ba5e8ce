import type { Knex } from 'knex';

/**
 * Agreements as their merchant, or its provider, lists them; and charges that their merchant has
 * cancelled.
 */
const LAST_REASON = "'temporarily_unavailable'";

/** The daily totals count declines by their reason: in each function that lists the reasons. */
const inTotals = (before: string, after: string) => `
  DO $do$
  DECLARE
    lists_reasons regprocedure;
  BEGIN
    FOR lists_reasons IN SELECT oid FROM pg_proc
      WHERE pronamespace = 'public'::regnamespace AND prosrc LIKE '%' || $text$${before}$text$ || '%'
    LOOP
      EXECUTE replace(pg_get_functiondef(lists_reasons), $text$${before}$text$, $text$${after}$text$);
    END LOOP;
  END $do$;`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE agreements
      ADD COLUMN provider_id text REFERENCES entities,
      -- The customer has approved it, be it long ago: from then on the merchant has its paymentID.
      ADD COLUMN approved    boolean NOT NULL DEFAULT false;
    UPDATE agreements a SET provider_id = e.provider_id, approved = a.decision LIKE 'approve%'
      FROM entities e WHERE e.id = a.merchant_id;
    CREATE TRIGGER agreements_name_provider BEFORE INSERT ON agreements
      FOR EACH ROW EXECUTE FUNCTION name_provider();
    CREATE INDEX agreements_of_merchant ON agreements (merchant_id, id);
    CREATE INDEX agreements_of_merchant_by_decision ON agreements (merchant_id, decision, id);
    CREATE INDEX agreements_of_provider ON agreements (provider_id, id) WHERE provider_id IS NOT NULL;
    CREATE INDEX agreements_of_provider_by_decision ON agreements (provider_id, decision, id)
      WHERE provider_id IS NOT NULL;
    GRANT UPDATE (approved) ON agreements TO assent_app;

    ALTER TABLE billing_requests DROP CONSTRAINT billing_requests_closed_by_check;
    ALTER TABLE billing_requests ADD CONSTRAINT billing_requests_closed_by_check
      CHECK (closed_by IN ('bank', 'network', 'merchant', 'provider')) NOT VALID;
    ${inTotals(LAST_REASON, `${LAST_REASON}, 'cancelled'`)}
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE billing_requests DROP CONSTRAINT billing_requests_closed_by_check;
    ALTER TABLE billing_requests ADD CONSTRAINT billing_requests_closed_by_check
      CHECK (closed_by IN ('bank', 'network')) NOT VALID;
    DROP TRIGGER agreements_name_provider ON agreements;
    ALTER TABLE agreements DROP COLUMN provider_id, DROP COLUMN approved;
    ${inTotals(`${LAST_REASON}, 'cancelled'`, LAST_REASON)}
  `);
}
