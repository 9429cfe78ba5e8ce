/**
 * Agreements, the intents that ask for them, schedules, and charges. Locks are taken in one order:
 * agreement, schedule, then intent or billing request; several of a kind by ascending id. So no two
 * transactions wait for each other.
 */
export const sql = `
    CREATE FUNCTION name_provider() RETURNS trigger LANGUAGE plpgsql
      SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
      NEW.provider_id := (SELECT provider_id FROM public.entities WHERE id = NEW.merchant_id);
      RETURN NEW;
    END $$;

    CREATE FUNCTION metadata_hashes(owner text, metadata jsonb) RETURNS bigint[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
      SET search_path = pg_catalog, pg_temp AS $$
    -- Neither a name nor a value has a line break in it. Without a name a value is found in small
    -- or capital letters.
    SELECT array_agg(hashtextextended(owner || E'\\n' || hashed, 0))
    FROM jsonb_each_text(metadata) AS pair (name, value),
      unnest(ARRAY[name || E'\\n' || value, E'\\n' || lower(value COLLATE "C")]) AS hashed $$;

    CREATE DOMAIN charge_count AS int CHECK (VALUE BETWEEN 1 AND 10000);
    -- A member that is null does not limit. Named as in the API, and judged in this order.
    CREATE TYPE spending_limits AS (
      "perCharge"     amount,
      daily           amount,
      weekly          amount,
      monthly         amount,
      yearly          amount,
      total           amount,
      "count.daily"   charge_count,
      "count.weekly"  charge_count,
      "count.monthly" charge_count,
      "count.yearly"  charge_count,
      "count.total"   charge_count,
      "validFrom"     timestamptz,
      "validUntil"    timestamptz
    );

    CREATE TABLE agreements (
      id                   text PRIMARY KEY CHECK (id ~ '^agr_'),
      merchant_id          text NOT NULL REFERENCES entities,
      customer_id          text NOT NULL REFERENCES customers,
      bank_id              text NOT NULL REFERENCES entities,
      decision             text NOT NULL DEFAULT 'pending'
                           CHECK (decision IN ('pending', 'approve_once', 'approve_recurring', 'deny', 'suspended')),
      blocked              boolean NOT NULL DEFAULT false,
      currency             currency NOT NULL,
      limits               spending_limits,
      -- The approved intents so far, and when the last was approved.
      terms                int NOT NULL DEFAULT 0 CHECK (terms >= 0),
      terms_since          timestamptz,
      -- The customer's pause ends then; infinity: once the customer resumes.
      paused_until         timestamptz,
      -- When its workflow has something to do next; null as long as there is nothing to come.
      acts_at              timestamptz,
      -- The end of the span that both sides were told of beforehand.
      expiring_told        timestamptz,
      -- Sums pending or settled in the windows that hold the latest day counted, in minor units, and
      -- their charges. A charge counts by one guarded UPDATE; in a later window they start anew.
      spent_on             date NOT NULL DEFAULT '-infinity',
      spent_daily          bigint NOT NULL DEFAULT 0 CHECK (spent_daily >= 0),
      spent_weekly         bigint NOT NULL DEFAULT 0 CHECK (spent_weekly >= 0),
      spent_monthly        bigint NOT NULL DEFAULT 0 CHECK (spent_monthly >= 0),
      spent_yearly         bigint NOT NULL DEFAULT 0 CHECK (spent_yearly >= 0),
      -- Of the charges under the terms that hold.
      spent_total          bigint NOT NULL DEFAULT 0 CHECK (spent_total >= 0),
      charges_daily        int NOT NULL DEFAULT 0 CHECK (charges_daily >= 0),
      charges_weekly       int NOT NULL DEFAULT 0 CHECK (charges_weekly >= 0),
      charges_monthly      int NOT NULL DEFAULT 0 CHECK (charges_monthly >= 0),
      charges_yearly       int NOT NULL DEFAULT 0 CHECK (charges_yearly >= 0),
      charges_total        int NOT NULL DEFAULT 0 CHECK (charges_total >= 0),
      -- The key that paymentIDs of this agreement are made with, for good: keys rotate, the string
      -- stays.
      payment_id_key       text NOT NULL,
      sequence             int NOT NULL DEFAULT 1 CHECK (sequence > 0),
      created_at           timestamptz NOT NULL,
      updated_at           timestamptz NOT NULL,
      -- Webhooks to the merchant so far, and to the bank.
      announced            int NOT NULL DEFAULT 0 CHECK (announced >= 0),
      announced_to_bank    int NOT NULL DEFAULT 0 CHECK (announced_to_bank >= 0),
      provider_id          text REFERENCES entities,
      -- The customer has approved it, be it long ago: from then on the merchant has its paymentID.
      approved             boolean NOT NULL DEFAULT false,
      -- When the last decision was granted with a charge; null of any other decision.
      granted_at           timestamptz,
      -- The terms that this grant has replaced, if any.
      currency_before      currency,
      limits_before        spending_limits,
      UNIQUE (merchant_id, customer_id),
      CHECK ((NOT blocked) OR decision = 'deny')
      -- Each charge changes the sums, which no index has.
    ) WITH (fillfactor = 70);
    CREATE INDEX agreements_acting ON agreements (merchant_id, acts_at) WHERE acts_at IS NOT NULL;
    CREATE INDEX agreements_due ON agreements (acts_at) WHERE acts_at IS NOT NULL;
    CREATE INDEX agreements_waiting ON agreements (id) WHERE acts_at IS NOT NULL;
    CREATE INDEX agreements_of_bank ON agreements (bank_id, id);
    CREATE INDEX agreements_of_bank_and_merchant ON agreements (bank_id, merchant_id, id);
    CREATE INDEX agreements_of_bank_by_decision ON agreements (bank_id, decision, id);
    -- Moments at which an agreement comes into a state, or out of it.
    CREATE INDEX agreements_of_bank_by_end ON agreements (bank_id, ((limits)."validUntil"))
      WHERE (limits)."validUntil" IS NOT NULL;
    CREATE INDEX agreements_of_bank_by_pause ON agreements (bank_id, paused_until) WHERE paused_until IS NOT NULL;
    CREATE INDEX agreements_of_bank_by_begin ON agreements (bank_id, ((limits)."validFrom"))
      WHERE (limits)."validFrom" IS NOT NULL;
    CREATE INDEX agreements_of_customer ON agreements (customer_id);
    CREATE INDEX agreements_of_merchant ON agreements (merchant_id, id);
    CREATE INDEX agreements_of_merchant_by_decision ON agreements (merchant_id, decision, id);
    CREATE INDEX agreements_of_provider ON agreements (provider_id, id) WHERE provider_id IS NOT NULL;
    CREATE INDEX agreements_of_provider_by_decision ON agreements (provider_id, decision, id)
      WHERE provider_id IS NOT NULL;
    GRANT SELECT, INSERT (id, merchant_id, customer_id, bank_id, currency, payment_id_key, created_at, updated_at),
      UPDATE (decision, blocked, currency, limits, terms, terms_since, paused_until, acts_at, expiring_told, spent_on, spent_daily, spent_weekly,
      spent_monthly, spent_yearly, spent_total, charges_daily, charges_weekly, charges_monthly, charges_yearly,
      charges_total, sequence, updated_at, announced, announced_to_bank, approved, granted_at, currency_before, limits_before)
      ON agreements TO assent_app;

    CREATE TRIGGER agreements_name_provider BEFORE INSERT ON agreements
      FOR EACH ROW EXECUTE FUNCTION name_provider();
    CREATE CONSTRAINT TRIGGER agreements_are_on_record
      AFTER UPDATE OF decision, blocked, currency, limits, terms, paused_until ON agreements
      DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION require_event();

    -- Spans in which an agreement allows nothing, also to come, by its merchant's clock. A span stays
    -- after its end: a due date inside it was missed on purpose, however late a schedule looks at it.
    CREATE TABLE agreement_holds (
      agreement_id text REFERENCES agreements,
      reason       text CHECK (reason IN ('consent_not_yet_valid', 'consent_expired', 'consent_paused')),
      from_at      timestamptz,
      to_at        timestamptz,
      PRIMARY KEY (agreement_id, reason, from_at),
      CHECK (to_at >= from_at)
    );
    GRANT SELECT, INSERT, UPDATE (to_at), DELETE ON agreement_holds TO assent_app;

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
      asked             spending_limits,
      -- The tightest that the intents asked which this one has superseded, one after the other.
      asked_before      spending_limits,
      -- The tightest of what was asked and what the bank answered.
      limits            spending_limits,
      block_merchant    boolean NOT NULL DEFAULT false,
      expires_at        timestamptz NOT NULL,
      closed_at         timestamptz,
      sequence          int NOT NULL DEFAULT 1 CHECK (sequence > 0),
      workflow_id       text NOT NULL,
      bank_delivery_id  text,
      created_at        timestamptz NOT NULL,
      recorded_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
      waiting           boolean NOT NULL DEFAULT false,
      metadata          jsonb NOT NULL DEFAULT '{}',
      -- The customer's decision when the merchant asked.
      decided_before    text NOT NULL
                        CHECK (decided_before IN ('pending', 'approve_once', 'approve_recurring', 'deny', 'suspended')),
      CHECK ((status = 'pending') = (closed_at IS NULL)),
      CHECK ((status = 'declined') = (reason IS NOT NULL)),
      CHECK ((status = 'approved') = ((customer_decision IS NOT NULL) AND (customer_decision IN ('approve_once',
        'approve_recurring')) AND (NOT block_merchant)))
    );
    CREATE INDEX intents_asked_of_delivery ON intents (bank_delivery_id) WHERE status IN ('pending', 'superseded');
    CREATE INDEX intents_of_agreement ON intents (agreement_id, id);
    CREATE UNIQUE INDEX intents_one_open ON intents (agreement_id) WHERE status = 'pending';
    -- reconcile goes through all open intents, page by page.
    CREATE INDEX intents_open ON intents (id) WHERE status = 'pending';
    -- Expiry looks for ended windows across all owners.
    CREATE INDEX intents_open_by_end ON intents (expires_at) WHERE status = 'pending';
    CREATE INDEX intents_open_of_merchant ON intents (merchant_id, expires_at) WHERE status = 'pending';
    GRANT SELECT, INSERT, UPDATE (status, reason, customer_decision, limits, block_merchant, closed_at, sequence,
      waiting) ON intents TO assent_app;

    CREATE TRIGGER intents_record_time BEFORE INSERT ON intents
      FOR EACH ROW EXECUTE FUNCTION set_record_time_recorded_at();

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
      end_at          timestamptz,
      max_billings    int CHECK (max_billings BETWEEN 1 AND 10000),
      status          text NOT NULL DEFAULT 'active'
                      CHECK (status IN ('active', 'paused', 'suspended', 'past_due', 'completed', 'cancelled', 'failed')),
      suspended_reason text CHECK (suspended_reason IN ('not_approved', 'consent_not_yet_valid', 'consent_expired',
                      'consent_paused', 'merchant_not_trusted', 'party_disabled')),
      -- The merchant's own wish; kept while the schedule is suspended, and in force again after
      -- that.
      paused          boolean NOT NULL DEFAULT false,
      -- The first billing that is neither charged nor skipped yet, and when it is due; null when
      -- there is none.
      next_n          int NOT NULL DEFAULT 0 CHECK (next_n >= 0),
      next_due_at     timestamptz,
      -- The last billing that both sides were told of beforehand.
      noticed_n       int CHECK (noticed_n >= 0),
      -- The most that the next billing may be, once both sides were told of it.
      noticed_amount  amount,
      -- Billings that succeeded or failed, and how many failed since the last that succeeded.
      ran             int NOT NULL DEFAULT 0 CHECK (ran >= 0),
      failed_in_a_row int NOT NULL DEFAULT 0 CHECK (failed_in_a_row BETWEEN 0 AND 3),
      -- When the schedule has something to do next; null once it will never have.
      acts_at         timestamptz,
      sequence        int NOT NULL DEFAULT 1 CHECK (sequence > 0),
      created_at      timestamptz NOT NULL,
      updated_at      timestamptz NOT NULL,
      recorded_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
      provider_id     text REFERENCES entities,
      announced       int NOT NULL DEFAULT 0 CHECK (announced >= 0),
      waiting         boolean NOT NULL DEFAULT false,
      -- How long after its next due moment its workflow wakes: schedules of one moment do not all
      -- wake at once. Null until it is known.
      delay_ms        int CHECK (delay_ms >= 0),
      CHECK (end_at > start_at),
      CHECK (every >= 1
        AND every <= CASE frequency WHEN 'daily' THEN 1095 WHEN 'weekly' THEN 156 WHEN 'monthly' THEN 36 ELSE 3 END),
      CHECK (ran <= next_n AND failed_in_a_row <= ran AND ran <= max_billings),
      CHECK ((status = 'suspended') = (suspended_reason IS NOT NULL)),
      CHECK (status <> 'paused' OR paused),
      CHECK (status NOT IN ('active', 'past_due') OR (NOT paused)),
      CHECK (CASE WHEN status IN ('completed', 'cancelled', 'failed') THEN next_due_at IS NULL ELSE acts_at IS NOT NULL END),
      CHECK (status <> 'failed' OR failed_in_a_row = 3)
    );
    -- The sandbox clock asks when a merchant's next step is due.
    CREATE INDEX schedules_acting ON schedules (merchant_id, acts_at) WHERE acts_at IS NOT NULL;
    CREATE INDEX schedules_due ON schedules (acts_at) WHERE acts_at IS NOT NULL;
    CREATE INDEX schedules_due_together ON schedules (next_due_at, delay_ms) WHERE next_due_at IS NOT NULL;
    CREATE INDEX schedules_of_agreement ON schedules (agreement_id);
    CREATE INDEX schedules_of_bank ON schedules (bank_id, id);
    CREATE INDEX schedules_of_bank_by_status ON schedules (bank_id, status, id);
    CREATE INDEX schedules_of_customer ON schedules (customer_id, id);
    CREATE INDEX schedules_of_merchant ON schedules (merchant_id, id);
    CREATE INDEX schedules_of_merchant_by_status ON schedules (merchant_id, status, id);
    CREATE INDEX schedules_of_provider ON schedules (provider_id, id) WHERE provider_id IS NOT NULL;
    CREATE INDEX schedules_of_provider_by_status ON schedules (provider_id, status, id)
      WHERE provider_id IS NOT NULL;
    GRANT SELECT, INSERT, UPDATE (amount, description, metadata, end_at, max_billings, status, suspended_reason, paused, next_n,
      next_due_at, noticed_n, noticed_amount, ran, failed_in_a_row, acts_at, sequence, updated_at, announced, waiting,
      delay_ms) ON schedules TO assent_app;

    CREATE TRIGGER schedules_name_provider BEFORE INSERT ON schedules
      FOR EACH ROW EXECUTE FUNCTION name_provider();
    CREATE CONSTRAINT TRIGGER schedules_are_on_record AFTER UPDATE OF amount, end_at, max_billings ON schedules
      DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION require_event();
    CREATE TRIGGER schedules_record_time BEFORE INSERT ON schedules
      FOR EACH ROW EXECUTE FUNCTION set_record_time_recorded_at();

    -- Spans in which nothing is charged. Holds stay after their end: a due date inside a hold was
    -- missed on purpose, however late the schedule looks at it.
    CREATE TABLE schedule_holds (
      schedule_id text REFERENCES schedules,
      reason      text CHECK (reason IN ('paused', 'suspended')),
      from_at     timestamptz,
      to_at       timestamptz,
      PRIMARY KEY (schedule_id, reason, from_at),
      CHECK (to_at >= from_at)
    );
    CREATE UNIQUE INDEX schedule_holds_one_open ON schedule_holds (schedule_id, reason) WHERE to_at IS NULL;
    GRANT SELECT, INSERT, UPDATE (to_at) ON schedule_holds TO assent_app;

    -- A billing has a row from its first attempt on, or from its skipping. The billing to come is
    -- next_n of its schedule.
    CREATE TABLE billings (
      schedule_id      text REFERENCES schedules,
      n                int CHECK (n >= 0),
      due_at           timestamptz NOT NULL,
      status           text NOT NULL CHECK (status IN ('pending', 'retrying', 'successful', 'failed', 'skipped')),
      -- Why it was skipped, or why the last attempt was declined.
      reason           text,
      attempts         int NOT NULL CHECK (attempts >= 0),
      first_attempt_at timestamptz,
      retry_at         timestamptz,
      closed_at        timestamptz,
      PRIMARY KEY (schedule_id, n),
      CHECK (first_attempt_at >= due_at),
      CHECK (CASE status WHEN 'skipped' THEN attempts = 0 OR reason = 'customer_skipped' ELSE attempts > 0 END),
      CHECK ((attempts = 0) = (first_attempt_at IS NULL)),
      CHECK ((status = 'retrying') = (retry_at IS NOT NULL)),
      CHECK ((status IN ('pending', 'retrying')) = (closed_at IS NULL)),
      CHECK ((status IN ('pending', 'successful')) = (reason IS NULL)),
      CHECK (status <> 'skipped' OR reason IN ('arrears', 'paused', 'suspended', 'customer_skipped'))
    );
    -- A schedule has one charge in hand at a time; later due dates wait for it.
    CREATE UNIQUE INDEX billings_one_open ON billings (schedule_id) WHERE status IN ('pending', 'retrying');
    GRANT SELECT, INSERT, UPDATE (status, reason, attempts, retry_at, closed_at) ON billings TO assent_app;

    -- Billings to come that the customer wants skipped. Once one is due, its billing says so.
    CREATE TABLE billing_skips (
      schedule_id text REFERENCES schedules,
      n           int CHECK (n >= 0),
      due_at      timestamptz NOT NULL,
      PRIMARY KEY (schedule_id, n)
    );
    GRANT SELECT, INSERT, DELETE ON billing_skips TO assent_app;

    -- A bank's transaction id names one movement of money, be it a debit or a refund.
    CREATE TABLE bank_transactions (
      bank_id             text,
      bank_transaction_id text,
      -- The charge or the refund that it belongs to, for good.
      resource_id         text NOT NULL,
      PRIMARY KEY (bank_id, bank_transaction_id),
      CHECK (resource_id ~ '^(brq|rfd|exc)_')
    );
    GRANT SELECT, INSERT ON bank_transactions TO assent_app;

    -- The statement that settles claims the id as well; the trigger is for a statement that
    -- forgets.
    CREATE FUNCTION require_claimed_bank_transaction() RETURNS trigger LANGUAGE plpgsql
      SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
      IF NOT EXISTS (SELECT FROM public.bank_transactions WHERE bank_id = NEW.bank_id
                     AND bank_transaction_id = NEW.bank_transaction_id AND resource_id = NEW.id) THEN
        RAISE EXCEPTION '% is settled by a bank transaction that is not its own', NEW.id
          USING ERRCODE = 'integrity_constraint_violation';
      END IF;
      RETURN NULL;
    END $$;

    -- A charge: the record of the money. Its transaction is the same row, seen from the history.
    CREATE TABLE billing_requests (
      id                  text PRIMARY KEY CHECK (id ~ '^brq_'),
      transaction_id      text GENERATED ALWAYS AS ('txn_' || substr(id, 5)) STORED NOT NULL,
      reference           text NOT NULL UNIQUE,
      batch_id            text NOT NULL CHECK (batch_id ~ '^bat_'),
      -- Entities are never deleted. Foreign keys would lock the rows of both for each charge.
      merchant_id         text,
      customer_id         text NOT NULL REFERENCES customers,
      bank_id             text NOT NULL,
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
      -- The bank by its answer, or the network by a window or a limit.
      closed_by           text,
      decline_reason      text,
      -- The customer's limit for which the network has declined it.
      declined_limit      text,
      bank_transaction_id text,
      -- The bank's own notes on its answer.
      bank_metadata       jsonb,
      -- The bank's answer in the guide's form, to tell the same answer from another.
      answer_action       text CHECK (answer_action IN ('approve_once', 'approve_recurring', 'deny', 'suspended')),
      -- The day in whose windows this charge counts, and the terms in whose total, unless it is given
      -- back: its money did not move, or came back.
      counted_day         date,
      counted_terms       int,
      given_back          boolean NOT NULL DEFAULT false,
      expires_at          timestamptz NOT NULL,
      closed_at           timestamptz,
      sequence            int NOT NULL DEFAULT 1 CHECK (sequence > 0),
      workflow_id         text NOT NULL,
      bank_delivery_id    text,
      created_at          timestamptz NOT NULL,
      recorded_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
      -- Money on its way back or arrived. A refund raises it, and a rejected one lowers it again.
      refunded_amount     bigint NOT NULL DEFAULT 0,
      payee_customer_id   text REFERENCES customers,
      payee_bank_id       text,
      payee_lookup_id     text,
      biller_id           text GENERATED ALWAYS AS (coalesce(merchant_id, payee_bank_id)) STORED NOT NULL,
      -- A provider's merchants never change, so their rows name the provider: one index has all of
      -- them in order.
      provider_id         text,
      -- The webhook that has the payee's bank credit a payment between customers.
      credit_delivery_id  text,
      -- Until when it has to be delivered, in business time; after that it is overdue, and an
      -- exception.
      credit_due_at       timestamptz,
      credit_overdue      boolean NOT NULL DEFAULT false,
      credit_settled      boolean NOT NULL DEFAULT false,
      waiting             boolean NOT NULL DEFAULT false,
      reversed_amount     bigint NOT NULL DEFAULT 0,
      -- Minor units that the network bears, or that must not be refunded again.
      written_off_amount  bigint NOT NULL DEFAULT 0 CHECK (written_off_amount >= 0),
      metadata            jsonb NOT NULL DEFAULT '{}',
      CONSTRAINT billing_requests_of_billing FOREIGN KEY (schedule_id, billing_n) REFERENCES billings(schedule_id, n),
      CHECK ((status = 'pending') = (closed_at IS NULL)),
      CHECK ((status = 'pending') = (closed_by IS NULL)),
      CHECK ((NOT credit_settled) OR credit_due_at IS NOT NULL),
      CHECK ((status = 'declined') = (decline_reason IS NOT NULL)),
      CHECK (declined_limit IS NULL OR decline_reason IS NOT DISTINCT FROM 'limit_reached'),
      CHECK ((status = 'successful') = (bank_transaction_id IS NOT NULL)),
      CHECK (status <> 'successful' OR closed_by = 'bank'),
      CHECK (((schedule_id IS NULL) = (billing_n IS NULL)) AND ((schedule_id IS NULL) = (attempt IS NULL))),
      CHECK ((counted_day IS NULL) = (counted_terms IS NULL)),
      CHECK ((NOT given_back) OR counted_day IS NOT NULL),
      CHECK (schedule_id IS NULL OR agreement_id IS NOT NULL),
      CHECK ((credit_delivery_id IS NULL) = (credit_due_at IS NULL)),
      CHECK ((NOT credit_overdue) OR credit_due_at IS NOT NULL),
      CHECK (closed_by IN ('bank', 'network', 'merchant', 'provider')),
      CONSTRAINT billing_requests_merchant_or_payee CHECK (((merchant_id IS NULL) = (payee_customer_id IS NOT NULL))
        AND ((payee_customer_id IS NULL) = (payee_bank_id IS NULL))
        AND ((payee_customer_id IS NULL) = (payee_lookup_id IS NULL))),
      CONSTRAINT billing_requests_one_time_between_customers CHECK (payee_customer_id IS NULL OR (agreement_id IS NULL
        AND approval_required)),
      CONSTRAINT billing_requests_refunded CHECK (((refunded_amount >= 0) AND (refunded_amount <= (amount)::bigint))
        AND ((refunded_amount = 0) OR (status = 'successful'))),
      CONSTRAINT billing_requests_reversed CHECK ((reversed_amount >= 0)
        AND ((refunded_amount + reversed_amount) <= (amount)::bigint) AND ((reversed_amount = 0)
        OR (status = 'successful'))),
      CONSTRAINT billing_requests_to_another CHECK (payee_customer_id <> customer_id)
    ) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);
    CREATE UNIQUE INDEX billing_requests_one_for_each_attempt ON billing_requests (schedule_id, billing_n, attempt)
      WHERE schedule_id IS NOT NULL;
    CREATE INDEX billing_requests_by_credit ON billing_requests (credit_delivery_id) WHERE credit_delivery_id IS NOT NULL;
    CREATE INDEX billing_requests_by_credit_due ON billing_requests (biller_id, credit_due_at)
      WHERE credit_due_at IS NOT NULL AND (NOT credit_overdue) AND (NOT credit_settled);
    -- Without a list of pending rows, which one charge among thousands would have to put in order.
    CREATE INDEX billing_requests_by_metadata ON billing_requests USING gin (metadata_hashes(coalesce(provider_id,
      merchant_id), metadata)) WITH (fastupdate=off)
      WHERE metadata <> '{}';
    CREATE INDEX billing_requests_declined_of_bank_by_end ON billing_requests (bank_id, closed_at)
      WHERE status = 'declined';
    CREATE INDEX billing_requests_declined_of_merchant_by_end ON billing_requests (merchant_id, closed_at)
      WHERE status = 'declined';
    CREATE INDEX billing_requests_of_bank ON billing_requests (bank_id, created_at, id);
    -- A large bank and a large merchant may have little to do with each other.
    CREATE INDEX billing_requests_of_bank_and_merchant ON billing_requests (bank_id, merchant_id, created_at,
      id)
      WHERE merchant_id IS NOT NULL;
    CREATE INDEX billing_requests_of_customer ON billing_requests (customer_id, created_at, id);
    CREATE INDEX billing_requests_of_merchant ON billing_requests (merchant_id, created_at, id);
    CREATE INDEX billing_requests_of_payee ON billing_requests (payee_customer_id) WHERE payee_customer_id IS NOT NULL;
    CREATE INDEX billing_requests_of_payee_bank ON billing_requests (payee_bank_id, created_at, id)
      WHERE payee_bank_id <> bank_id;
    CREATE INDEX billing_requests_of_payee_bank_by_status ON billing_requests (payee_bank_id, status, created_at,
      id)
      WHERE payee_bank_id <> bank_id;
    CREATE INDEX billing_requests_of_provider ON billing_requests (provider_id, created_at, id)
      WHERE provider_id IS NOT NULL;
    CREATE INDEX billing_requests_open_by_end ON billing_requests (expires_at) WHERE status = 'pending';
    -- Few of all charges are open, or did not end well.
    CREATE INDEX billing_requests_unsettled_of_bank ON billing_requests (bank_id, status, created_at, id)
      WHERE status <> 'successful';
    CREATE INDEX billing_requests_unsettled_of_merchant ON billing_requests (merchant_id, status, created_at, id)
      WHERE status <> 'successful';
    CREATE INDEX billing_requests_unsettled_of_provider ON billing_requests (provider_id, status, created_at, id)
      WHERE status <> 'successful' AND provider_id IS NOT NULL;
    CREATE INDEX billing_requests_open_of_workflow ON billing_requests (workflow_id) WHERE status = 'pending';
    CREATE INDEX billing_requests_settled_of_bank_id ON billing_requests (bank_id,
      (CASE WHEN status = 'successful' THEN closed_at END))
      WHERE CASE WHEN status = 'successful' THEN closed_at END IS NOT NULL AND bank_id IS NOT NULL;
    CREATE INDEX billing_requests_settled_of_merchant_id ON billing_requests (merchant_id,
      (CASE WHEN status = 'successful' THEN closed_at END))
      WHERE CASE WHEN status = 'successful' THEN closed_at END IS NOT NULL AND merchant_id IS NOT NULL;
    CREATE INDEX billing_requests_settled_of_payee_bank_id ON billing_requests (payee_bank_id,
      (CASE WHEN status = 'successful' THEN closed_at END))
      WHERE CASE WHEN status = 'successful' THEN closed_at END IS NOT NULL AND payee_bank_id IS NOT NULL;
    CREATE INDEX billing_requests_settled_of_provider_id ON billing_requests (provider_id,
      (CASE WHEN status = 'successful' THEN closed_at END))
      WHERE CASE WHEN status = 'successful' THEN closed_at END IS NOT NULL AND provider_id IS NOT NULL;
    -- Across all owners, by when they are due; and for going through them, by their workflow.
    CREATE INDEX billing_requests_unsettled_credits ON billing_requests (credit_due_at)
      WHERE credit_due_at IS NOT NULL AND (NOT credit_settled);
    CREATE INDEX billing_requests_waiting_credits ON billing_requests (workflow_id)
      WHERE credit_due_at IS NOT NULL AND (NOT credit_settled);
    GRANT SELECT, INSERT, UPDATE (status, closed_by, decline_reason, bank_transaction_id, bank_metadata, answer_action,
      given_back, closed_at, sequence, refunded_amount, credit_delivery_id, credit_due_at,
      credit_overdue, credit_settled, waiting, reversed_amount, written_off_amount) ON billing_requests TO assent_app;

    CREATE TRIGGER billing_requests_name_provider BEFORE INSERT ON billing_requests
      FOR EACH ROW EXECUTE FUNCTION name_provider();
    CREATE TRIGGER billing_requests_own_bank_transaction AFTER UPDATE OF bank_transaction_id ON billing_requests
      FOR EACH ROW WHEN (NEW.bank_transaction_id IS NOT NULL) EXECUTE FUNCTION require_claimed_bank_transaction();
    CREATE TRIGGER billing_requests_record_time BEFORE INSERT ON billing_requests
      FOR EACH ROW EXECUTE FUNCTION set_record_time_recorded_at();
  `;
