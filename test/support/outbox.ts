import { randomUUID } from 'node:crypto';
import type { Database, Executor } from '../../src/database/pool/connection';
import { endLease, enqueueStarts, leaseOutboxRows, type OutboxRank } from '../../src/database/outbox';

/** As a relay does that reaches Temporal: the messages are gone then. */
export async function takeMessages(db: Database, rank: OutboxRank, limit: number, after?: string) {
  const batch = await leaseOutboxRows(db, rank, limit, 60, after);
  await endLease(db, batch.leased, [], 0);
  return batch;
}

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
  const { leased } = await takeMessages(db, 'call', limit);
  return leased.some((one) => one.workflowId === workflowId);
}

/** Signals on their way to a workflow, oldest first. */
export async function signalsTo(db: Executor, workflowId: string): Promise<string[]> {
  const found = await db.rows<{ signal: string }>`
    SELECT signal FROM outbox WHERE kind = 'signal' AND workflow_id = ${workflowId} ORDER BY id`;
  return found.map(({ signal }) => signal);
}

/** @returns the workflows that were signalled since the last time */
export async function takeSignals(db: Executor): Promise<string[]> {
  const taken = await db.rows<{
    id: string;
  }>`DELETE FROM outbox WHERE kind = 'signal' RETURNING workflow_id AS id`;
  return taken.map(({ id }) => id);
}
