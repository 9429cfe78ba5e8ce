import type { Executor } from '../pool/connection';
import { raw, sql, type Fragment } from '../pool/statement';

/**
 * Bookings that banks are to have in their files. A booking is expected from its ledger entry on
 * (`postEntries`), until a file has it, or until its money is found not to have moved.
 */

/** SQL: whether an exception `x` is about the lack of a booking `e`. */
export const LACKED = `
  e.identified_by = CASE WHEN x.bank_transaction_id IS NULL THEN 'reference' ELSE 'bankTransactionId' END
  AND e.identifier = coalesce(x.bank_transaction_id, x.reference) AND e.direction = x.direction`;

/**
 * Takes the lines of bookings from them: they settle nothing. The caller holds the charges locked.
 *
 * @param which SQL of rows of the bookings, each with its `reference`
 * @param as what becomes of the bookings: `ended` are expected no more, and of `raised` ones the
 *   line has another amount
 */
export async function freeLines(
  trx: Executor,
  which: Fragment,
  as: 'ended' | 'raised' | 'freed',
): Promise<void> {
  await trx.rows`
    WITH its AS MATERIALIZED (${which}),
    extra AS (
      INSERT INTO extra_bookings (bank_id, bank_transaction_id, direction, booked_on, amount, currency, reference,
        billing_request_id, refund_id, is_extra, differs, first_matched_by, matched_by)
      SELECT bank_id, coalesce(booked_id, identifier), direction, booked_on, amount, currency, reference,
        billing_request_id, refund_id, true, ${as} = 'raised', first_matched_by, matched_by
      FROM its WHERE matched_by IS NOT NULL ON CONFLICT DO NOTHING)
    UPDATE expected_bookings e SET booked_on = NULL, booked_id = NULL, first_matched_by = NULL, matched_by = NULL,
      ended_at = CASE ${as} WHEN 'ended' THEN clock_timestamp() ELSE e.ended_at END,
      reported_in = CASE ${as} WHEN 'raised' THEN e.matched_by ELSE e.reported_in END
    FROM its i WHERE e.bank_id = i.bank_id AND e.identified_by = i.identified_by AND e.identifier = i.identifier
      AND e.direction = i.direction`;
}

/**
 * Ends the expected bookings whose money an exception has found not to have moved: the charge's
 * debit, or the refund's credit, and the booking that a file lacked or had otherwise. A line of
 * them, which a file may have had before, settles nothing. The caller holds the charge locked.
 */
export async function endExpected(trx: Executor, exceptionId: string): Promise<void> {
  const which = sql`
    SELECT e.*, coalesce(r.reference, b.reference) AS reference
    FROM reconciliation_exceptions x JOIN billing_requests b ON b.id = x.billing_request_id
      LEFT JOIN refunds r ON r.id = x.refund_id
      CROSS JOIN LATERAL (SELECT coalesce(r.bank_transaction_id, b.bank_transaction_id) AS id) AS own
      JOIN expected_bookings e ON e.identified_by = 'bankTransactionId' AND e.identifier IN (
        own.id, CASE WHEN x.kind IN ('missing_at_bank', 'amount_differs') THEN x.bank_transaction_id END)
    WHERE x.id = ${exceptionId} AND e.bank_id = b.bank_id AND e.refund_id IS NOT DISTINCT FROM r.id
      -- A reversal may have the id of its debit.
      AND (e.identifier <> own.id OR e.direction = CASE WHEN r.id IS NULL THEN 'debit' ELSE 'credit' END
        OR (x.kind = 'missing_at_bank' AND e.direction = x.direction))`;
  await freeLines(trx, which, 'ended');
}

/**
 * Ends what an exception has written off: a booking that no file has, and lines that stand. Only a
 * file can take that back. The caller holds the charge locked.
 *
 * @param isOwn whether the exception is about the booking of its charge or refund itself
 */
export async function endWrittenOff(trx: Executor, exceptionId: string, isOwn: boolean): Promise<void> {
  await trx.rows`
    WITH x AS (SELECT * FROM reconciliation_exceptions WHERE id = ${exceptionId}),
    borne AS (
      UPDATE extra_bookings e SET ended_at = clock_timestamp() FROM x
      WHERE e.billing_request_id = x.billing_request_id AND e.refund_id IS NOT DISTINCT FROM x.refund_id AND e.stands)
    UPDATE expected_bookings e SET written_off_at = clock_timestamp() FROM x
    -- A credit that was not delivered says nothing of the payer's debit.
    WHERE ${isOwn}::boolean AND x.kind <> 'credit_undelivered'
      AND e.billing_request_id = x.billing_request_id AND e.refund_id IS NOT DISTINCT FROM x.refund_id
      AND e.matched_by IS NULL AND e.ended_at IS NULL AND CASE x.kind WHEN 'missing_at_bank' THEN ${raw(LACKED)}
        ELSE e.direction = CASE WHEN x.refund_id IS NULL THEN 'debit' ELSE 'credit' END END`;
}

/** Ends the credit that a reversal has made needless. A line of it still matches. */
export async function endExpectedCredit(trx: Executor, billingRequestId: string): Promise<void> {
  await trx.rows`
    UPDATE expected_bookings SET ended_at = clock_timestamp()
    WHERE billing_request_id = ${billingRequestId} AND identified_by = 'reference'`;
}
