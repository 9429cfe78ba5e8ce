/**
 * Whether a resolved exception `x` of a charge speaks of a second debit: by then all answers to the
 * charge were approvals, but for a decline that the bank took back. The debit that settled the
 * charge stands. An exception that names this very debit speaks of no other.
 */
export const IS_OF_SECOND_DEBIT = (x: string) =>
  `(${x}.outcome IS NOT DISTINCT FROM 'approved' AND NOT EXISTS (
    SELECT FROM reconciliation_exceptions d
    WHERE d.billing_request_id = ${x}.billing_request_id AND d.outcome = 'declined' AND d.opened_at <= ${x}.resolved_at
      AND d.resolution IS DISTINCT FROM 'confirmed')
  AND NOT EXISTS (
    SELECT FROM billing_requests c
    WHERE c.id = ${x}.billing_request_id AND c.bank_transaction_id = ${x}.bank_transaction_id))`;
