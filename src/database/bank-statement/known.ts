import { BOOKED_WITHIN_DAYS, type Known, type StatementLine } from '../../domain/books/bank-statement';
import { rows, type Executor } from '../connection';
import { borneOf } from '../ledger/settlement';
import { IS_CREDIT_MISSING, IS_OTHERWISE_MISSING } from '../reconciliation-exception/credit';
import { IS_OF_SECOND_DEBIT } from '../reconciliation-exception/second-debit';

/**
 * What the network has of a page's lines, in one statement. Each line is looked for by its bank's
 * id, and by its reference only where nothing has the id.
 */

type KnownRow = Known & { line: number };

/**
 * @param timeZone of the network, by whose days banks book
 * @returns by line; nothing for a line that is unknown
 */
export async function knownOf(
  db: Executor,
  timeZone: string,
  bankId: string,
  lines: readonly StatementLine[],
): Promise<Map<number, Known>> {
  const given = JSON.stringify(
    lines.map(({ line, bankTransactionId, direction, reference }) => ({
      line,
      id: bankTransactionId,
      direction,
      reference,
    })),
  );
  const byId = await rows<KnownRow>(db, BY_ID, { bankId, given, timeZone });
  const found = new Map(byId.map(({ line, ...known }): [number, Known] => [line, known]));
  const named = lines.filter(({ line, reference }) => reference !== null && !found.has(line));
  if (named.length === 0) return found;
  const lineNumbers = named.map(({ line }) => line);
  const byReference = await rows<KnownRow>(db, BY_REFERENCE, { bankId, given, lineNumbers, timeZone });
  for (const { line, ...known } of byReference) found.set(line, known);
  return found;
}

/** Its bank has transferred it, also where the money came back later. */
const IS_SETTLED_REFUND = `r.status IN ('completed', 'returned')`;

const dayOf = (moment: string) => `to_char((${moment}) AT TIME ZONE :timeZone, 'YYYY-MM-DD')`;

/**
 * Not long before there is a charge or a refund. With a test clock that is moved, its days are
 * those of the clock and the real ones. A second debit, or what took it back, may come at any time
 * after; what settles by its own id may not.
 */
const BOOKABLE = `
    ${dayOf(`least(coalesce(r.created_at, b.created_at), coalesce(r.recorded_at, b.recorded_at)) - interval '${BOOKED_WITHIN_DAYS} days'`)} AS "bookableFrom",
    CASE WHEN (r.id IS NULL AND b.status = 'successful' AND b.bank_transaction_id = l.id) OR (${IS_SETTLED_REFUND} AND r.bank_transaction_id = l.id)
      THEN ${dayOf(`greatest(coalesce(r.closed_at, b.closed_at), coalesce(r.recorded_at, b.recorded_at)) + interval '${BOOKED_WITHIN_DAYS} days'`)}
    END AS "bookableTo"`;

/**
 * Whether the bank of a charge was let off it: nobody has moved its money, or the network bears it.
 * What the bank has taken back since it must have had.
 */
export const isLetOff = (charge: string) => `(EXISTS (
    SELECT FROM reconciliation_exceptions o WHERE o.billing_request_id = ${charge} AND o.refund_id IS NULL
      AND ((o.resolution = 'no_money_moved' AND o.kind <> 'duplicate_transaction_id' AND NOT ${IS_OF_SECOND_DEBIT('o')})
        -- Of an amount that differs the difference alone is written off: all, where it cannot be compared.
        OR (o.resolution = 'written_off' AND (${IS_OTHERWISE_MISSING('o')} OR o.outcome = 'declined'
            OR (o.kind = 'amount_differs' AND (o.booked_currency, o.direction) IS DISTINCT FROM (o.currency, 'debit')))
          AND EXISTS (SELECT FROM (${borneOf(charge)}) AS borne WHERE borne.amount > 0))))
  AND NOT EXISTS (
    SELECT FROM reconciliation_exceptions o
    WHERE o.billing_request_id = ${charge} AND o.refund_id IS NULL AND o.resolution = 'reversed'))`;

/** Wrong files, which vouch for nothing. They are few. */
const DISMISSED = `ARRAY(SELECT id FROM bank_statements WHERE dismissed_at IS NOT NULL)`;

/** Whether a file that was not dismissed has what is noted by this key. */
export const isNoted = (key: string) => `EXISTS (
    SELECT FROM bank_statement_matches m
    WHERE m.resource_id = ${key} AND NOT (m.statement_id || m.earlier_statement_ids) <@ ${DISMISSED})`;

/** Whether a file that was not dismissed tells of this exception, or no file does. */
export const isListedStill = (exception: string) => `(
    NOT EXISTS (SELECT FROM bank_statement_differences t WHERE t.exception_id = ${exception})
    OR EXISTS (
      SELECT FROM bank_statement_differences t
      WHERE t.exception_id = ${exception} AND t.statement_id <> ALL (${DISMISSED})))`;

/** Files that one note tells of: a week of wrong ones does not hide the right one before. */
const NOTED_FILES = 7;

