import { recordAuditEvent, type Actor } from '../record/audit-event';
import type { Transaction } from '../pool/connection';

/**
 * Gives a batch up: its onboarded customers stay, and its bank sees `failed`.
 *
 * @returns false if there is no such batch in processing
 */
export async function failBatch(trx: Transaction, by: Actor, batchId: string): Promise<boolean> {
  const failed = await trx.row<{ bankId: string }>`
    UPDATE customer_batches SET status = 'failed' WHERE id = ${batchId} AND status = 'processing'
    RETURNING bank_id`;
  if (!failed) return false;
  await trx.rows`DELETE FROM staged_customers WHERE batch_id = ${batchId}`;
  await recordAuditEvent(trx, by, {
    action: 'batch.failed',
    entityId: failed.bankId,
    before: { status: 'processing' },
    after: { batchId, status: 'failed' },
  });
  return true;
}
