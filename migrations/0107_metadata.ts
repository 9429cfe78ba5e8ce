import type { Knex } from 'knex';

/**
 * Notes of a merchant on its intents, charges and refunds. A reversal has those of its charge.
 *
 * The history is found by one pair of name and value. An index holds a hash of each pair with whose
 * it is: the merchant's provider, or the merchant. So nobody's search reads what others have noted,
 * and the index repeats no text, which may be personal.
 */

/** @param metadata the last columns */
function transactions(metadata: '' | ', metadata') {
  const of = (row: string) => metadata.replace('metadata', `${row}.metadata`);
  return `
    CREATE OR REPLACE VIEW transactions AS
      SELECT transaction_id, id, reference, 'charge' AS type, status, amount, currency, description, customer_id,
        merchant_id, bank_id, id AS billing_request_id, schedule_id, bank_transaction_id, decline_reason,
        refunded_amount, created_at, CASE WHEN status = 'successful' THEN closed_at END AS settled_at,
        payee_customer_id, payee_bank_id, payee_lookup_id, provider_id, reversed_amount${metadata}
      FROM billing_requests
      UNION ALL
      SELECT r.transaction_id, r.id, r.reference, 'refund', r.status, r.amount, r.currency,
        coalesce(r.reason, (SELECT description FROM billing_requests b WHERE b.id = r.billing_request_id)),
        r.customer_id, r.merchant_id, r.bank_id, r.billing_request_id,
        (SELECT schedule_id FROM billing_requests b WHERE b.id = r.billing_request_id), r.bank_transaction_id,
        r.reject_reason, 0::bigint, r.created_at, CASE WHEN r.status IN ('completed', 'returned') THEN r.closed_at END,
        NULL, NULL, NULL, r.provider_id, 0::bigint${of('r')}
      FROM refunds r
      UNION ALL
      SELECT v.transaction_id, v.transaction_id, v.reference, 'reversal', 'completed', v.amount, v.currency,
        (SELECT description FROM billing_requests b WHERE b.id = v.billing_request_id),
        v.customer_id, v.merchant_id, v.bank_id, v.billing_request_id,
        (SELECT schedule_id FROM billing_requests b WHERE b.id = v.billing_request_id), v.bank_transaction_id,
        NULL, 0::bigint, v.created_at, v.created_at, v.payee_customer_id, v.payee_bank_id,
        (SELECT payee_lookup_id FROM billing_requests b WHERE b.id = v.billing_request_id), v.provider_id,
        0::bigint${of('v')}
      FROM reversals v
      UNION ALL
      SELECT r.return_transaction_id, r.return_transaction_id, r.return_reference, 'refund_return', 'completed',
        r.amount, r.currency,
        coalesce(r.reason, (SELECT description FROM billing_requests b WHERE b.id = r.billing_request_id)),
        r.customer_id, r.merchant_id, r.bank_id, r.billing_request_id,
        (SELECT schedule_id FROM billing_requests b WHERE b.id = r.billing_request_id),
        (SELECT reversal_bank_transaction_id FROM reconciliation_exceptions x WHERE x.id = r.returned_by),
        NULL, 0::bigint, r.returned_at, r.returned_at, NULL, NULL, NULL, r.provider_id, 0::bigint${of('r')}
      FROM refunds r WHERE r.returned_at IS NOT NULL;`;
}

export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE intents ADD COLUMN metadata jsonb NOT NULL DEFAULT '{}';
    ALTER TABLE billing_requests ADD COLUMN metadata jsonb NOT NULL DEFAULT '{}';
    ALTER TABLE refunds ADD COLUMN metadata jsonb NOT NULL DEFAULT '{}';
    ALTER TABLE reversals ADD COLUMN metadata jsonb NOT NULL DEFAULT '{}';

    CREATE FUNCTION metadata_hashes(owner text, metadata jsonb) RETURNS bigint[]
      LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, public, pg_temp AS $$
      -- Neither a name nor a value has a line break in it.
      SELECT array_agg(hashtextextended(owner || E'\\n' || name || E'\\n' || value, 0))
      FROM jsonb_each_text(metadata) AS pair (name, value)
    $$;
    -- Without a list of pending rows, which one charge among thousands would have to put in order.
    CREATE INDEX billing_requests_by_metadata ON billing_requests
      USING gin (metadata_hashes(coalesce(provider_id, merchant_id), metadata)) WITH (fastupdate = off)
      WHERE metadata <> '{}';
    CREATE INDEX refunds_by_metadata ON refunds
      USING gin (metadata_hashes(coalesce(provider_id, merchant_id), metadata)) WITH (fastupdate = off)
      WHERE metadata <> '{}';
    CREATE INDEX reversals_by_metadata ON reversals
      USING gin (metadata_hashes(coalesce(provider_id, merchant_id), metadata)) WITH (fastupdate = off)
      WHERE metadata <> '{}';

    ${transactions(', metadata')}
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP VIEW transactions;
    ${transactions('')}
    GRANT SELECT ON transactions TO assent_app;
    ALTER TABLE intents DROP COLUMN metadata;
    ALTER TABLE billing_requests DROP COLUMN metadata;
    ALTER TABLE refunds DROP COLUMN metadata;
    ALTER TABLE reversals DROP COLUMN metadata;
    DROP FUNCTION metadata_hashes;
  `);
}
