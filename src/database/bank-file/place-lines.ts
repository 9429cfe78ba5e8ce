import { raw, sql, type Fragment } from '../pool/statement';

/**
 * Places of a bank's lines, as SQL. A line is the expected booking of its id and side, belongs to a
 * charge or refund without settling it, or is unknown.
 *
 * Nearly every line is its booking by its id, so only other lines cost further probes.
 */

/** Extra bookings of a charge: after some dozens a bank only repeats itself. */
const EXTRA_MAX = 100;

const expectedBy = (bankId: string) => sql`
  SELECT * FROM expected_bookings
  WHERE bank_id = ${bankId} AND identified_by = 'bankTransactionId' AND identifier = l.id AND direction = l.direction
  UNION ALL
  -- The payee's bank has an id of its own for a payment between customers.
  SELECT * FROM expected_bookings WHERE bank_id = ${bankId} AND identified_by = 'reference' AND identifier = l.reference
    AND (direction, amount, currency) = (l.direction, l.amount, l.currency) AND NOT l.is_reversal
  LIMIT 1`;

/** SQL: whether a line `f` is that of a booking `e`: its first, or the same in another file. */
const IS_ITS_LINE = raw(
  `(e.matched_by IS NULL OR (coalesce(e.booked_id, e.identifier), e.booked_on) = (f.id, f.day))`,
);
const BOOKING = raw(`e.identified_by, e.identifier, e.direction AS e_direction, e.matched_by,
  e.amount::bigint AS network_amount, e.currency::text AS network_currency, false AS is_leg`);
const NO_BOOKING = raw(`NULL::text, NULL::text, NULL::text, NULL::text, NULL::bigint, NULL::text, false`);

/** SQL: the extra booking `x` that is a line. */
const isKeptLine = (bankId: string, line: 'e' | 'f') => sql`x.bank_id = ${bankId}
  AND (x.bank_transaction_id, x.direction, x.booked_on, x.amount, x.currency)
    = ${raw(`(${line}.id, ${line}.direction, ${line}.day, ${line}.amount, ${line}.currency)`)}`;

const OTHER_SIDE = sql`CASE f.direction WHEN 'debit' THEN 'credit' ELSE 'debit' END`;

/**
 * SQL: the bookings that a line `f` may be of by its id, the best first. A bank may have written
 * one id on many lines: each is of its reference, else of any of them.
 */
const bookedAs = (bankId: string, side: Fragment) => sql`
  SELECT 1 AS rank, e AS booking FROM expected_bookings e
  WHERE e.bank_id = ${bankId} AND e.identified_by = 'bankTransactionId' AND e.identifier = f.id AND e.direction = ${side}
  UNION ALL
  SELECT 2, e FROM (
      SELECT id AS charge, NULL AS refund FROM billing_requests WHERE reference = f.reference
      UNION ALL SELECT billing_request_id, id FROM refunds WHERE reference = f.reference) AS s
    JOIN expected_bookings e ON e.billing_request_id = s.charge AND e.refund_id IS NOT DISTINCT FROM s.refund
      AND e.bank_id = ${bankId} AND e.direction = ${side} AND coalesce(e.booked_id, e.identifier) = f.id
  UNION ALL
  (SELECT 5, e FROM expected_bookings e
   WHERE e.bank_id = ${bankId} AND e.booked_id = f.id AND e.direction = ${side} ORDER BY e.identifier LIMIT 1)`;

/**
 * SQL: the charge or refund that a line `f` on its side belongs to. An id of the bank's answers
 * comes before a reference.
 */
