import type { Database, Executor } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { endMatchedException, IS_ALL_SAID } from '../reconciliation-exception/end-exceptions';
import { roomToKeep } from './kept-differences';
import { workOnFile } from './receive-bank-file';

/**
 * Matches the lines of a bank file with the bookings that are expected of its bank, page by page.
 *
 * One SQL statement joins a page, counts it, keeps its differences and deletes it. So each line
 * counts once, even if a process dies in between. Matching locks no charge: exceptions are opened
 * and ended by transactions of their own.
 */

export interface Matching {
  db: Database;
  /** Business days that a bank has to book what settled. */
  bookingDays: number;
  /** The workflow that makes the first attempts at the webhooks. */
  workflowId: string;
  /** Called after each page, and before each exception that ends. */
  heartbeat: () => void;
}

/**
 * SQL: finds a booking by its id. The payee's bank has an id of its own for a payment between
 * customers, so that booking is found by its reference.
 */
const expectedBy = (bankId: string) => sql`
  SELECT * FROM expected_bookings
  WHERE bank_id = ${bankId} AND identified_by = 'bankTransactionId' AND identifier = l.id AND direction = l.direction
  UNION ALL
  SELECT * FROM expected_bookings WHERE bank_id = ${bankId} AND identified_by = 'reference' AND identifier = l.reference
    AND (direction, amount, currency) = (l.direction, l.amount, l.currency)
  LIMIT 1`;

/**
 * SQL: finds an exception by an id that settled nothing: a doubtful answer named the id, or the id
 * is a reversal. A line with another amount does not match a charge paid under another id, for
 * ending that exception could reverse the charge.
 */
const inDoubtBy = (bankId: string) => sql`
  SELECT x.id, x.billing_request_id, x.refund_id, x.amount, x.currency,
    CASE WHEN (x.id = t.resource_id) = (CASE
      WHEN x.kind = 'unknown_here' THEN x.direction = 'debit' ELSE x.refund_id IS NULL END)
      THEN 'credit' ELSE 'debit' END AS direction,
    x.refund_id IS NULL AND EXISTS (
      SELECT FROM billing_requests b WHERE b.id = x.billing_request_id AND b.status = 'successful') AS is_paid
  FROM bank_transactions t JOIN reconciliation_exceptions x
    ON x.id = t.resource_id OR x.billing_request_id = t.resource_id OR x.refund_id = t.resource_id
  WHERE e.identifier IS NULL AND t.bank_id = ${bankId} AND t.bank_transaction_id = l.id AND x.resolution IS DISTINCT FROM 'no_money_moved'
    AND (x.id = t.resource_id
      OR (coalesce(x.refund_id, x.billing_request_id) = t.resource_id AND EXISTS (
        SELECT FROM exception_answers a WHERE a.exception_id = x.id AND a.bank_transaction_id = l.id)))
  ORDER BY x.opened_at DESC, x.id DESC LIMIT 1`;

/**
 * SQL: the verdict on each `line`. The credit of a reversed payment is no longer expected, but
 * matches if it came all the same.
 */
const verdictsOf = (bankId: string) => sql`
  SELECT l.*, e.identified_by, e.identifier, e.direction AS e_direction, e.matched_by, e.amount AS network_amount, e.currency AS network_currency,
    coalesce(e.billing_request_id, x.billing_request_id) AS charge, coalesce(e.refund_id, x.refund_id) AS refund,
    CASE
      WHEN l.problem IS NOT NULL THEN 'malformed'
      WHEN e.identifier IS NULL AND x.id IS NULL THEN 'unknown_here'
      WHEN e.ended_at IS NOT NULL AND e.identified_by = 'bankTransactionId' THEN 'unknown_here'
      WHEN (l.amount, l.currency, l.direction)
        = (coalesce(e.amount, x.amount), coalesce(e.currency, x.currency), coalesce(e.direction, x.direction)) THEN 'matched'
      WHEN coalesce(e.billing_request_id, x.billing_request_id) IS NULL OR x.is_paid THEN 'unknown_here'
      ELSE 'amount_differs' END AS verdict
  FROM line l
    LEFT JOIN LATERAL (${expectedBy(bankId)}) AS e ON true
    LEFT JOIN LATERAL (${inDoubtBy(bankId)}) AS x ON true`;

