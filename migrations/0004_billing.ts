import type { Knex } from 'knex';

/**
 * Agreements, the intents that ask for them, and charges.
 *
 * Locks are taken in one order, so that no two transactions wait for each other:
 * agreement, then schedule, then intent or billing request; several of a kind by ascending id.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE DOMAIN amount AS bigint CHECK (VALUE > 0 AND VALUE <= 1000000000000);
    CREATE DOMAIN currency AS text CHECK (VALUE ~ '^[A-Z]{3}$');

    CREATE TABLE agreements (
      id                text PRIMARY KEY CHECK (id ~ '^agr_'),
      merchant_id       text NOT NULL REFERENCES entities,
      customer_id       text NOT NULL REFERENCES customers,
      bank_id           text NOT NULL REFERENCES entities,
      decision          text NOT NULL DEFAULT 'pending'
                        CHECK (decision IN ('pending', 'approve_once', 'approve_recurring', 'deny', 'suspended')),
      blocked           boolean NOT NULL DEFAULT false,
      currency          currency NOT NULL,
      daily_limit       amount,
      monthly_limit     amount,
      -- What is pending or settled on the calendar day and in the month named, in minor units. A
      -- charge counts by one guarded UPDATE; on a later day or month the sum starts anew.
      spent_day         date NOT NULL DEFAULT '-infinity',
      spent_day_total   bigint NOT NULL DEFAULT 0 CHECK (spent_day_total >= 0),
      spent_month       date NOT NULL DEFAULT '-infinity',
      spent_month_total bigint NOT NULL DEFAULT 0 CHECK (spent_month_total >= 0),
      -- The key that paymentIDs of this agreement are made with, for good: keys rotate, the string
      -- stays.
      payment_id_key    text NOT NULL,
      sequence          int NOT NULL DEFAULT 1 CHECK (sequence > 0),
      created_at        timestamptz NOT NULL,
      updated_at        timestamptz NOT NULL,
      UNIQUE (merchant_id, customer_id),
      CHECK (NOT blocked OR decision = 'deny')
    );
    CREATE INDEX agreements_of_customer ON agreements (customer_id);
    CREATE INDEX agreements_of_bank ON agreements (bank_id, id);

    CREATE TABLE intents (
      id                text PRIMARY KEY CHECK (id ~ '^int_'),
      reference         text NOT NULL UNIQUE,
      agreement_id      text NOT NULL REFERENCES agreements,
      merchant_id       text NOT NULL REFERENCES entities,
      customer_id       text NOT NULL REFERENCES customers,
      bank_id           text NOT NULL REFERENCES entities,
      lookup_id         text NOT NULL,
      batch_id          text NOT NULL CHECK (batch_id ~ '^bat_'),
      currency          currency NOT NULL,
      description       text NOT NULL,
      due_date          timestamptz,
      status            text NOT NULL DEFAULT 'pending'
                        CHECK (status IN ('pending', 'approved', 'declined', 'superseded')),
      reason            text CHECK (reason IN ('denied', 'suspended', 'blocked', 'expired')),
      customer_decision text CHECK (customer_decision IN ('approve_once', 'approve_recurring', 'deny', 'suspended')),
      daily_limit       amount,
      monthly_limit     amount,
      block_merchant    boolean NOT NULL DEFAULT false,
      expires_at        timestamptz NOT NULL,
      closed_at         timestamptz,
      sequence          int NOT NULL DEFAULT 1 CHECK (sequence > 0),
      workflow_id       text NOT NULL,
      bank_delivery_id  text REFERENCES webhook_deliveries,
      created_at        timestamptz NOT NULL,
      recorded_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
      CHECK ((status = 'pending') = (closed_at IS NULL)),
      CHECK ((status = 'declined') = (reason IS NOT NULL)),
      CHECK ((status = 'approved') = (customer_decision IS NOT NULL
             AND customer_decision IN ('approve_once', 'approve_recurring') AND NOT block_merchant))
    );
    CREATE UNIQUE INDEX intents_one_open ON intents (agreement_id) WHERE status = 'pending';
    CREATE INDEX intents_of_agreement ON intents (agreement_id, id DESC);
    CREATE INDEX intents_open_of_merchant ON intents (merchant_id, expires_at) WHERE status = 'pending';

    -- A charge: the record of the money. Its transaction is the same row, seen from the history.
    CREATE TABLE billing_requests (
      id                  text PRIMARY KEY CHECK (id ~ '^brq_'),
      transaction_id      text NOT NULL UNIQUE CHECK (transaction_id ~ '^txn_'),
      reference           text NOT NULL UNIQUE,
      batch_id            text NOT NULL CHECK (batch_id ~ '^bat_'),
      merchant_id         text NOT NULL REFERENCES entities,
      customer_id         text NOT NULL REFERENCES customers,
      bank_id             text NOT NULL REFERENCES entities,
      lookup_id           text NOT NULL,
      -- Set when billed with a paymentID; a one-time bill by lookupID needs no agreement.
      agreement_id        text REFERENCES agreements,
      -- Set for the charge of a schedule: its n-th billing, and which attempt at it.
      schedule_id         text CHECK (schedule_id ~ '^sch_'),
      billing_n           int CHECK (billing_n >= 0),
      attempt             int CHECK (attempt > 0),
      amount              amount NOT NULL,
      currency            currency NOT NULL,
      description         text NOT NULL,
      approval_required   boolean NOT NULL,
      status              text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'successful', 'declined')),
      -- Who ended it: the bank by its answer, or the network by a window or a limit.
      closed_by           text CHECK (closed_by IN ('bank', 'network')),
      decline_reason      text,
      bank_transaction_id text,
      -- The bank's own notes on its answer.
      bank_metadata       jsonb,
      -- What the bank's answer said in the guide's form, to tell the same answer from another.
      answer_action       text CHECK (answer_action IN ('approve_once', 'approve_recurring', 'deny', 'suspended')),
      -- The day and month whose sums this charge counts in; a decline takes it out of them again.
      counted_day         date,
      counted_month       date,
      expires_at          timestamptz NOT NULL,
      closed_at           timestamptz,
      sequence            int NOT NULL DEFAULT 1 CHECK (sequence > 0),
      workflow_id         text NOT NULL,
      bank_delivery_id    text REFERENCES webhook_deliveries,
      created_at          timestamptz NOT NULL,
      recorded_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
      UNIQUE (schedule_id, billing_n, attempt),
      UNIQUE (bank_id, bank_transaction_id),
      CHECK ((status = 'pending') = (closed_at IS NULL)),
      CHECK ((status = 'pending') = (closed_by IS NULL)),
      CHECK ((status = 'declined') = (decline_reason IS NOT NULL)),
      CHECK ((status = 'successful') = (bank_transaction_id IS NOT NULL)),
      CHECK (status <> 'successful' OR closed_by = 'bank'),
      CHECK ((schedule_id IS NULL) = (billing_n IS NULL) AND (schedule_id IS NULL) = (attempt IS NULL)),
      CHECK ((counted_day IS NULL) = (counted_month IS NULL)),
      CHECK (schedule_id IS NULL OR agreement_id IS NOT NULL)
    );
    CREATE INDEX billing_requests_open_of_workflow ON billing_requests (workflow_id) WHERE status = 'pending';
    CREATE INDEX billing_requests_open_of_merchant ON billing_requests (merchant_id, expires_at)
      WHERE status = 'pending';
    CREATE INDEX billing_requests_of_merchant ON billing_requests (merchant_id, created_at DESC, id DESC);
    CREATE INDEX billing_requests_of_bank ON billing_requests (bank_id, created_at DESC, id DESC);
    CREATE INDEX billing_requests_of_customer ON billing_requests (customer_id, created_at DESC, id DESC);

    -- Where the network's word and the bank's may differ: somebody must look, for money may have
    -- moved.
    CREATE TABLE reconciliation_exceptions (
      id                  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      billing_request_id  text NOT NULL REFERENCES billing_requests,
      kind                text NOT NULL CHECK (kind IN ('unanswered', 'late_answer', 'conflicting_answer')),
      -- What the bank said too late, empty for 'unanswered'; the same answer again is the same
      -- exception.
      outcome             text NOT NULL DEFAULT '' CHECK (outcome IN ('', 'approved', 'declined')),
      bank_transaction_id text NOT NULL DEFAULT '',
      decline_reason      text NOT NULL DEFAULT '',
      business_at         timestamptz NOT NULL,
      recorded_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
      UNIQUE (billing_request_id, kind, outcome, bank_transaction_id, decline_reason)
    );

    GRANT SELECT, INSERT ON agreements, intents, billing_requests, reconciliation_exceptions TO assent_app;
    -- Who, whom and how much are for good: what ends a charge cannot make it another one.
    GRANT UPDATE (decision, blocked, currency, daily_limit, monthly_limit, spent_day, spent_day_total, spent_month,
      spent_month_total, sequence, updated_at) ON agreements TO assent_app;
    GRANT UPDATE (status, reason, customer_decision, daily_limit, monthly_limit, block_merchant, closed_at, sequence)
      ON intents TO assent_app;
    GRANT UPDATE (status, closed_by, decline_reason, bank_transaction_id, bank_metadata, answer_action, counted_day,
      counted_month, closed_at, sequence) ON billing_requests TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE reconciliation_exceptions, billing_requests, intents, agreements;
    DROP DOMAIN currency;
    DROP DOMAIN amount;
  `);
}
