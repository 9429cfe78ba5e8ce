import type { Knex } from 'knex';

/**
 * One table for all that somebody has to look into, of charges and of refunds: each with an id of
 * its own, a state, and what it keeps from being refunded.
 *
 * What a bank left unanswered and then answered late is one story, so it is one row, whose kind
 * becomes that of its second half. The halves are events of it.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE reconciliation_exceptions RENAME TO charge_exceptions;

    CREATE TABLE reconciliation_exceptions (
      id                  text PRIMARY KEY CHECK (id ~ '^exc_'),
      kind                text NOT NULL CHECK (kind IN ('unanswered', 'late_answer', 'conflicting_answer',
                          'duplicate_transaction_id', 'refund_conflict', 'credit_undelivered')),
      state               text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'investigating', 'resolved')),
      billing_request_id  text NOT NULL REFERENCES billing_requests,
      refund_id           text REFERENCES refunds,
      amount              amount NOT NULL,
      currency            currency NOT NULL,
      -- What the bank said, where it said anything; the same again is the same exception.
      outcome             text CHECK (outcome IN ('approved', 'declined', 'completed', 'rejected')),
      bank_transaction_id text,
      reason              text,
      -- Of the amount, what may not be refunded until this is resolved.
      held                bigint NOT NULL DEFAULT 0 CHECK (held BETWEEN 0 AND amount),
      -- Counts its events.
      sequence            int NOT NULL DEFAULT 1 CHECK (sequence > 0),
      opened_at           timestamptz NOT NULL,
      recorded_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
      UNIQUE NULLS NOT DISTINCT (billing_request_id, refund_id, kind, outcome, bank_transaction_id, reason),
      CHECK ((outcome IS NULL) = (kind IN ('unanswered', 'credit_undelivered'))),
      CHECK (refund_id IS NOT NULL OR kind <> 'refund_conflict'),
      CHECK (refund_id IS NULL OR kind IN ('refund_conflict', 'duplicate_transaction_id'))
    );

    -- The sum of what the exceptions of a charge hold, beside refunded_amount, so that one UPDATE
    -- judges a refund.
    ALTER TABLE billing_requests ADD COLUMN held_amount bigint NOT NULL DEFAULT 0
      CONSTRAINT billing_requests_held CHECK (held_amount >= 0);

    -- A TypeID as domain/identifier/ids.ts makes it: a prefix, and a UUIDv7 of that moment in base32.
    CREATE FUNCTION pg_temp.new_id(prefix text, at timestamptz) RETURNS text LANGUAGE sql VOLATILE AS $$
      SELECT prefix || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz',
        substring(B'00' || ('x' || lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7'
          || substr(random, 14, 3) || substr(random, 17))::bit(128) FROM i * 5 + 1 FOR 5)::int + 1, 1), '' ORDER BY i)
      FROM replace(gen_random_uuid()::text, '-', '') AS random, generate_series(0, 25) AS i
    $$;

    -- The first late answer is the other half of what was unanswered.
    CREATE TEMPORARY TABLE halves ON COMMIT DROP AS
      SELECT l.id AS late, u.id AS unanswered, u.business_at, u.recorded_at
      FROM charge_exceptions u JOIN LATERAL (
        SELECT id FROM charge_exceptions WHERE billing_request_id = u.billing_request_id AND kind = 'late_answer'
        ORDER BY id LIMIT 1) AS l ON true
      WHERE u.kind = 'unanswered';
    INSERT INTO reconciliation_exceptions (id, kind, billing_request_id, amount, currency, outcome, bank_transaction_id,
        reason, held, sequence, opened_at, recorded_at)
      SELECT pg_temp.new_id('exc_', x.recorded_at), x.kind, b.id, b.amount, b.currency, nullif(x.outcome, ''),
        nullif(x.bank_transaction_id, ''), nullif(x.decline_reason, ''),
        CASE WHEN x.kind = 'conflicting_answer' AND b.status = 'successful' THEN b.amount ELSE 0 END,
        CASE WHEN h.late IS NULL THEN 1 ELSE 2 END,
        coalesce(h.business_at, x.business_at), coalesce(h.recorded_at, x.recorded_at)
      FROM charge_exceptions x JOIN billing_requests b ON b.id = x.billing_request_id LEFT JOIN halves h ON h.late = x.id
      WHERE x.id NOT IN (SELECT unanswered FROM halves) ORDER BY x.id;
    INSERT INTO reconciliation_exceptions (id, kind, billing_request_id, refund_id, amount, currency, outcome,
        bank_transaction_id, reason, held, opened_at, recorded_at)
      SELECT pg_temp.new_id('exc_', x.recorded_at), 'refund_conflict', r.billing_request_id, r.id, r.amount, r.currency,
        x.action, nullif(x.bank_transaction_id, ''), nullif(x.reason, ''),
        CASE WHEN x.action = 'completed' THEN r.amount ELSE 0 END, x.business_at, x.recorded_at
      FROM refund_exceptions x JOIN refunds r ON r.id = x.refund_id ORDER BY x.id;
    UPDATE billing_requests b SET held_amount = h.held
      FROM (SELECT billing_request_id AS id, sum(held) AS held FROM reconciliation_exceptions GROUP BY 1) AS h
      WHERE b.id = h.id AND h.held > 0;

    INSERT INTO events (id, resource_id, sequence, type, cause, details, business_at)
      SELECT pg_temp.new_id('evt_', clock_timestamp()), x.id, n,
        CASE n WHEN 1 THEN 'exception.opened' ELSE 'exception.updated' END,
        CASE WHEN kind = 'unanswered' OR n < x.sequence THEN 'network' ELSE 'bank' END,
        jsonb_build_object('kind', CASE WHEN n < x.sequence THEN 'unanswered' ELSE kind END,
          'billingRequestId', billing_request_id, 'refundId', refund_id, 'amount', amount::text, 'currency', currency),
        opened_at
      FROM reconciliation_exceptions x, generate_series(1, x.sequence) AS n ORDER BY x.id, n;

    DROP TABLE charge_exceptions, refund_exceptions;
    DROP FUNCTION pg_temp.new_id;
    CREATE TRIGGER reconciliation_exceptions_record_time BEFORE INSERT ON reconciliation_exceptions
      FOR EACH ROW EXECUTE FUNCTION set_record_time_recorded_at();

    GRANT SELECT, INSERT ON reconciliation_exceptions TO assent_app;
    -- What it is about, and how much, is for good.
    GRANT UPDATE (kind, outcome, bank_transaction_id, reason, held, sequence) ON reconciliation_exceptions TO assent_app;
    GRANT UPDATE (held_amount) ON billing_requests TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE reconciliation_exceptions RENAME TO all_exceptions;
    CREATE TABLE reconciliation_exceptions (
      id                  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      billing_request_id  text NOT NULL REFERENCES billing_requests,
      kind                text NOT NULL CHECK (kind IN ('unanswered', 'late_answer', 'conflicting_answer')),
      outcome             text NOT NULL DEFAULT '' CHECK (outcome IN ('', 'approved', 'declined')),
      bank_transaction_id text NOT NULL DEFAULT '',
      decline_reason      text NOT NULL DEFAULT '',
      business_at         timestamptz NOT NULL,
      recorded_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
      UNIQUE (billing_request_id, kind, outcome, bank_transaction_id, decline_reason)
    );
    CREATE TABLE refund_exceptions (
      id                  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      refund_id           text NOT NULL REFERENCES refunds,
      action              text NOT NULL CHECK (action IN ('completed', 'rejected')),
      bank_transaction_id text NOT NULL,
      reason              text NOT NULL,
      business_at         timestamptz NOT NULL,
      recorded_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
      UNIQUE (refund_id, action, bank_transaction_id, reason)
    );
    INSERT INTO reconciliation_exceptions (billing_request_id, kind, business_at, recorded_at)
      SELECT billing_request_id, 'unanswered', opened_at, recorded_at FROM all_exceptions
      WHERE kind = 'unanswered' OR (kind = 'late_answer' AND sequence > 1) ORDER BY id;
    INSERT INTO reconciliation_exceptions (billing_request_id, kind, outcome, bank_transaction_id, decline_reason,
        business_at, recorded_at)
      SELECT billing_request_id, kind, outcome, coalesce(bank_transaction_id, ''), coalesce(reason, ''), opened_at, recorded_at
      FROM all_exceptions WHERE kind IN ('late_answer', 'conflicting_answer') ORDER BY id;
    INSERT INTO refund_exceptions (refund_id, action, bank_transaction_id, reason, business_at, recorded_at)
      SELECT refund_id, outcome, coalesce(bank_transaction_id, ''), coalesce(reason, ''), opened_at, recorded_at
      FROM all_exceptions WHERE kind = 'refund_conflict' ORDER BY id;
    DROP TABLE all_exceptions;
    CREATE TRIGGER reconciliation_exceptions_record_time BEFORE INSERT ON reconciliation_exceptions
      FOR EACH ROW EXECUTE FUNCTION set_record_time_recorded_at();
    CREATE TRIGGER refund_exceptions_record_time BEFORE INSERT ON refund_exceptions
      FOR EACH ROW EXECUTE FUNCTION set_record_time_recorded_at();
    ALTER TABLE billing_requests DROP COLUMN held_amount;
    GRANT SELECT, INSERT ON reconciliation_exceptions, refund_exceptions TO assent_app;
  `);
}
