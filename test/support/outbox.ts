import { randomUUID } from 'node:crypto';
import type { Database } from '../../src/database/pool/connection';
import { enqueueStarts, takeOutboxRows } from '../../src/database/outbox';

/**
 * Whether a bill that is made now is among the next `limit` messages of calls that the relay takes.
 * They are carried then.
 *
 * @param merchantId whose bill it is; left out, another party's than all
 */
export async function billIsAmongTheNext(db: Database, limit: number, merchantId?: string): Promise<boolean> {
  const workflowId = `billing-request/${randomUUID()}`;
  const bill = {
    workflowId,
    attributes: { status: 'pending', ...(merchantId !== undefined && { merchantId }) },
    summary: 'A bill',
  };
  await db.transaction((trx) => enqueueStarts(trx, [bill]));
  const { taken } = await db.transaction((trx) => takeOutboxRows(trx, 'call', limit));
  return taken.some((one) => one.workflowId === workflowId);
}