const onOwnSide = (bankId: string, statementId: string | null) => sql`
  -- The booking of its id has another line: by another reference, or of another day.
  SELECT rank, e.billing_request_id AS charge, e.refund_id AS refund, nullif(NOT is_line, false) AS is_extra,
    CASE WHEN is_line OR (is_same AND e.booked_on <> f.day AND EXISTS (
      SELECT FROM bank_files s WHERE s.id = ${statementId} AND e.matched_by <> s.id
        AND e.booked_on BETWEEN s.begins AND greatest(s.reaches->>f.currency, s.reaches->>'*')::date))
      THEN 'matched' WHEN NOT is_same AND e.ended_at IS NULL AND e.matched_by IS NULL THEN 'amount_differs'
      ELSE 'unknown_here' END AS verdict, ${BOOKING}
  FROM (${bookedAs(bankId, sql`f.direction`)}) AS r, LATERAL (SELECT (r.booking).*) AS e,
    LATERAL (SELECT (e.amount, e.currency) = (f.amount, f.currency) AS is_same) AS s,
    LATERAL (SELECT e.ended_at IS NULL AND is_same AND ${IS_ITS_LINE} AS is_line) AS i
  UNION ALL
  -- An answer that settled nothing named its id, or the end of an exception did.
  SELECT 3, coalesce(r.billing_request_id, b.id), r.id, x.id IS NULL, CASE
      WHEN (f.amount, f.currency) IS DISTINCT FROM
        (coalesce(x.amount, r.amount, b.amount)::bigint, coalesce(x.currency, r.currency, b.currency)::text)
      THEN CASE WHEN coalesce(r.id, b.id) IS NULL OR (r.id IS NULL AND b.status = 'successful') THEN 'unknown_here'
        ELSE 'amount_differs' END
      WHEN EXISTS (
        SELECT FROM exception_answers a JOIN reconciliation_exceptions o ON o.id = a.exception_id
        WHERE coalesce(o.refund_id, o.billing_request_id) = t.resource_id AND a.bank_transaction_id = f.id
          AND o.resolution = 'no_money_moved') THEN 'unknown_here'
      ELSE 'matched' END, ${NO_BOOKING}
  FROM bank_transactions t LEFT JOIN reconciliation_exceptions x ON x.id = t.resource_id
    LEFT JOIN refunds r ON r.id = coalesce(x.refund_id, t.resource_id)
    LEFT JOIN billing_requests b ON b.id = coalesce(x.billing_request_id, t.resource_id)
  WHERE t.bank_id = ${bankId} AND t.bank_transaction_id = f.id AND f.direction = CASE
    WHEN x.kind = 'unknown_here' THEN CASE x.direction WHEN 'debit' THEN 'credit' ELSE 'debit' END
    WHEN (x.id IS NULL) = (r.id IS NULL) THEN 'debit' ELSE 'credit' END
  UNION ALL
  -- Its reference is ours. A bank's file may name other ids than its answers.
  SELECT 4, s.charge, s.refund, nullif(e.identifier IS NULL, false),
    CASE WHEN e.identifier IS NULL THEN 'unknown_here' ELSE 'matched' END, ${BOOKING}
  FROM (
    SELECT b.id AS charge, NULL AS refund, b.bank_transaction_id AS settled_by FROM billing_requests b
    WHERE b.reference = f.reference AND ${bankId} IN (b.bank_id, b.payee_bank_id)
      AND f.direction = CASE b.bank_id WHEN ${bankId} THEN 'debit' ELSE 'credit' END
    UNION ALL
    SELECT r.billing_request_id, r.id, r.bank_transaction_id FROM refunds r
    WHERE r.reference = f.reference AND r.bank_id = ${bankId} AND f.direction = 'credit') AS s
  LEFT JOIN expected_bookings e ON e.bank_id = ${bankId} AND e.identified_by = 'bankTransactionId'
    AND e.identifier = s.settled_by AND e.direction = f.direction AND e.billing_request_id = s.charge
    AND (e.amount, e.currency) = (f.amount, f.currency) AND e.ended_at IS NULL AND ${IS_ITS_LINE}
    -- An extra booking that is taken back by now stays one, in whichever file it comes again.
    AND NOT EXISTS (SELECT FROM extra_bookings x WHERE ${isKeptLine(bankId, 'f')} AND NOT x.stands)
  UNION ALL
  (SELECT 6, x.billing_request_id, x.refund_id, true, 'unknown_here', ${NO_BOOKING} FROM extra_bookings x
   WHERE x.bank_id = ${bankId} AND x.bank_transaction_id = f.id AND x.direction = f.direction AND x.is_extra
   ORDER BY x.booked_on, x.amount, x.currency LIMIT 1)`;

/**
 * SQL: the charge or refund from which a line `f` on the other side may take something back. A
 * credit under the id of its payment's debit is the payee's, where both customers have one bank.
 */
