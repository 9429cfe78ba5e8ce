import type { Executor } from '../pool/connection';

/**
 * Claims of the ids that banks give their transactions. An id belongs to the charge, the refund or
 * (for a reversal) the exception that its bank first named it for. So one debit never proves two
 * charges. A statement that settles a charge or a refund by its bank's answer claims the id itself.
 */

/**
 * Claims the id of an answer that came too late or contradicts the outcome that stands, or of a
 * resolution. The caller holds the charge locked, for claims come last in the order of locks.
 *
 * @returns false if the id belongs to something else
 */
export async function claimBankTransaction(
  trx: Executor,
  claim: { bankId: string; bankTransactionId: string; resourceId: string },
): Promise<boolean> {
  const claimed = await trx.row`
    INSERT INTO bank_transactions (bank_id, bank_transaction_id, resource_id)
    VALUES (${claim.bankId}, ${claim.bankTransactionId}, ${claim.resourceId}) ON CONFLICT DO NOTHING
    RETURNING true`;
  if (claimed) return true;
  // A second statement, so that it sees a claim that the first may have waited for.
  const owned = await trx.row`
    SELECT true FROM bank_transactions
    WHERE bank_id = ${claim.bankId} AND bank_transaction_id = ${claim.bankTransactionId}
      AND resource_id = ${claim.resourceId}`;
  return owned !== undefined;
}