/** The longest of ISO 20022. A longer reference is none of the network's. */
const REFERENCE_KEPT = 35;
/**
 * A line that an earlier file had is matched again; a line repeated in this file is a duplicate. A
 * difference without room holds nothing, and the bank's next file tells it again.
 */
const matchPage = (trx: Executor, bankId: string, statementId: string) =>
  trx.row`
  WITH room AS MATERIALIZED (${roomToKeep(statementId)}),
  page AS (
    DELETE FROM bank_statement_pages WHERE (statement_id, position) = (
      SELECT statement_id, position FROM bank_statement_pages WHERE statement_id = ${statementId} ORDER BY position LIMIT 1)
    RETURNING position, lines),
  line AS MATERIALIZED (
    SELECT page.position + n::int - 1 AS position, (v->>0)::int AS line, (v->>1)::date AS day, (v->>2)::bigint AS amount,
      v->>3 AS currency, v->>4 AS direction, v->>5 AS id, v->>6 AS reference, v->>7 AS problem
    FROM page, jsonb_array_elements(page.lines) WITH ORDINALITY AS e (v, n)),
  found AS MATERIALIZED (${verdictsOf(bankId)}),
  keyed AS (
    SELECT f.*, is_booking, CASE WHEN is_booking THEN concat_ws(' ', identified_by, e_direction, identifier)
      ELSE concat_ws(' ', direction, amount, currency, id) END AS key
    FROM found f, LATERAL (SELECT verdict = 'matched' AND identifier IS NOT NULL AS is_booking) AS b),
  judged AS MATERIALIZED (
    SELECT *, hashtextextended(key, 0) AS hash,
      row_number() OVER (PARTITION BY key ORDER BY position) > 1
        OR (is_booking AND matched_by IS NOT DISTINCT FROM ${statementId}) AS is_repeat
    FROM keyed),
  matched AS (
    UPDATE expected_bookings e SET
      matched_by = CASE WHEN j.is_matched THEN ${statementId} ELSE e.matched_by END,
      first_matched_by = CASE WHEN j.is_matched THEN coalesce(e.first_matched_by, ${statementId})
        ELSE e.first_matched_by END,
      booked_on = CASE WHEN j.is_matched THEN coalesce(e.booked_on, j.day) ELSE e.booked_on END,
      reported_in = CASE WHEN j.is_matched THEN e.reported_in ELSE ${statementId} END
    FROM (SELECT identified_by, identifier, e_direction, bool_or(is_booking) AS is_matched, min(day) AS day FROM judged
      WHERE identifier IS NOT NULL AND NOT is_repeat
        AND (verdict = 'matched' OR (verdict = 'amount_differs' AND (SELECT for_held FROM room)))
      GROUP BY identified_by, identifier, e_direction) AS j
    WHERE e.bank_id = ${bankId} AND e.identified_by = j.identified_by AND e.identifier = j.identifier
      AND e.direction = j.e_direction),
  reported AS (
    INSERT INTO bank_statement_reported (statement_id, line_hash)
    SELECT DISTINCT ${statementId}, hash FROM judged WHERE NOT is_booking AND NOT is_repeat AND verdict <> 'malformed'
    ON CONFLICT DO NOTHING RETURNING line_hash),
  said AS MATERIALIZED (
    SELECT j.*, CASE
        WHEN verdict = 'malformed' THEN verdict
        WHEN is_repeat OR (NOT is_booking AND t.line_hash IS NULL) THEN 'duplicate'
        ELSE verdict END AS difference
    FROM judged j LEFT JOIN reported t ON t.line_hash = j.hash),
  kept AS (
    INSERT INTO bank_statement_differences (statement_id, position, differences)
    SELECT ${statementId}, min(s.position), jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
        'line', s.line, 'difference', s.difference, 'bankTransactionId', s.id, 'bookingDate', s.day, 'direction', s.direction,
        'amount', s.amount::text, 'currency', s.currency, 'reference', left(s.reference, ${raw(REFERENCE_KEPT)}),
        'networkReference', coalesce(r.reference, b.reference), 'networkAmount', s.network_amount::text,
        'networkCurrency', s.network_currency, 'billingRequestId', s.charge, 'refundId', s.refund, 'problem', s.problem))
        ORDER BY s.position)
    FROM room, said s LEFT JOIN billing_requests b ON b.id = s.charge LEFT JOIN refunds r ON r.id = s.refund
    WHERE s.difference <> 'matched' AND CASE s.difference WHEN 'amount_differs' THEN for_held ELSE for_any END
    HAVING count(*) > 0
    RETURNING jsonb_array_length(differences) AS lines, pg_column_size(differences) AS bytes)
  UPDATE bank_statements s SET matched = s.matched + c.matched, duplicates = s.duplicates + c.duplicates,
    unknown_here = s.unknown_here + c.unknown_here, amount_differs = s.amount_differs + c.amount_differs,
    malformed = s.malformed + c.malformed, not_kept = s.not_kept + c.lines - c.matched - coalesce(k.lines, 0),
    kept_bytes = s.kept_bytes + coalesce(k.bytes, 0)
  FROM (
    SELECT count(*) AS lines, count(*) FILTER (WHERE difference = 'matched') AS matched,
      count(*) FILTER (WHERE difference = 'duplicate') AS duplicates,
      count(*) FILTER (WHERE difference = 'unknown_here') AS unknown_here,
      count(*) FILTER (WHERE difference = 'amount_differs') AS amount_differs,
      count(*) FILTER (WHERE difference = 'malformed') AS malformed
    FROM said) AS c LEFT JOIN kept k ON true
  WHERE s.id = ${statementId} AND c.lines > 0 RETURNING s.id`;