const onOtherSide = (bankId: string) => sql`
  SELECT CASE WHEN x.reference = f.reference THEN 2 ELSE 4 END AS rank, x.charge, x.refund, false AS is_extra,
    'matched' AS verdict, NULL::text AS identified_by, NULL::text AS identifier, NULL::text AS e_direction,
    NULL::text AS matched_by, NULL::bigint AS network_amount, NULL::text AS network_currency, false AS is_leg
  FROM (
    SELECT billing_request_id AS charge, refund_id AS refund, amount::bigint, currency::text, direction, counterpart_id,
      counterpart_booked_on, reference
    FROM extra_bookings WHERE bank_id = ${bankId} AND is_extra AND bank_transaction_id = f.id
    UNION ALL
    SELECT billing_request_id, refund_id, amount::bigint, currency::text, direction, counterpart_id, counterpart_booked_on,
      reference
    FROM extra_bookings WHERE bank_id = ${bankId} AND is_extra AND reference = f.reference
    UNION ALL
    SELECT o.charge, o.refund, o.amount, o.currency, o.direction, NULL, NULL, o.reference FROM own o
    -- A line by its reference may have to leave its booking to the line of its id.
    WHERE (o.is_extra OR o.identifier IS NOT NULL)
      AND (o.id = f.id OR (o.reference = f.reference AND o.reference = o.own_reference))) AS x
  WHERE x.direction <> f.direction AND (x.amount, x.currency) = (f.amount, f.currency)
    AND (x.counterpart_id IS NULL OR (x.counterpart_id, x.counterpart_booked_on) = (f.id, f.day))
  UNION ALL
  SELECT CASE WHEN is_leg THEN 1 WHEN r.rank = 2 THEN 3 ELSE 4 + r.rank END, o.billing_request_id, o.refund_id,
    nullif(is_leg, true), CASE WHEN is_leg THEN 'matched' ELSE 'amount_differs' END, e.identified_by, e.identifier, e.direction, e.matched_by,
    e.amount, e.currency, is_leg
  FROM (${bookedAs(bankId, OTHER_SIDE)}) AS r CROSS JOIN LATERAL (SELECT (r.booking).*) AS o
    LEFT JOIN billing_requests b ON b.id = o.billing_request_id AND b.payee_bank_id = ${bankId}
    LEFT JOIN expected_bookings p ON p.bank_id = ${bankId} AND p.identified_by = 'reference'
      AND p.identifier = b.reference AND (p.direction, p.amount, p.currency) = (f.direction, f.amount, f.currency)
      AND NOT f.is_reversal AND (p.matched_by IS NULL OR (p.booked_id, p.booked_on) = (f.id, f.day)),
    LATERAL (SELECT p.identifier IS NOT NULL AS is_leg) AS i,
    LATERAL (SELECT (CASE WHEN is_leg THEN p ELSE r.booking END).*) AS e
  WHERE o.ended_at IS NULL`;

const WRITTEN = raw(
  'f.position, f.line, f.day, f.amount, f.currency, f.direction, f.id, f.reference, f.problem, f.is_reversal',
);
const PLACE =
  raw(`at, charge, refund, is_extra, verdict, identified_by, identifier, e_direction, matched_by, network_amount,
  network_currency, is_leg`);

/**
 * SQL: the steps after `line`, of which the last, `placed`, has each line with the booking or the
 * charge that it belongs to. `is_extra` says that it settles nothing: on the side of its charge or
 * refund, or on the other, where it may take something back.
 *
 * @param statementId the file of the lines; null for lines of several files
 */
