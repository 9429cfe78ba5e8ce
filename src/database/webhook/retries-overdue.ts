import type { Executor } from '../pool/connection';
import { raw } from '../pool/statement';
import { ownWorkflow } from './announce-webhooks';

/** Read in all; more say nothing more, and take longer to read. */
const RETRIES_MAX = 10_000;
/** Rows are read per receiver, so that none with thousands hides the others. */
const RETRIES_OF_RECEIVER_MAX = 10;

/** By the index of what waits. */
const nextWaiting = (after: string) => `
  SELECT d.entity_id, d.id,
    d.workflow_id = ${ownWorkflow('d.id')} AS own_workflow,
    CASE WHEN d.attempts > 0 THEN d.next_attempt_at ELSE d.created_at END AS due_at,
    (SELECT e.status = 'active' FROM entities e WHERE e.id = d.entity_id) AS active
  FROM webhook_deliveries d WHERE d.status = 'pending' ${after} ORDER BY d.entity_id, d.id LIMIT 1`;

/**
 * For how long the first webhook that waits in a workflow of its own has been due; 0 where none is.
 * A first attempt is due when it is announced, however often it finds no slot.
 *
 * Reads the index of waiting webhooks from row to row, and leaves a receiver of which enough was
 * read. A disabled receiver, for which any number may wait, costs one row. (No id of a delivery,
 * `dlv_…`, comes after `e`.)
 */
export async function retriesOverdueS(db: Executor): Promise<number> {
  const { overdueS } = await db.oneRow<{ overdueS: number }>`WITH RECURSIVE waiting AS (
       SELECT first.*, 1 AS n, 1 AS of_receiver FROM (${raw(nextWaiting(''))}) AS first
       UNION ALL
       SELECT next.*, w.n + 1, CASE WHEN next.entity_id = w.entity_id THEN w.of_receiver + 1 ELSE 1 END
       FROM waiting w CROSS JOIN LATERAL (${raw(
         nextWaiting(`AND (d.entity_id, d.id) >
         (w.entity_id, CASE WHEN w.active AND w.of_receiver < ${RETRIES_OF_RECEIVER_MAX} THEN w.id ELSE 'e' END)`),
       )}) AS next
       WHERE w.n < ${raw(RETRIES_MAX)}
     )
     SELECT greatest(coalesce(extract(epoch FROM clock_timestamp() - min(due_at)), 0), 0)::float8 AS overdue_s
     FROM waiting WHERE active AND own_workflow`;
  return overdueS;
}
