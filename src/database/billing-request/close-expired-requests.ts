import { lockAgreementsWhere } from '../agreement/agreement';
import { windowPassed } from '../clock/window-passed';
import type { Executor } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { openExceptions } from '../reconciliation-exception/open-exceptions';
import { withdraw } from '../webhook/withdraw-delivery';
import { close, ENDED_COLUMNS, judgeClosed, type Ended } from './close-billing-requests';

/**
 * Declines the requests whose window has passed. The second of two callers finds nothing to do.
 *
 * `not_delivered` tells a merchant that it may bill again. So a charge ends that way only if no
 * byte of it can have reached the bank, nor will. Any other silence is `expired`, and an exception,
 * for the bank may have debited, or may yet.
 *
 * @param found `by its bank` if an answer found them due: that bank knows of the request, however
 *   it came by it
 */
export async function closeExpiredRequests(
  trx: Executor,
  ids: string[],
  found: 'by its bank' | 'by the network' = 'by the network',
): Promise<void> {
  const charged = sql`a.id IN (SELECT agreement_id FROM billing_requests WHERE id = ANY(${ids}))`;
  await lockAgreementsWhere(trx, charged);
  // Exceptions are opened under this lock, so the statements after it see all that there are.
  const due = await trx.rows<{ id: string }>`
    SELECT id FROM billing_requests
    WHERE id = ANY(${ids}) AND status = 'pending' AND ${windowPassed(sql`business_now(biller_id)`)}
    ORDER BY id FOR NO KEY UPDATE`;
  if (due.length === 0) return;
  const dueIds = due.map(({ id }) => id);
  const undelivered = await withdraw(trx, 'charges', dueIds);
  const undeliveredIds = [...undelivered];
  // A bank with an exception has answered before, so its request was delivered.
  const closed = await trx.rows<Ended>`
    UPDATE billing_requests b SET
      status = 'declined', closed_by = 'network', closed_at = business_now(b.biller_id),
      sequence = b.sequence + 1,
      decline_reason = CASE WHEN b.id = ANY(${undeliveredIds}) AND NOT ${found === 'by its bank'}::boolean
          AND NOT EXISTS (SELECT FROM reconciliation_exceptions x WHERE x.billing_request_id = b.id)
                            THEN 'not_delivered' ELSE 'expired' END
    WHERE b.id = ANY(${dueIds}) AND b.status = 'pending'
    RETURNING ${raw(ENDED_COLUMNS)}`;
  await close(trx, closed, { cause: 'network', undelivered });
  // The bank may have moved the money; only an exception makes an operator look.
  const silent = closed.filter((request) => request.declineReason === 'expired');
  await openExceptions(
    trx,
    'network',
    silent.map(({ id }) => ({ kind: 'unanswered', billingRequestId: id, refundId: null })),
    // All requests are of one workflow, which also tells the banks of the ends.
    closed[0]?.workflowId,
  );
  await judgeClosed(trx, closed);
}
