import type { Executor } from '../pool/connection';
import { prepared, raw, sql, type Fragment } from '../pool/statement';
import { keepExtra, placeLines } from './place-lines';

/** Lines that belonged to nothing when they came, and are exceptions of their bank alone. */

/** Lines that are placed at once: their number counts by itself in each step. */
const PLACED = 1_000;

/** SQL: the lines of a bank that belonged to nothing when they came, and are unresolved. */
export const unknownLines = (bankId: string, which: Fragment) => sql`
  SELECT row_number() OVER ()::int AS position, NULL::int AS line, x.booked_on AS day, x.booked_amount::bigint AS amount,
    x.booked_currency::text AS currency, x.direction, x.bank_transaction_id AS id, x.reference, NULL::text AS problem,
    x.is_reversal, x.id AS exception_id, x.first_reported_in, x.reported_in
  FROM reconciliation_exceptions x
  -- None that is unresolved is withdrawn, which the index of ids asks for.
  WHERE x.bank_id = ${bankId} AND x.kind = 'unknown_here' AND x.billing_request_id IS NULL AND x.state <> 'resolved'
    AND NOT x.withdrawn AND ${which}
  ORDER BY x.id LIMIT ${raw(PLACED)}`;

export interface Placed {
  /** The exception of the line, which is to end. */
  exceptionId: string | null;
  billingRequestId: string | null;
  isPlaced: boolean;
}

/**
 * Puts lines that were unknown where they belong by now.
 *
 * @param lines SQL, as `unknownLines`
 */
export function placeUnknown(trx: Executor, bankId: string, lines: Fragment): Promise<Placed[]> {
  return prepared(trx).rows<Placed>`
    WITH line AS MATERIALIZED (${lines}),
    ${placeLines(bankId, null)},
    ranked AS (
      SELECT p.*, l.exception_id, l.first_reported_in, l.reported_in, row_number() OVER (
        PARTITION BY p.identified_by, p.identifier, p.e_direction ORDER BY p.identifier IS DISTINCT FROM p.id, p.day) AS nth
      FROM placed p JOIN line l USING (position)),
    booked AS (
      UPDATE expected_bookings e SET first_matched_by = p.first_reported_in, matched_by = p.reported_in, booked_on = p.day,
        booked_id = nullif(p.id, e.identifier)
      FROM ranked p
      WHERE p.verdict = 'matched' AND p.is_extra IS NULL AND p.nth = 1 AND e.bank_id = ${bankId}
        AND e.identified_by = p.identified_by AND e.identifier = p.identifier AND e.direction = p.e_direction
        AND e.matched_by IS NULL),
    extra AS (
      SELECT id, direction, day, amount, currency, reference, charge, refund, is_extra,
        verdict = 'amount_differs' AND is_extra AND identifier IS NOT NULL AS differs, is_reversal,
        first_reported_in AS first_matched_by, reported_in AS matched_by
      FROM ranked WHERE is_extra IS NOT NULL AND charge IS NOT NULL AND reported_in IS NOT NULL),
    extra_kept AS (${keepExtra(bankId)})
    SELECT exception_id, charge AS billing_request_id,
      (verdict = 'matched' AND (is_extra IS NOT NULL OR identifier IS NULL OR nth = 1))
      OR (is_extra IS NOT NULL AND charge IS NOT NULL) AS is_placed
    FROM ranked ORDER BY exception_id`;
}
