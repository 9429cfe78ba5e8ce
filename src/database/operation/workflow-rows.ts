import { groupBy } from '../../domain/group';
import { isId, type IdKind } from '../../domain/identifier/ids';
import { runOf } from '../../domain/workflow/workflow-id';
import { rows, type Executor } from '../connection';

/**
 * The table that has the row of each kind of workflow, by the first part of the workflow's id; the
 * second is the row's, of one of these kinds. A `billing-batch` has no row of its own: with none of
 * its charges left, it ends when the window of these has passed.
 */
const TABLES = new Map<string, { table: string; ids: IdKind[] }>([
  ['intent', { table: 'intents', ids: ['intent'] }],
  ['billing-request', { table: 'billing_requests', ids: ['billingRequest'] }],
  ['recurring', { table: 'schedules', ids: ['schedule'] }],
  ['refund', { table: 'refunds', ids: ['refund'] }],
  ['webhook-delivery', { table: 'webhook_deliveries', ids: ['delivery'] }],
  ['sandbox-clock', { table: 'entities', ids: ['merchant', 'bank', 'provider'] }],
  ['customer-migration', { table: 'customer_batches', ids: ['batch'] }],
  ['bank-statement', { table: 'bank_statements', ids: ['statement'] }],
]);

/** A workflow by its id, and the name of its type. */
export interface TypedWorkflow {
  workflowId: string;
  type: string;
}

/**
 * Of these, the ids of those whose row is not there, though their kind has one. What only looks
 * like a workflow of ours, by the first part of its id, is somebody else's.
 *
 * Whoever has found the workflows running asks afterwards: a start leaves the outbox once the
 * transaction that also wrote the row has committed. So a workflow without a row is never one that
 * is just beginning.
 */
export async function withoutRow(db: Executor, workflows: readonly TypedWorkflow[]): Promise<Set<string>> {
  const gone = await Promise.all(
    [...groupBy(workflows.flatMap(ours), ({ table }) => table)].map(async ([table, some]) => {
      const found = await rows<{ id: string }>(db, `SELECT id FROM ${table} WHERE id = ANY(:ids)`, {
        ids: some.map(({ id }) => id),
      });
      const there = new Set(found.map(({ id }) => id));
      return some.filter(({ id }) => !there.has(id)).map(({ workflowId }) => workflowId);
    }),
  );
  return new Set(gone.flat());
}

function ours({ workflowId, type }: TypedWorkflow): { workflowId: string; table: string; id: string }[] {
  const [kind = '', id = ''] = workflowId.split('/');
  const known = TABLES.get(kind);
  if (!known?.ids.some((idKind) => isId(idKind, id)) || runOf(workflowId).type !== type) return [];
  return [{ workflowId, table: known.table, id }];
}
