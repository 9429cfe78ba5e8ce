import { randomUUID } from 'node:crypto';
import type { Database } from '../../src/database/connection';
import { enqueueStarts, takeOutboxRows } from '../../src/database/outbox';

/**
 * Whether a bill that another party makes now is among the next messages that the relay takes,
 * `limit` of calls and one of bulk ones. They are carried then.
 */
export async function billIsAmongTheNext(db: Database, limit: number): Promise<boolean> {
  const workflowId = `billing-request/${randomUUID()}`;
  const bill = { workflowId, attributes: { status: 'pending' }, summary: 'A bill' };
  await db.transaction((trx) => enqueueStarts(trx, [bill]));
  const taken = await db.transaction((trx) => takeOutboxRows(trx, limit, 1));
  return taken.some((one) => one.workflowId === workflowId);
}
