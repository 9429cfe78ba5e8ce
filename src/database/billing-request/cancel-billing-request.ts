import type { BillingRequestStatus } from '../../domain/lifecycle';
import { Failure } from '../../domain/failures';
import { lockAgreements } from '../agreement/agreement';
import type { Executor } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { windowPassed } from '../clock/window-passed';
import { ownedBy, type Party } from '../query/party';
import { withdraw } from '../webhook/withdraw-delivery';
import { close, ENDED_COLUMNS, judgeClosed, MAY_HAVE_PAID, type Ended } from './close-billing-requests';

/**
 * Cancels a charge that waits for its customer, for the merchant that billed or its provider.
 *
 * One UPDATE decides, in the half of time in which the bank could answer. A bank does not debit
 * without the customer's approval, so no exception is opened; a later approval opens one.
 *
 * @returns the true status, and whether a merchant's cancellation, now or before, caused it
 * @throws Failure not_found
 */
export async function cancelBillingRequest(
  trx: Executor,
  party: Party,
  billingRequestId: string,
): Promise<{ status: BillingRequestStatus; cancelled: boolean }> {
  const own = await trx.row<{ agreementId: string | null }>`
    SELECT agreement_id FROM billing_requests
    WHERE id = ${billingRequestId} AND ${ownedBy(party)}`;
  if (!own) throw new Failure('not_found', 'There is no such billing request.');
  await lockAgreements(trx, own.agreementId === null ? [] : [own.agreementId]);
  const cancelled = await trx.row<Ended>`
    UPDATE billing_requests b SET
      status = 'declined', closed_by = ${party.role}, decline_reason = 'cancelled',
      closed_at = business_now(b.biller_id),
      sequence = b.sequence + 1
    WHERE b.id = ${billingRequestId} AND b.status = 'pending' AND b.approval_required
      AND NOT ${windowPassed(sql`business_now(b.biller_id)`)}
      AND NOT ${raw(MAY_HAVE_PAID)}
    RETURNING ${raw(ENDED_COLUMNS)}`;
  if (!cancelled) return standing(trx, billingRequestId);
  const undelivered = await withdraw(trx, 'charges', [billingRequestId]);
  await close(trx, [cancelled], { cause: party.role, undelivered, signal: 'cancelled' });
  await judgeClosed(trx, [cancelled]);
  return { status: 'declined', cancelled: true };
}

/** The current status; `declined` for a passed window that the workflow has yet to close. */
function standing(trx: Executor, billingRequestId: string) {
  return trx.oneRow<{ status: BillingRequestStatus; cancelled: boolean }>`
    SELECT CASE WHEN status = 'pending' AND ${windowPassed(sql`business_now(biller_id)`)} THEN 'declined'
      ELSE status END AS status,
      coalesce(closed_by IN ('merchant', 'provider') AND decline_reason = 'cancelled', false) AS cancelled
    FROM billing_requests WHERE id = ${billingRequestId}`;
}
