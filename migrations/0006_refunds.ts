/**
 * Refunds, the exceptions where a bank's word and ours differ, and the reversals that come of
 * them.
 */
export const sql = `
    CREATE TABLE refunds (
      id                    text PRIMARY KEY CHECK (id ~ '^rfd_'),
      transaction_id        text NOT NULL UNIQUE CHECK (transaction_id ~ '^txn_'),
      reference             text NOT NULL UNIQUE,
      billing_request_id    text NOT NULL REFERENCES billing_requests,
      merchant_id           text NOT NULL REFERENCES entities,
      customer_id           text NOT NULL REFERENCES customers,
      bank_id               text NOT NULL REFERENCES entities,
      amount                amount NOT NULL,
      currency              currency NOT NULL,
      reason                text CHECK (length(reason) BETWEEN 1 AND 500),
      status                text NOT NULL DEFAULT 'pending'
                            CHECK (status IN ('pending', 'completed', 'rejected', 'returned')),
      overdue               boolean NOT NULL DEFAULT false,
      -- Why the bank rejected it.
      reject_reason         text,
      -- The bank rejected it first, and has paid all the same.
      was_rejected          boolean NOT NULL DEFAULT false,
      bank_transaction_id   text,
      expected_by           timestamptz NOT NULL,
      -- How often the bank has been reminded, and when something is next to be done; null once
      -- nothing is.
      reminders             int NOT NULL DEFAULT 0 CHECK (reminders >= 0),
      acts_at               timestamptz,
      closed_at             timestamptz,
      sequence              int NOT NULL DEFAULT 1 CHECK (sequence > 0),
      created_at            timestamptz NOT NULL,
      recorded_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
      provider_id           text REFERENCES entities,
      -- By which webhooks the bank was asked: the first, then the reminders.
      bank_delivery_ids     text[] NOT NULL DEFAULT '{}',
      waiting               boolean NOT NULL DEFAULT false,
      returned_at           timestamptz,
      return_transaction_id text UNIQUE CHECK (return_transaction_id ~ '^txn_'),
      return_reference      text UNIQUE,
      -- The exception that found it.
      returned_by           text UNIQUE,
      metadata              jsonb NOT NULL DEFAULT '{}',
      CHECK ((status = 'pending') = (closed_at IS NULL)),
      CHECK (status = 'pending' OR acts_at IS NULL),
      CHECK (status = 'rejected' OR reject_reason IS NULL),
      CHECK (status IN ('completed', 'returned') OR bank_transaction_id IS NULL),
      CHECK (overdue = (reminders > 0)),
      CONSTRAINT refunds_returned CHECK (num_nonnulls(returned_at, return_transaction_id, return_reference,
        returned_by) = CASE status WHEN 'returned' THEN 4 ELSE 0 END)
    );
    CREATE INDEX refunds_acting ON refunds (merchant_id, acts_at) WHERE acts_at IS NOT NULL;
    CREATE INDEX refunds_acting_by_time ON refunds (acts_at) WHERE acts_at IS NOT NULL;
    CREATE INDEX refunds_by_metadata ON refunds USING gin (metadata_hashes(coalesce(provider_id, merchant_id),
      metadata)) WITH (fastupdate=off)
      WHERE metadata <> '{}';
    CREATE INDEX refunds_of_bank ON refunds (bank_id, created_at, id);
    CREATE INDEX refunds_of_bank_and_merchant ON refunds (bank_id, merchant_id, created_at, id);
    CREATE INDEX refunds_of_bank_by_status ON refunds (bank_id, status, created_at, id);
    CREATE INDEX refunds_of_charge ON refunds (billing_request_id);
    CREATE INDEX refunds_of_customer ON refunds (customer_id, created_at, id);
    CREATE INDEX refunds_of_merchant ON refunds (merchant_id, created_at, id);
    CREATE INDEX refunds_of_merchant_by_status ON refunds (merchant_id, status, created_at, id);
    CREATE INDEX refunds_of_provider ON refunds (provider_id, created_at, id) WHERE provider_id IS NOT NULL;
    CREATE INDEX refunds_of_provider_by_status ON refunds (provider_id, status, created_at, id)
      WHERE provider_id IS NOT NULL;
    CREATE INDEX refunds_open ON refunds (id) WHERE status = 'pending';
    CREATE INDEX refunds_returned_of_bank_id ON refunds (bank_id, returned_at, return_transaction_id)
      WHERE returned_at IS NOT NULL;
    CREATE INDEX refunds_returned_of_customer_id ON refunds (customer_id, returned_at, return_transaction_id)
      WHERE returned_at IS NOT NULL;
    CREATE INDEX refunds_returned_of_merchant_id ON refunds (merchant_id, returned_at, return_transaction_id)
      WHERE returned_at IS NOT NULL;
    CREATE INDEX refunds_returned_of_provider_id ON refunds (provider_id, returned_at, return_transaction_id)
      WHERE returned_at IS NOT NULL;
    CREATE INDEX refunds_settled_of_bank_id ON refunds (bank_id,
      (CASE WHEN status IN ('completed', 'returned') THEN closed_at END))
      WHERE CASE WHEN status IN ('completed', 'returned') THEN closed_at END IS NOT NULL AND bank_id IS NOT NULL;
    CREATE INDEX refunds_settled_of_merchant_id ON refunds (merchant_id,
      (CASE WHEN status IN ('completed', 'returned') THEN closed_at END))
      WHERE CASE WHEN status IN ('completed', 'returned') THEN closed_at END IS NOT NULL AND merchant_id IS NOT NULL;
    CREATE INDEX refunds_settled_of_provider_id ON refunds (provider_id,
      (CASE WHEN status IN ('completed', 'returned') THEN closed_at END))
      WHERE CASE WHEN status IN ('completed', 'returned') THEN closed_at END IS NOT NULL AND provider_id IS NOT NULL;
    GRANT SELECT, INSERT, UPDATE (status, overdue, reject_reason, was_rejected, bank_transaction_id, reminders, acts_at, closed_at,
      sequence, bank_delivery_ids, waiting, returned_at, return_transaction_id, return_reference,
      returned_by) ON refunds TO assent_app;

    CREATE TRIGGER refunds_name_provider BEFORE INSERT ON refunds
      FOR EACH ROW EXECUTE FUNCTION name_provider();
    CREATE TRIGGER refunds_own_bank_transaction AFTER UPDATE OF bank_transaction_id ON refunds
      FOR EACH ROW WHEN (NEW.bank_transaction_id IS NOT NULL) EXECUTE FUNCTION require_claimed_bank_transaction();
    CREATE TRIGGER refunds_record_time BEFORE INSERT ON refunds
      FOR EACH ROW EXECUTE FUNCTION set_record_time_recorded_at();

    CREATE FUNCTION name_parties_of_exception() RETURNS trigger LANGUAGE plpgsql
      SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
      -- A line without a charge has its bank alone.
      IF NEW.billing_request_id IS NULL THEN RETURN NEW; END IF;
      SELECT b.bank_id, b.merchant_id, b.provider_id, b.payee_bank_id, b.customer_id, coalesce(r.reference, b.reference)
        INTO STRICT NEW.bank_id, NEW.merchant_id, NEW.provider_id, NEW.payee_bank_id, NEW.customer_id, NEW.reference
        FROM public.billing_requests b LEFT JOIN public.refunds r ON r.id = NEW.refund_id
        WHERE b.id = NEW.billing_request_id;
      RETURN NEW;
    END $$;

    -- The network's word and the bank's may differ, and money may have moved: somebody must look. A
    -- charge or a refund has one unresolved exception at most.
    CREATE TABLE reconciliation_exceptions (
      id                           text PRIMARY KEY CHECK (id ~ '^exc_'),
      kind                         text NOT NULL,
      state                        text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'investigating', 'resolved')),
      billing_request_id           text REFERENCES billing_requests,
      refund_id                    text REFERENCES refunds,
      amount                       amount NOT NULL,
      currency                     currency NOT NULL,
      -- The first id that its bank named in the answers, or the file, that are in doubt.
      bank_transaction_id          text,
      -- Counts its events.
      sequence                     int NOT NULL DEFAULT 1 CHECK (sequence > 0),
      opened_at                    timestamptz NOT NULL,
      recorded_at                  timestamptz NOT NULL DEFAULT clock_timestamp(),
      bank_id                      text NOT NULL REFERENCES entities,
      merchant_id                  text REFERENCES entities,
      provider_id                  text REFERENCES entities,
      payee_bank_id                text REFERENCES entities,
      customer_id                  text REFERENCES customers,
      -- The refund's where it is about one, otherwise the charge's.
      reference                    text,
      resolution                   text
                                   CHECK (resolution IN ('no_money_moved', 'reversed', 'confirmed', 'written_off', 'no_difference')),
      resolved_at                  timestamptz,
      -- Whether its end has found that the money of its charge, or of its refund, did not stay.
      undoes                       boolean NOT NULL DEFAULT false,
      -- Minor units of its charge that the bank owes no more, where it was written off.
      written_off                  bigint NOT NULL DEFAULT 0 CHECK (written_off >= 0),
      -- The operator who has taken it.
      assignee                     text CHECK (length(assignee) BETWEEN 1 AND 200),
      bank_note                    text CHECK (length(bank_note) BETWEEN 1 AND 500),
      operator_note                text CHECK (length(operator_note) BETWEEN 1 AND 500),
      -- The bank's id of the transaction that took the money back.
      reversal_bank_transaction_id text,
      -- How many webhooks about it each side was sent.
      announced                    int NOT NULL DEFAULT 0 CHECK (announced >= 0),
      -- Seen from the customer's account, and what the bank has booked, where it has.
      direction                    text CHECK (direction IN ('debit', 'credit')),
      booked_amount                amount,
      booked_currency              currency,
      -- The day of a line that is unknown here or differs, as the bank wrote it.
      booked_on                    date,
      -- Whether the bank has marked its line as a reversal.
      is_reversal                  boolean NOT NULL DEFAULT false,
      -- The first and the latest file of the bank that report it.
      first_reported_in            text,
      reported_in                  text,
      -- Files may open it again: its line has its place, its files are withdrawn, or it was confirmed.
      withdrawn                    boolean NOT NULL DEFAULT false,
      CONSTRAINT reconciliation_exceptions_booked CHECK (((booked_amount IS NULL) = (booked_currency IS NULL))
        AND ((booked_amount IS NOT NULL) = (kind IN ('unknown_here', 'amount_differs')))),
      CONSTRAINT reconciliation_exceptions_charge CHECK (billing_request_id IS NOT NULL OR kind = 'unknown_here'),
      CHECK (refund_id IS NOT NULL OR kind <> 'refund_conflict'),
      CONSTRAINT reconciliation_exceptions_kind CHECK (kind IN ('unanswered', 'late_answer', 'conflicting_answer',
        'duplicate_transaction_id', 'refund_conflict', 'credit_undelivered', 'unknown_here', 'missing_at_bank',
        'amount_differs')),
      CONSTRAINT reconciliation_exceptions_of_what CHECK (refund_id IS NULL OR kind IN ('refund_conflict',
        'duplicate_transaction_id', 'unanswered', 'unknown_here', 'missing_at_bank', 'amount_differs')),
      CONSTRAINT reconciliation_exceptions_assigned CHECK (state <> 'investigating' OR assignee IS NOT NULL),
      CONSTRAINT reconciliation_exceptions_resolved CHECK (((state = 'resolved') = (resolution IS NOT NULL))
        AND ((state = 'resolved') = (resolved_at IS NOT NULL))),
      CONSTRAINT reconciliation_exceptions_reversal CHECK (reversal_bank_transaction_id IS NULL
        OR resolution = 'reversed'),
      CONSTRAINT reconciliation_exceptions_stated CHECK ((direction IS NOT NULL) = (kind IN ('unknown_here',
        'missing_at_bank', 'amount_differs')))
    );
    CREATE UNIQUE INDEX reconciliation_exceptions_one_unresolved ON reconciliation_exceptions (billing_request_id,
      refund_id) NULLS NOT DISTINCT
      WHERE state <> 'resolved' AND billing_request_id IS NOT NULL;
    CREATE INDEX reconciliation_exceptions_of_bank ON reconciliation_exceptions (bank_id, opened_at, id);
    CREATE INDEX reconciliation_exceptions_of_charge ON reconciliation_exceptions (billing_request_id)
      WHERE billing_request_id IS NOT NULL;
    CREATE INDEX reconciliation_exceptions_of_merchant ON reconciliation_exceptions (merchant_id, opened_at, id)
      WHERE merchant_id IS NOT NULL;
    CREATE INDEX reconciliation_exceptions_of_payee ON reconciliation_exceptions (payee_bank_id, opened_at, id)
      WHERE payee_bank_id IS NOT NULL;
    CREATE INDEX reconciliation_exceptions_of_provider ON reconciliation_exceptions (provider_id, opened_at, id)
      WHERE provider_id IS NOT NULL;
    CREATE INDEX reconciliation_exceptions_of_refund ON reconciliation_exceptions (refund_id) WHERE refund_id IS NOT NULL;
    CREATE UNIQUE INDEX reconciliation_exceptions_of_statements ON reconciliation_exceptions (bank_id,
      bank_transaction_id, kind, direction, booked_amount, booked_currency, billing_request_id,
      refund_id) NULLS NOT DISTINCT
      WHERE NOT withdrawn AND (kind IN ('missing_at_bank', 'amount_differs')
        OR (kind = 'unknown_here' AND billing_request_id IS NULL));
    CREATE INDEX reconciliation_exceptions_unknown_reference ON reconciliation_exceptions (bank_id, reference)
      WHERE kind = 'unknown_here' AND billing_request_id IS NULL AND state <> 'resolved';
    CREATE INDEX reconciliation_exceptions_unresolved ON reconciliation_exceptions (kind, recorded_at, id) INCLUDE (state)
      WHERE state <> 'resolved';
    CREATE INDEX reconciliation_exceptions_unresolved_of_customer ON reconciliation_exceptions (merchant_id, customer_id,
      amount, currency)
      WHERE state <> 'resolved';
    GRANT SELECT, INSERT, UPDATE (state, bank_transaction_id, sequence, resolution, resolved_at, undoes, written_off, assignee,
      bank_note, operator_note, reversal_bank_transaction_id, announced, first_reported_in,
      reported_in, withdrawn) ON reconciliation_exceptions TO assent_app;

    CREATE TRIGGER reconciliation_exceptions_name_parties BEFORE INSERT ON reconciliation_exceptions
      FOR EACH ROW EXECUTE FUNCTION name_parties_of_exception();
    CREATE TRIGGER reconciliation_exceptions_record_time BEFORE INSERT ON reconciliation_exceptions
      FOR EACH ROW EXECUTE FUNCTION set_record_time_recorded_at();
    CREATE CONSTRAINT TRIGGER reconciliation_exceptions_are_on_record AFTER UPDATE OF resolution, written_off
      ON reconciliation_exceptions
      DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION require_event();

    -- Answers of a bank that are in doubt, beneath the exception of their charge or refund. The
    -- same again is the same answer.
    CREATE TABLE exception_answers (
      exception_id        text NOT NULL REFERENCES reconciliation_exceptions,
      says                text NOT NULL CHECK (says IN ('approved', 'declined', 'completed', 'rejected')),
      bank_transaction_id text,
      -- The fault of this answer, which may not be the first.
      kind                text NOT NULL CHECK (kind IN ('late_answer', 'conflicting_answer', 'duplicate_transaction_id',
                          'refund_conflict')),
      answered_at         timestamptz NOT NULL,
      recorded_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
      UNIQUE NULLS NOT DISTINCT (exception_id, says, bank_transaction_id)
    );
    GRANT SELECT, INSERT ON exception_answers TO assent_app;
    CREATE TRIGGER exception_answers_record_time BEFORE INSERT ON exception_answers
      FOR EACH ROW EXECUTE FUNCTION set_record_time_recorded_at();

    -- Answers of a bank that change nothing and are in no doubt, to a charge, a refund or an
    -- exception. The same again is the same answer.
    CREATE TABLE refused_answers (
      resource_id         text NOT NULL,
      says                text NOT NULL,
      bank_transaction_id text,
      -- The reason to refuse an answer to an exception.
      why                 text,
      answered_at         timestamptz NOT NULL,
      recorded_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
      UNIQUE NULLS NOT DISTINCT (resource_id, says, bank_transaction_id, why)
    );
    GRANT SELECT, INSERT ON refused_answers TO assent_app;
    CREATE TRIGGER refused_answers_record_time BEFORE INSERT ON refused_answers
      FOR EACH ROW EXECUTE FUNCTION set_record_time_recorded_at();

    ALTER TABLE refunds ADD FOREIGN KEY (returned_by) REFERENCES reconciliation_exceptions;

    CREATE TABLE reversals (
      transaction_id      text PRIMARY KEY CHECK (transaction_id ~ '^txn_'),
      reference           text NOT NULL UNIQUE,
      -- An exception reverses the rest of a charge once, and once the part of each refund that is
      -- rejected after it.
      exception_id        text NOT NULL REFERENCES reconciliation_exceptions,
      refund_id           text REFERENCES refunds,
      billing_request_id  text NOT NULL REFERENCES billing_requests,
      merchant_id         text REFERENCES entities,
      provider_id         text REFERENCES entities,
      customer_id         text NOT NULL REFERENCES customers,
      bank_id             text NOT NULL REFERENCES entities,
      payee_customer_id   text REFERENCES customers,
      payee_bank_id       text REFERENCES entities,
      amount              amount NOT NULL,
      currency            currency NOT NULL,
      -- The bank's id of it, where it moved any money.
      bank_transaction_id text,
      created_at          timestamptz NOT NULL,
      recorded_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
      metadata            jsonb NOT NULL DEFAULT '{}',
      CONSTRAINT reversals_exception_id_refund_id_key UNIQUE NULLS NOT DISTINCT (exception_id, refund_id)
    );
    CREATE INDEX reversals_by_metadata ON reversals USING gin (metadata_hashes(coalesce(provider_id, merchant_id),
      metadata)) WITH (fastupdate=off)
      WHERE metadata <> '{}';
    CREATE INDEX reversals_of_bank ON reversals (bank_id, created_at, transaction_id);
    CREATE INDEX reversals_of_charge ON reversals (billing_request_id);
    CREATE INDEX reversals_of_customer ON reversals (customer_id, created_at, transaction_id);
    CREATE INDEX reversals_of_merchant ON reversals (merchant_id, created_at, transaction_id)
      WHERE merchant_id IS NOT NULL;
    CREATE INDEX reversals_of_payee ON reversals (payee_bank_id, created_at, transaction_id)
      WHERE payee_bank_id IS NOT NULL;
    CREATE INDEX reversals_of_provider ON reversals (provider_id, created_at, transaction_id)
      WHERE provider_id IS NOT NULL;
    GRANT SELECT, INSERT ON reversals TO assent_app;

    CREATE TRIGGER reversals_record_time BEFORE INSERT ON reversals
      FOR EACH ROW EXECUTE FUNCTION set_record_time_recorded_at();

    CREATE VIEW transactions AS
      SELECT transaction_id, id, reference, 'charge' AS type, status, amount, currency, description, customer_id,
        merchant_id, bank_id, id AS billing_request_id, schedule_id, bank_transaction_id, decline_reason,
        refunded_amount, created_at, CASE WHEN status = 'successful' THEN closed_at END AS settled_at,
        payee_customer_id, payee_bank_id, payee_lookup_id, provider_id, reversed_amount, metadata, closed_at
      FROM billing_requests
      UNION ALL
      SELECT r.transaction_id, r.id, r.reference, 'refund', r.status, r.amount, r.currency,
        coalesce(r.reason, (SELECT description FROM billing_requests b WHERE b.id = r.billing_request_id)),
        r.customer_id, r.merchant_id, r.bank_id, r.billing_request_id,
        (SELECT schedule_id FROM billing_requests b WHERE b.id = r.billing_request_id), r.bank_transaction_id,
        r.reject_reason, 0::bigint, r.created_at, CASE WHEN r.status IN ('completed', 'returned') THEN r.closed_at END,
        NULL, NULL, NULL, r.provider_id, 0::bigint, r.metadata, r.closed_at
      FROM refunds r
      UNION ALL
      SELECT v.transaction_id, v.transaction_id, v.reference, 'reversal', 'completed', v.amount, v.currency,
        (SELECT description FROM billing_requests b WHERE b.id = v.billing_request_id),
        v.customer_id, v.merchant_id, v.bank_id, v.billing_request_id,
        (SELECT schedule_id FROM billing_requests b WHERE b.id = v.billing_request_id), v.bank_transaction_id,
        NULL, 0::bigint, v.created_at, v.created_at, v.payee_customer_id, v.payee_bank_id,
        (SELECT payee_lookup_id FROM billing_requests b WHERE b.id = v.billing_request_id), v.provider_id,
        0::bigint, v.metadata, v.created_at
      FROM reversals v
      UNION ALL
      SELECT r.return_transaction_id, r.return_transaction_id, r.return_reference, 'refund_return', 'completed',
        r.amount, r.currency,
        coalesce(r.reason, (SELECT description FROM billing_requests b WHERE b.id = r.billing_request_id)),
        r.customer_id, r.merchant_id, r.bank_id, r.billing_request_id,
        (SELECT schedule_id FROM billing_requests b WHERE b.id = r.billing_request_id),
        (SELECT reversal_bank_transaction_id FROM reconciliation_exceptions x WHERE x.id = r.returned_by),
        NULL, 0::bigint, r.returned_at, r.returned_at, NULL, NULL, NULL, r.provider_id, 0::bigint, r.metadata,
        r.returned_at
      FROM refunds r WHERE r.returned_at IS NOT NULL;
    GRANT SELECT ON transactions TO assent_app;
  `;