export async function matchLines(matching: Matching, statementId: string): Promise<void> {
  while (await matchNextPage(matching, statementId)) matching.heartbeat();
}

/** @returns whether there was a page left */
const matchNextPage = ({ db }: Matching, statementId: string): Promise<boolean> =>
  workOnFile(
    db,
    statementId,
    async (trx, { bankId }) => (await matchPage(trx, bankId, statementId)) !== undefined,
  );
/** Lines that came before their bank's answer match by now, and are missing in no file. */
const knownByNow = (trx: Executor, bankId: string, statementId: string) =>
  trx.rows<{ id: string }>`
  WITH line AS MATERIALIZED (
    SELECT id AS exception_id, booked_amount::bigint AS amount, booked_currency::text AS currency, direction,
      bank_transaction_id AS id, reference, NULL AS problem, booked_on AS day
    FROM reconciliation_exceptions WHERE bank_id = ${bankId} AND kind = 'unknown_here' AND state <> 'resolved'),
  found AS MATERIALIZED (${verdictsOf(bankId)}),
  matched AS (
    UPDATE expected_bookings e SET matched_by = ${statementId}, first_matched_by = ${statementId}, booked_on = f.day
    FROM found f
    WHERE f.verdict = 'matched' AND e.bank_id = ${bankId} AND e.identified_by = f.identified_by
      AND e.identifier = f.identifier AND e.direction = f.e_direction
      AND e.matched_by IS NULL)
  SELECT exception_id AS id FROM found WHERE verdict = 'matched'`;

export async function endExceptionsOfFile({ db, heartbeat }: Matching, statementId: string): Promise<void> {
  const explained = await workOnFile(db, statementId, async (trx, { bankId }) => [
    ...(await knownByNow(trx, bankId, statementId)),
    ...(await trx.rows<{ id: string }>`
  SELECT x.id FROM reconciliation_exceptions x JOIN expected_bookings e ON e.bank_id = ${bankId}
    AND e.identified_by = CASE WHEN x.bank_transaction_id IS NULL THEN 'reference' ELSE 'bankTransactionId' END
    AND e.identifier = coalesce(x.bank_transaction_id, x.reference) AND e.matched_by IS NOT NULL
  WHERE ${bankId} IN (x.bank_id, x.payee_bank_id) AND x.kind = 'missing_at_bank' AND ${raw(IS_ALL_SAID)}`),
  ]);
  for (const { id } of explained || []) {
    heartbeat();
    await db.transaction((trx) => endMatchedException(trx, id));
  }
}