/** What else there is to do for a note `m` where an earlier file has it, but not this one. */
export const NOTED_BEFORE = `ON CONFLICT (resource_id) DO UPDATE SET statement_id = excluded.statement_id,
    line = excluded.line, earlier_statement_ids = (m.statement_id || m.earlier_statement_ids)[1:${NOTED_FILES}]
  WHERE excluded.statement_id <> ALL (m.statement_id || m.earlier_statement_ids)`;

/**
 * Whether a file had a charge `b` before its bank was let off it, so that nobody was told. One that
 * the file had by another amount has an exception of its own.
 */
export const IS_LET_OFF_BOOKED = `(b.status = 'successful' AND ${isLetOff('b.id')}
    AND EXISTS (
      SELECT FROM bank_statement_matches m, unnest(m.statement_id || m.earlier_statement_ids) AS had (statement_id)
        -- Where nobody knows which it was, it is in no table (migration 0087).
        JOIN bank_statements s ON s.id = had.statement_id AND s.dismissed_at IS NULL
      WHERE m.resource_id = b.id AND NOT EXISTS (
        SELECT FROM reconciliation_exceptions a JOIN bank_statement_differences d ON d.exception_id = a.id
        WHERE a.billing_request_id = b.id AND a.kind = 'amount_differs' AND d.statement_id = had.statement_id
          AND (d.line = m.line OR had.statement_id <> m.statement_id)))
    AND NOT EXISTS (
      SELECT FROM reconciliation_exceptions u
      WHERE u.bank_id = b.bank_id AND u.bank_transaction_id = b.bank_transaction_id AND u.kind = 'unknown_here'
        AND (u.direction, u.booked_amount, u.booked_currency) = ('debit', b.amount, b.currency) AND u.dismissed_with IS NULL))`;

const GIVEN = `jsonb_to_recordset(:given::jsonb) AS l (line int, id text, direction text, reference text)`;

/** Not of a credit that the payee's bank lacks: what took that payment back is of its debit. */
const IS_OF_CREDIT = `(xr.direction IS NOT DISTINCT FROM 'credit' AND NOT ${IS_CREDIT_MISSING('xr')})`;

/**
 * The bank takes back what it has booked: a refund, a second debit, and what was left of a counted
 * charge, with what it booked beyond it or has not. What another id took back is not there for this
 * one; what was reversed without an id is the first one's.
 */
const TAKEN_BACK = `(CASE
      WHEN xr.refund_id IS NOT NULL OR ${IS_OF_CREDIT} OR ${IS_OF_SECOND_DEBIT('xr')} OR b.status IS DISTINCT FROM 'successful'
          OR xr.booked_currency <> b.currency
        THEN coalesce(xr.booked_amount, xr.amount)
      ELSE (SELECT coalesce(sum(v.amount), 0) FROM reversals v
            WHERE v.billing_request_id = b.id AND (v.exception_id = xr.id OR (v.bank_transaction_id IS NULL AND NOT EXISTS (
              SELECT FROM reconciliation_exceptions e
              WHERE e.billing_request_id = b.id AND e.refund_id IS NULL AND e.reversal_bank_transaction_id IS NOT NULL
                AND (e.resolved_at, e.id) < (xr.resolved_at, xr.id)))))
        + coalesce(xr.booked_amount, b.amount) - b.amount END)`;

const TAKEN_BACK_CURRENCY = `coalesce(xr.booked_currency, xr.currency)`;
const TAKEN_BACK_BY = `(CASE WHEN xr.refund_id IS NULL AND NOT ${IS_OF_CREDIT} THEN 'credit' ELSE 'debit' END)`;

/** The latest exception that tells of an answer, by this id, that was refused. */
const exceptionOfRefused = (charge: string, refund: string, id: string) => `
      SELECT id, state = 'resolved' AND resolution <> 'no_money_moved' AS accounted FROM reconciliation_exceptions
      WHERE billing_request_id = ${charge} AND bank_transaction_id = ${id} AND refund_id IS NOT DISTINCT FROM ${refund}
        AND kind IN ('late_answer', 'conflicting_answer', 'refund_conflict')
        AND (state <> 'resolved' OR resolution <> 'no_money_moved')
      ORDER BY opened_at DESC, id DESC LIMIT 1`;

/**
 * Whether an exception `u` of what was unknown here would match by now, had a file it again: it
 * settles something, be it at both of two customers of one bank, or took something back, or is a
 * refused one that is accounted for.
 */
