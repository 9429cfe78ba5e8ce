import { fault } from './compared';

/**
 * Parts of the statements that compare rows with their trails: whether each id that a bank has
 * named is noted as that of what it was named for. Where it is not, the bank can prove something
 * else by it once more.
 */

const isClaimed = (id: string, owner: string) => `EXISTS (
        SELECT FROM bank_transactions t
        WHERE (t.bank_id, t.bank_transaction_id, t.resource_id) = (page.bank_id, ${id}, ${owner}))`;

/** Of charges and refunds, by what has settled them. */
export const UNCLAIMED = `
      SELECT id, ${fault('not_claimed', { bankTransactionId: 'bank_transaction_id' })}
      FROM page WHERE bank_transaction_id IS NOT NULL AND NOT ${isClaimed('page.bank_transaction_id', 'page.id')}`;

/**
 * Of exceptions: what was refused belongs to the charge or the refund that it was named for, but
 * for an id that was another's; what took money back belongs to the exception. Older versions let
 * two of them have one id.
 */
export const UNCLAIMED_BY_EXCEPTIONS = `
      SELECT page.id, ${fault('not_claimed', { bankTransactionId: 'named.id' })}
      FROM page JOIN trail USING (id), LATERAL (VALUES
        (CASE WHEN page.kind IN ('late_answer', 'conflicting_answer', 'refund_conflict') THEN page.bank_transaction_id END,
          coalesce(page.refund_id, page.billing_request_id)),
        (page.reversal_bank_transaction_id, page.id)) AS named (id, owner)
      WHERE named.id IS NOT NULL AND NOT ${isClaimed('named.id', 'named.owner')}
        AND trail."exceptionSaid" IS NOT NULL`;