export const placeLines = (bankId: string, statementId: string | null) => sql`
  found AS MATERIALIZED (
    SELECT l.*, e.identified_by, e.identifier, e.direction AS e_direction, e.matched_by, e.booked_id,
      e.amount::bigint AS network_amount, e.currency::text AS network_currency, e.billing_request_id AS charge,
      e.refund_id AS refund, CASE
        WHEN l.problem IS NOT NULL THEN 'malformed'
        WHEN e.identifier IS NULL OR (e.ended_at IS NOT NULL AND e.identified_by = 'bankTransactionId')
          OR (l.amount, l.currency) <> (e.amount, e.currency) THEN NULL
        WHEN e.matched_by IS NULL OR (coalesce(e.booked_id, e.identifier), e.booked_on) = (l.id, l.day)
          -- The booking's own id is better than the reference by which it has another line.
          OR (e.identified_by = 'bankTransactionId' AND e.booked_id IS NOT NULL) THEN 'matched' END AS verdict
    FROM line l LEFT JOIN LATERAL (${expectedBy(bankId)}) AS e ON true),
  own AS MATERIALIZED (
    SELECT f.position AS at, f.id, f.reference, f.amount, f.currency, f.direction, p.charge, p.refund, p.is_extra, CASE
        WHEN p.is_extra AND EXISTS (
          SELECT FROM extra_bookings x
          WHERE ${isKeptLine(bankId, 'f')} AND x.is_extra AND NOT x.stands AND NOT x.differs) THEN 'matched'
        WHEN p.verdict = 'unknown_here' AND ${isUnsettled(sql`f.direction`, sql`${bankId}`)} THEN 'pending'
        ELSE p.verdict END AS verdict,
      p.identified_by, p.identifier, p.e_direction, p.matched_by, p.network_amount, p.network_currency, p.is_leg,
      coalesce(r.reference, b.reference) AS own_reference
    FROM found f CROSS JOIN LATERAL (
        SELECT * FROM (${onOwnSide(bankId, statementId)}) AS p ORDER BY rank LIMIT 1) AS p
      LEFT JOIN billing_requests b ON b.id = p.charge LEFT JOIN refunds r ON r.id = p.refund
    WHERE f.verdict IS NULL),
  other AS MATERIALIZED (
    SELECT f.position AS at, p.* FROM found f CROSS JOIN LATERAL (
      SELECT * FROM (${onOtherSide(bankId)}) AS p ORDER BY rank LIMIT 1) AS p
    WHERE f.verdict IS NULL AND NOT EXISTS (SELECT FROM own o WHERE o.at = f.position)),
  placed AS (
    SELECT ${WRITTEN}, f.verdict, f.charge, f.refund, NULL::boolean AS is_extra, f.identified_by, f.identifier,
      f.e_direction, f.matched_by, f.network_amount, f.network_currency, false AS is_leg,
      f.verdict = 'matched' AND f.identified_by = 'bankTransactionId' AND f.booked_id IS NOT NULL AS displaces
    FROM found f WHERE f.verdict IS NOT NULL
    UNION ALL
    SELECT ${WRITTEN}, coalesce(p.verdict, 'unknown_here'), p.charge, p.refund, p.is_extra, p.identified_by, p.identifier,
      p.e_direction, p.matched_by, p.network_amount, p.network_currency, coalesce(p.is_leg, false), false
    FROM found f LEFT JOIN (
        SELECT ${PLACE} FROM own UNION ALL SELECT ${PLACE} FROM other) AS p ON p.at = f.position
    WHERE f.verdict IS NULL)`;

/**
 * SQL: a charge `b`, or its refund `r`, has not ended; nor has a payment whose payee's bank is
 * still to be told of the credit.
 */
export const isUnsettled = (
  direction: Fragment,
  bankId: Fragment,
) => sql`(coalesce(r.status, b.status) = 'pending'
  OR (r.id IS NULL AND ${direction} = 'credit' AND ${bankId} = b.payee_bank_id AND b.credit_due_at IS NOT NULL
    AND NOT b.credit_settled))`;

/** SQL: keeps the lines of the step `extra`, which settle nothing, with the files that had them. */
export const keepExtra = (bankId: string) => sql`
  INSERT INTO extra_bookings (bank_id, bank_transaction_id, direction, booked_on, amount, currency, reference,
    billing_request_id, refund_id, is_extra, differs, is_reversal, first_matched_by, matched_by)
  SELECT DISTINCT ON (e.id, e.direction, e.day, e.amount, e.currency) ${bankId}, e.id, e.direction, e.day, e.amount,
    e.currency, CASE e.reference WHEN coalesce(r.reference, b.reference) THEN e.reference END, e.charge,
    e.refund, e.is_extra, e.differs, e.is_reversal, e.first_matched_by, e.matched_by
  FROM (SELECT *, row_number() OVER (PARTITION BY charge) AS nth FROM extra) AS e
    JOIN billing_requests b ON b.id = e.charge LEFT JOIN refunds r ON r.id = e.refund
  WHERE nth + (SELECT count(*) FROM extra_bookings x WHERE x.billing_request_id = e.charge) <= ${raw(EXTRA_MAX)}
    OR EXISTS (SELECT FROM extra_bookings x WHERE ${isKeptLine(bankId, 'e')})
  ON CONFLICT (bank_id, bank_transaction_id, direction, booked_on, amount, currency)
    DO UPDATE SET matched_by = excluded.matched_by`;