export const IS_KNOWN_BY_NOW = `EXISTS (
    SELECT FROM bank_transactions t
      LEFT JOIN reconciliation_exceptions xr ON xr.id = t.resource_id
      LEFT JOIN refunds r ON r.id = t.resource_id
      LEFT JOIN billing_requests b ON b.id = coalesce(r.billing_request_id, xr.billing_request_id, t.resource_id)
      LEFT JOIN LATERAL (SELECT t.bank_transaction_id = CASE WHEN r.id IS NULL THEN b.bank_transaction_id ELSE r.bank_transaction_id END
        AND coalesce(${IS_SETTLED_REFUND}, b.status = 'successful')) AS s (settles) ON true
      LEFT JOIN LATERAL (${exceptionOfRefused('b.id', 'r.id', 't.bank_transaction_id')}) AS x ON xr.id IS NULL
    WHERE t.bank_id = u.bank_id AND t.bank_transaction_id = u.bank_transaction_id
      AND CASE
        WHEN xr.id IS NOT NULL
          THEN (u.direction, u.currency) = (${TAKEN_BACK_BY}, ${TAKEN_BACK_CURRENCY}) AND u.amount <= ${TAKEN_BACK}
        WHEN (u.amount, u.currency) IS DISTINCT FROM (coalesce(r.amount, b.amount), b.currency) THEN false
        WHEN r.id IS NULL AND u.direction = 'credit' THEN s.settles AND b.payee_bank_id = u.bank_id
        ELSE u.direction = CASE WHEN r.id IS NULL THEN 'debit' ELSE 'credit' END
          AND CASE WHEN s.settles THEN r.id IS NOT NULL OR NOT ${isLetOff('b.id')} ELSE coalesce(x.accounted, false) END
      END)`;

/**
 * By the id: what it settles, or was refused for, or took back. Of what was refused the latest
 * exception tells; where the money was found to have gone back, or to be somebody's loss, the
 * booking is accounted for.
 */
const BY_ID = `
  SELECT l.line, t.resource_id AS "resourceId", b.id AS "billingRequestId", r.id AS "refundId",
    coalesce(r.reference, b.reference) AS reference,
    CASE WHEN xr.id IS NOT NULL THEN ${TAKEN_BACK_BY}
         WHEN r.id IS NOT NULL THEN 'credit'
         WHEN l.direction = 'credit' AND b.payee_bank_id = :bankId THEN 'credit' ELSE 'debit' END AS direction,
    (CASE WHEN xr.id IS NULL THEN coalesce(r.amount, b.amount) ELSE ${TAKEN_BACK} END)::bigint AS amount,
    coalesce(${TAKEN_BACK_CURRENCY}, r.currency, b.currency) AS currency,
    CASE WHEN xr.id IS NOT NULL THEN 'reversal'
         WHEN r.id IS NOT NULL THEN CASE WHEN ${IS_SETTLED_REFUND} AND r.bank_transaction_id = l.id THEN 'counted' ELSE 'refused' END
         WHEN b.status = 'successful' AND b.bank_transaction_id = l.id THEN
           CASE WHEN l.direction = 'credit' AND b.payee_bank_id = :bankId THEN 'payee' ELSE 'counted' END
         ELSE 'refused' END AS role,
    coalesce(${IS_SETTLED_REFUND}, b.status = 'successful', false) AS settled,
    coalesce(r.status, b.status) IS NOT DISTINCT FROM 'pending' AS pending,
    x.id AS "exceptionId", coalesce(x.accounted, false) AS accounted,
    r.id IS NULL AND b.id IS NOT NULL AND ${isLetOff('b.id')} AS "letOff",${BOOKABLE}
  FROM ${GIVEN}
    JOIN bank_transactions t ON t.bank_id = :bankId AND t.bank_transaction_id = l.id
    LEFT JOIN refunds r ON r.id = t.resource_id
    LEFT JOIN reconciliation_exceptions xr ON xr.id = t.resource_id
    LEFT JOIN billing_requests b ON b.id = coalesce(r.billing_request_id, xr.billing_request_id, t.resource_id)
    LEFT JOIN LATERAL (${exceptionOfRefused('b.id', 'r.id', 'l.id')}) AS x ON xr.id IS NULL`;

/**
 * By the reference: a charge of this bank's customer, a refund to one, or a payment to one, which
 * the payee's bank credits under an id of its own.
 */
const BY_REFERENCE = `
  SELECT l.line, coalesce(r.id, b.id) AS "resourceId", b.id AS "billingRequestId", r.id AS "refundId",
    coalesce(r.reference, b.reference) AS reference,
    CASE WHEN r.id IS NOT NULL OR paid.to_customer THEN 'credit' ELSE 'debit' END AS direction,
    coalesce(r.amount, b.amount)::bigint AS amount, b.currency,
    CASE WHEN r.id IS NULL AND paid.to_customer THEN 'payee' ELSE 'open' END AS role,
    coalesce(${IS_SETTLED_REFUND}, b.status = 'successful') AS settled, coalesce(r.status, b.status) = 'pending' AS pending, NULL AS "exceptionId", false AS accounted,
    false AS "letOff",${BOOKABLE}
  FROM ${GIVEN}
    LEFT JOIN refunds r ON r.reference = l.reference AND r.bank_id = :bankId
    JOIN billing_requests b ON b.id = coalesce(r.billing_request_id, (
      SELECT c.id FROM billing_requests c WHERE c.reference = l.reference
        AND (c.bank_id = :bankId OR (l.direction = 'credit' AND c.payee_bank_id = :bankId AND c.status = 'successful')))),
    LATERAL (SELECT coalesce(l.direction = 'credit' AND b.payee_bank_id = :bankId AND b.status = 'successful', false)) AS paid (to_customer)
  WHERE l.line = ANY(:lineNumbers)`;
