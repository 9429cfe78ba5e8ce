import type { Knex } from 'knex';

/**
 * Recurring schedules and their billings. A charge of a billing is a row of billing_requests, one
 * for each attempt; what a schedule has still to do follows from these rows and the calendar.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE schedules (
      id              text PRIMARY KEY CHECK (id ~ '^sch_'),
      agreement_id    text NOT NULL REFERENCES agreements,
      merchant_id     text NOT NULL REFERENCES entities,
      customer_id     text NOT NULL REFERENCES customers,
      bank_id         text NOT NULL REFERENCES entities,
      amount          amount NOT NULL,
      -- The schedule's own, for good: when the agreement's changes, the schedule is suspended.
      currency        currency NOT NULL,
      description     text CHECK (length(description) BETWEEN 1 AND 500),
      metadata        jsonb NOT NULL DEFAULT '{}',
      frequency       text NOT NULL CHECK (frequency IN ('daily', 'weekly', 'monthly', 'yearly')),
      every           int NOT NULL,
      start_at        timestamptz NOT NULL,
      end_at          timestamptz CHECK (end_at > start_at),
      max_billings    int CHECK (max_billings BETWEEN 1 AND 10000),
      status          text NOT NULL DEFAULT 'active' CHECK (status IN
                      ('active', 'paused', 'suspended', 'past_due', 'completed', 'cancelled', 'failed')),
      -- The merchant's own wish; kept while the schedule is suspended, and in force again after
      -- that.
      paused          boolean NOT NULL DEFAULT false,
      -- The first billing that is neither charged nor skipped yet, and when it is due; null when
      -- there is none.
      next_n          int NOT NULL DEFAULT 0 CHECK (next_n >= 0),
      next_due_at     timestamptz,
      -- The last billing that both sides were told of beforehand.
      noticed_n       int CHECK (noticed_n >= 0),
      -- Billings that succeeded or failed, and how many failed since the last that succeeded.
      ran             int NOT NULL DEFAULT 0 CHECK (ran >= 0),
      failed_in_a_row int NOT NULL DEFAULT 0 CHECK (failed_in_a_row BETWEEN 0 AND 3),
      -- When the schedule has something to do next; null once it will never have.
      acts_at         timestamptz,
      sequence        int NOT NULL DEFAULT 1 CHECK (sequence > 0),
      created_at      timestamptz NOT NULL,
      updated_at      timestamptz NOT NULL,
      recorded_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
      CHECK (every BETWEEN 1 AND
             CASE frequency WHEN 'daily' THEN 1095 WHEN 'weekly' THEN 156 WHEN 'monthly' THEN 36 ELSE 3 END),
      CHECK (ran <= next_n AND failed_in_a_row <= ran AND ran <= max_billings),
      CHECK (status <> 'paused' OR paused),
      CHECK (status NOT IN ('active', 'past_due') OR NOT paused),
      CHECK (CASE WHEN status IN ('completed', 'cancelled', 'failed') THEN next_due_at IS NULL
                  ELSE acts_at IS NOT NULL END),
      CHECK (status <> 'failed' OR failed_in_a_row = 3)
    );
    CREATE INDEX schedules_of_agreement ON schedules (agreement_id);
    CREATE INDEX schedules_of_merchant ON schedules (merchant_id, id DESC);
    -- What the sandbox clock asks: what does this merchant have to do, and when is the next of it.
    CREATE INDEX schedules_acting ON schedules (merchant_id, acts_at) WHERE acts_at IS NOT NULL;

    -- A billing has a row from its first attempt on, or from the moment that it was skipped; the
    -- one to come is next_n of its schedule.
    CREATE TABLE billings (
      schedule_id      text NOT NULL REFERENCES schedules,
      n                int NOT NULL CHECK (n >= 0),
      due_at           timestamptz NOT NULL,
      status           text NOT NULL CHECK (status IN ('pending', 'retrying', 'successful', 'failed', 'skipped')),
      -- Why it was skipped, or why the last attempt was declined.
      reason           text,
      attempts         int NOT NULL CHECK (attempts >= 0),
      first_attempt_at timestamptz CHECK (first_attempt_at >= due_at),
      retry_at         timestamptz,
      closed_at        timestamptz,
      PRIMARY KEY (schedule_id, n),
      CHECK ((status = 'skipped') = (attempts = 0)),
      CHECK ((attempts = 0) = (first_attempt_at IS NULL)),
      CHECK ((status = 'retrying') = (retry_at IS NOT NULL)),
      CHECK ((status IN ('pending', 'retrying')) = (closed_at IS NULL)),
      CHECK ((status IN ('pending', 'successful')) = (reason IS NULL)),
      CHECK (status <> 'skipped' OR reason IN ('arrears', 'paused', 'suspended'))
    );
    -- A schedule has one charge in hand at a time; those that fall due meanwhile wait for it.
    CREATE UNIQUE INDEX billings_one_open ON billings (schedule_id) WHERE status IN ('pending', 'retrying');

    ALTER TABLE billing_requests ADD CONSTRAINT billing_requests_of_billing
      FOREIGN KEY (schedule_id, billing_n) REFERENCES billings (schedule_id, n);

    -- Spans in which nothing is charged. Kept after their end, so that a due date inside one is
    -- known to have been missed on purpose, whenever the schedule comes to look at it.
    CREATE TABLE schedule_holds (
      schedule_id text NOT NULL REFERENCES schedules,
      reason      text NOT NULL CHECK (reason IN ('paused', 'suspended')),
      from_at     timestamptz NOT NULL,
      to_at       timestamptz CHECK (to_at >= from_at),
      PRIMARY KEY (schedule_id, reason, from_at)
    );
    CREATE UNIQUE INDEX schedule_holds_one_open ON schedule_holds (schedule_id, reason) WHERE to_at IS NULL;

    GRANT SELECT, INSERT ON schedules, billings, schedule_holds TO assent_app;
    -- Between whom, in which currency and on which dates is for good.
    GRANT UPDATE (amount, description, metadata, end_at, max_billings, status, paused, next_n, next_due_at, noticed_n,
      ran, failed_in_a_row, acts_at, sequence, updated_at) ON schedules TO assent_app;
    GRANT UPDATE (status, reason, attempts, retry_at, closed_at) ON billings TO assent_app;
    GRANT UPDATE (to_at) ON schedule_holds TO assent_app;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE billing_requests DROP CONSTRAINT billing_requests_of_billing;
    DROP TABLE schedule_holds, billings, schedules;
  `);
}
