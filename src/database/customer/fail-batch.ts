import { recordAuditEvent, type Actor } from '../record/audit-event';
import { row, rows, type Transaction } from '../pool/connection';

/**
 * Gives a batch up: its onboarded customers stay, and its bank sees `failed`.
 *
 * @returns false if there is no such batch in processing
 */
export async function failBatch(trx: Transaction, by: Actor, batchId: string): Promise<boolean> {
  const failed = await row<{ bankId: string }>(
    trx,
    `UPDATE customer_batches SET status = 'failed' WHERE id = :batchId AND status = 'processing'
     RETURNING bank_id`,
    { batchId },
  );
  if (!failed) return false;
  await rows(trx, `DELETE FROM staged_customers WHERE batch_id = :batchId`, { batchId });
  await recordAuditEvent(trx, by, {
    action: 'batch.failed',
    entityId: failed.bankId,
    before: { status: 'processing' },
    after: { batchId, status: 'failed' },
  });
  return true;
}
