import { groupBy } from '../../domain/group';
import { rows, type Executor } from '../connection';

/**
 * The table that has the row of each kind of workflow, by the first part of the workflow's id; the
 * second is the row's. A `billing-batch` has no row of its own: with none of its charges left, it
 * ends when the window of these has passed.
 */
const TABLES = new Map([
  ['intent', 'intents'],
  ['billing-request', 'billing_requests'],
  ['recurring', 'schedules'],
  ['refund', 'refunds'],
  ['webhook-delivery', 'webhook_deliveries'],
  ['sandbox-clock', 'entities'],
  ['customer-migration', 'customer_batches'],
  ['bank-statement', 'bank_statements'],
]);

/**
 * Of these ids, those whose row is not there, though their kind has one.
 *
 * Whoever has found the workflows running asks afterwards: a start leaves the outbox once the
 * transaction that also wrote the row has committed. So a workflow without a row is never one that
 * is just beginning.
 */
export async function withoutRow(db: Executor, workflowIds: readonly string[]): Promise<Set<string>> {
  const known = workflowIds.map((workflowId) => {
    const [kind = '', id = ''] = workflowId.split('/');
    return { workflowId, table: TABLES.get(kind), id };
  });
  const gone = await Promise.all(
    [...groupBy(known, ({ table }) => table ?? '')].map(async ([table, some]) => {
      if (table === '') return [];
      const found = await rows<{ id: string }>(db, `SELECT id FROM ${table} WHERE id = ANY(:ids)`, {
        ids: some.map(({ id }) => id),
      });
      const there = new Set(found.map(({ id }) => id));
      return some.filter(({ id }) => !there.has(id)).map(({ workflowId }) => workflowId);
    }),
  );
  return new Set(gone.flat());
}
