/**
 * Whether a resolved exception `x` of a charge speaks of a second debit: by then all answers to the
 * charge were approvals. The debit that settled the charge stands.
 */
export const IS_OF_SECOND_DEBIT = (x: string) =>
  `(${x}.outcome IS NOT DISTINCT FROM 'approved' AND NOT EXISTS (
    SELECT FROM reconciliation_exceptions d
    WHERE d.billing_request_id = ${x}.billing_request_id AND d.outcome = 'declined' AND d.opened_at <= ${x}.resolved_at))`;
