import type { Database, Executor } from '../pool/connection';
import { prepared, raw, sql } from '../pool/statement';
import { keepExtra, placeLines } from './place-lines';
import { workOnFile } from './receive-bank-file';

/**
 * Matches the lines of a bank file with the bookings that are expected of its bank, page by page.
 *
 * One transaction joins a page, counts it, keeps its differences and deletes it. So each line
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
 * Bytes of differences of a bank's files of a day: some 80 000 lines, far more than people look
 * into. Further differences are only counted: kept differences stay for months.
 */
const KEPT_BYTES_PER_DAY = 16 * 1024 ** 2;

/**
 * SQL: whether a file's next page of differences is kept. A difference that holds money of
 * merchants (`for_held`) has twice the room of others (`for_any`).
 */
export const roomToKeep = (statementId: string) => sql`
  SELECT sum(o.kept_bytes) < ${raw(KEPT_BYTES_PER_DAY)} AS for_any, sum(o.kept_bytes) < 2 * ${raw(KEPT_BYTES_PER_DAY)} AS for_held
  FROM bank_files s JOIN bank_files o ON o.bank_id = s.bank_id
    AND o.recorded_at > s.recorded_at - interval '1 day'
  WHERE s.id = ${statementId}`;

/**
 * Takes the file's next page, and matches its plain lines: those that are their booking by id,
 * side, amount and currency. Nearly all are, so these cost one probe and nothing else. Of lines
 * with one id the first is plain.
 *
 * @returns the page's other lines, as JSON, if there are any
 */
const matchPlain = (trx: Executor, bankId: string, statementId: string) =>
  trx.row<{ position: number; others: string | null }>`
  WITH page AS (
    DELETE FROM bank_file_pages WHERE (statement_id, position) = (
      SELECT statement_id, position FROM bank_file_pages WHERE statement_id = ${statementId} ORDER BY position LIMIT 1)
    RETURNING position, lines),
  line AS MATERIALIZED (
    SELECT n, v, (v->>1)::date AS day, (v->>2)::bigint AS amount, v->>3 AS currency, v->>4 AS direction, v->>5 AS id,
      v->>7 AS problem
    FROM page, jsonb_array_elements(page.lines) WITH ORDINALITY AS e (v, n)),
  plain AS (
    UPDATE expected_bookings e SET matched_by = ${statementId}, booked_on = l.day,
      first_matched_by = coalesce(e.first_matched_by, ${statementId})
    FROM (SELECT DISTINCT ON (id COLLATE "C", direction) * FROM line WHERE problem IS NULL
      ORDER BY id COLLATE "C", direction, n) AS l
    WHERE e.bank_id = ${bankId} AND e.identified_by = 'bankTransactionId' AND e.identifier = l.id AND e.direction = l.direction
      AND (e.amount, e.currency) = (l.amount, l.currency) AND e.ended_at IS NULL AND (e.matched_by IS NULL
        OR (e.booked_id IS NULL AND e.booked_on = l.day AND e.matched_by <> ${statementId}))
    RETURNING l.n),
  counted AS (
    UPDATE bank_files SET matched = matched + (SELECT count(*) FROM plain) WHERE id = ${statementId})
  SELECT position, (
    SELECT jsonb_agg(v ORDER BY n)::text FROM line WHERE NOT EXISTS (SELECT FROM plain p WHERE p.n = line.n)) AS others
  FROM page`;

/** The longest of ISO 20022. A longer reference is none of the network's. */
const REFERENCE_KEPT = 35;
/**
 * A line that an earlier file had is matched again; a line repeated in this file is a duplicate. A
 * difference without room holds nothing, and the bank's next file tells it again.
 *
 * @param lines JSON, as `matchPlain` leaves them
 */
