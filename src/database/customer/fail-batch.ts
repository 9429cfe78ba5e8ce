import { act, type Actor } from '../record/audit-event';
import type { Transaction } from '../pool/connection';

/**
 * Gives a batch up: its onboarded customers stay, and its bank sees `failed`.
 *
 * @returns false if there is no such batch in processing
 */
export async function failBatch(trx: Transaction, by: Actor, batchId: string): Promise<boolean> {
  const change = trx.row<{ bankId: string }>`
    UPDATE customer_batches SET status = 'failed' WHERE id = ${batchId} AND status = 'processing'
    RETURNING bank_id`;
  const failed = await act(trx, by, change, ({ bankId }) => ({
    action: 'batch.failed',
    entityId: bankId,
    before: { status: 'processing' },
    after: { batchId, status: 'failed' },
  }));
  if (failed) await trx.rows`DELETE FROM staged_customers WHERE batch_id = ${batchId}`;
  return failed !== undefined;
}