const matchOthers = (
  trx: Executor,
  {
    bankId,
    statementId,
    position,
    lines,
  }: { bankId: string; statementId: string; position: number; lines: string },
) =>
  prepared(trx).rows`
  WITH room AS MATERIALIZED (${roomToKeep(statementId)}),
  line AS MATERIALIZED (
    SELECT ${position}::int + n::int - 1 AS position, (v->>0)::int AS line, (v->>1)::date AS day, (v->>2)::bigint AS amount,
      v->>3 AS currency, v->>4 AS direction, v->>5 AS id, v->>6 AS reference, v->>7 AS problem,
      (v->>8)::boolean IS TRUE AS is_reversal
    FROM jsonb_array_elements(${lines}::jsonb) WITH ORDINALITY AS e (v, n)),
  ${placeLines(bankId, statementId)},
  keyed AS (
    SELECT p.*, is_booking, CASE WHEN is_booking THEN concat_ws(' ', identified_by, e_direction, identifier)
      ELSE concat_ws(' ', direction, amount, currency, id, day) END AS key
    FROM placed p, LATERAL (SELECT verdict = 'matched' AND identifier IS NOT NULL AND is_extra IS NULL AS is_booking) AS b),
  -- A booking has one line. Another line of the page that could be it settles nothing.
  ranked AS MATERIALIZED (
    SELECT *, row_number() OVER same AS place, row_number() OVER same
        + (is_booking AND NOT displaces AND matched_by IS NOT DISTINCT FROM ${statementId})::int AS nth
    FROM keyed WINDOW same AS (PARTITION BY key ORDER BY identifier IS DISTINCT FROM id, position)),
  judged AS MATERIALIZED (
    SELECT position, line, day, amount, currency, direction, id, reference, problem, is_reversal, charge, refund,
      network_amount, network_currency, identified_by, identifier, e_direction, displaces, is_booking AND NOT is_other AS is_booking,
      CASE WHEN is_other THEN NOT is_leg ELSE is_extra END AS is_extra,
      CASE WHEN NOT is_other THEN verdict WHEN is_leg THEN 'amount_differs' ELSE 'unknown_here' END AS verdict,
      NOT is_other AND nth > 1 AS is_repeat,
      CASE WHEN NOT is_booking OR is_other THEN hashtextextended(concat_ws(' ', direction, amount, currency, id, day), 0) END AS hash
    FROM ranked, LATERAL (SELECT CASE WHEN is_booking AND nth > 1 THEN (is_leg AND nth = 2) OR EXISTS (
        SELECT FROM ranked f WHERE f.key = ranked.key AND f.place = 1 AND (f.id, f.day) <> (ranked.id, ranked.day))
      ELSE false END AS is_other) AS o),
  matched AS (
    UPDATE expected_bookings e SET
      matched_by = CASE WHEN is_booking THEN ${statementId} ELSE e.matched_by END,
      first_matched_by = CASE WHEN is_booking AND (displaces OR e.first_matched_by IS NULL) THEN ${statementId}
        ELSE e.first_matched_by END,
      booked_on = CASE WHEN is_booking THEN j.day ELSE e.booked_on END,
      booked_id = CASE WHEN is_booking THEN nullif(j.id, e.identifier) ELSE e.booked_id END,
      reported_in = CASE WHEN is_booking THEN e.reported_in ELSE ${statementId} END
    FROM judged j
    WHERE NOT is_repeat AND e.bank_id = ${bankId} AND e.identified_by = j.identified_by AND e.identifier = j.identifier
      AND e.direction = j.e_direction AND (is_booking OR (
        verdict = 'amount_differs' AND (SELECT for_held FROM room) AND NOT EXISTS (
          SELECT FROM judged k WHERE k.is_booking AND (k.identified_by, k.identifier, k.e_direction)
            = (j.identified_by, j.identifier, j.e_direction))))),
  extra AS (
    SELECT id, direction, day, amount, currency, reference, charge, refund, is_extra, differs, is_reversal,
      ${statementId} AS first_matched_by, ${statementId} AS matched_by
    FROM judged, LATERAL (SELECT verdict = 'amount_differs' AND is_extra AND identifier IS NOT NULL AS differs) AS d
    WHERE is_extra IS NOT NULL AND NOT is_repeat AND (NOT differs OR (SELECT for_held FROM room))
    UNION ALL
    SELECT e.booked_id, e.direction, e.booked_on, e.amount, e.currency, coalesce(r.reference, b.reference),
      e.billing_request_id, e.refund_id, true, false, false, e.first_matched_by, e.matched_by
    FROM judged j JOIN expected_bookings e ON e.bank_id = ${bankId} AND e.identified_by = j.identified_by
        AND e.identifier = j.identifier AND e.direction = j.e_direction
      JOIN billing_requests b ON b.id = e.billing_request_id LEFT JOIN refunds r ON r.id = e.refund_id
    WHERE j.displaces AND NOT j.is_repeat),
  extra_kept AS (${keepExtra(bankId)}),
  reported AS (
    INSERT INTO bank_file_reported (statement_id, line_hash)
    SELECT DISTINCT ${statementId}, hash FROM judged WHERE NOT is_booking AND NOT is_repeat
      AND verdict <> 'malformed'
    ON CONFLICT DO NOTHING RETURNING line_hash),
  said AS MATERIALIZED (
    SELECT j.*, CASE
        WHEN verdict = 'malformed' THEN verdict
        WHEN is_repeat OR (NOT is_booking AND t.line_hash IS NULL) THEN 'duplicate'
        ELSE verdict END AS difference
    FROM judged j LEFT JOIN reported t ON t.line_hash = j.hash),
  kept AS (
    INSERT INTO bank_file_differences (statement_id, position, differences)
    SELECT ${statementId}, min(s.position), jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
        'line', s.line, 'difference', s.difference, 'bankTransactionId', s.id, 'bookingDate', s.day, 'direction', s.direction,
        'amount', s.amount::text, 'currency', s.currency, 'reference', left(s.reference, ${raw(REFERENCE_KEPT)}),
        'networkReference', coalesce(r.reference, b.reference), 'networkAmount', s.network_amount::text,
        'networkCurrency', s.network_currency, 'billingRequestId', s.charge, 'refundId', s.refund, 'problem', s.problem,
        'isReversal', nullif(s.is_reversal, false)))
        ORDER BY s.position)
    FROM room, said s LEFT JOIN billing_requests b ON b.id = s.charge LEFT JOIN refunds r ON r.id = s.refund
    WHERE s.difference NOT IN ('matched', 'pending') AND CASE s.difference WHEN 'amount_differs' THEN for_held ELSE for_any END
    HAVING count(*) > 0
    RETURNING jsonb_array_length(differences) AS lines, pg_column_size(differences) AS bytes)
  UPDATE bank_files s SET matched = s.matched + c.matched, duplicates = s.duplicates + c.duplicates,
    unknown_here = s.unknown_here + c.unknown_here, amount_differs = s.amount_differs + c.amount_differs,
    malformed = s.malformed + c.malformed, pending = s.pending + c.pending,
    not_kept = s.not_kept + c.lines - c.matched - c.pending - coalesce(k.lines, 0),
    kept_bytes = s.kept_bytes + coalesce(k.bytes, 0)
  FROM (
    SELECT count(*) AS lines, count(*) FILTER (WHERE difference = 'matched') AS matched,
      count(*) FILTER (WHERE difference = 'duplicate') AS duplicates,
      count(*) FILTER (WHERE difference = 'unknown_here') AS unknown_here,
      count(*) FILTER (WHERE difference = 'amount_differs') AS amount_differs,
      count(*) FILTER (WHERE difference = 'malformed') AS malformed,
      count(*) FILTER (WHERE difference = 'pending') AS pending
    FROM said) AS c LEFT JOIN kept k ON true
  WHERE s.id = ${statementId}`;

export async function matchLines(matching: Matching, statementId: string): Promise<void> {
  while (await matchNextPage(matching, statementId)) matching.heartbeat();
}

/** @returns whether there was a page left */
const matchNextPage = ({ db }: Matching, statementId: string): Promise<boolean> =>
  workOnFile(db, statementId, async (trx, { bankId }) => {
    const page = await matchPlain(trx, bankId, statementId);
    if (page?.others)
      await matchOthers(trx, { bankId, statementId, position: page.position, lines: page.others });
    return page !== undefined;
  });
