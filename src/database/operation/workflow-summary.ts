import { groupBy } from '../../domain/group';
import { workflowIds } from '../../domain/workflow/workflow-id';
import { workflowSummary } from '../../domain/workflow/workflow-summary';
import { rows, type Executor } from '../connection';

/** A workflow's id, and what it is about. */
type Summarized = [workflowId: string, summary: string];

type Summarize = (db: Executor, workflowIds: string[]) => Promise<Summarized[]>;

/**
 * Those whose id names a row.
 *
 * @param query reads the rows' ids and what is said of them; it ends where their ids are compared
 */
const byRow =
  <Said>(idOf: (rowId: string) => string, inWords: (one: Said) => string, query: string): Summarize =>
  async (db, ids) => {
    const rowIds = ids.map((id) => id.slice(id.indexOf('/') + 1));
    const found = await rows<Said & { id: string }>(db, `${query} = ANY(:rowIds)`, { rowIds });
    return found.map((one) => [idOf(one.id), inWords(one)]);
  };

/** By how the ids of its workflows begin. Each reads by an index. */
const SUMMARIES = new Map<string, Summarize>(
  Object.entries({
    intent: byRow(
      workflowIds.intent,
      workflowSummary.intent,
      `SELECT id, reference, merchant_id AS "merchantId" FROM intents WHERE id`,
    ),
    'billing-request': byRow(
      workflowIds.billingRequest,
      workflowSummary.charge,
      `SELECT id, reference, amount::bigint, currency, owner_id AS "ownerId" FROM billing_requests WHERE id`,
    ),
    'billing-batch': calls,
    recurring: byRow(
      workflowIds.recurring,
      workflowSummary.recurring,
      `SELECT id, amount::bigint, currency, frequency, merchant_id AS "merchantId" FROM schedules WHERE id`,
    ),
    refund: byRow(
      workflowIds.refund,
      workflowSummary.refund,
      `SELECT r.id, r.reference, b.reference AS "originalReference", r.merchant_id AS "merchantId",
         r.amount::bigint, r.currency
       FROM refunds r JOIN billing_requests b ON b.id = r.billing_request_id WHERE r.id`,
    ),
    'webhook-delivery': byRow(
      workflowIds.webhookDelivery,
      workflowSummary.webhookDelivery,
      `SELECT id, webhook_type AS "webhookType", entity_id AS "entityId" FROM webhook_deliveries WHERE id`,
    ),
    'customer-migration': byRow(
      workflowIds.customerMigration,
      workflowSummary.customerMigration,
      `SELECT id, total, bank_id AS "bankId" FROM customer_batches WHERE id`,
    ),
    'bank-statement': byRow(
      workflowIds.bankStatement,
      workflowSummary.bankStatement,
      `SELECT id, lines, bank_id AS "bankId" FROM bank_statements WHERE id`,
    ),
    'sandbox-clock': clocks,
  }),
);

/**
 * What these workflows are about, as it was said when they were first started. A call whose charges
 * have all ended has none, for they are not found by their workflow any more.
 */
export async function summariesOf(db: Executor, ids: string[]): Promise<Map<string, string>> {
  const summarized = await Promise.all(
    [...groupBy(ids, (id) => id.split('/', 1)[0] ?? '')].map(
      async ([kind, ofKind]) => (await SUMMARIES.get(kind)?.(db, ofKind)) ?? [],
    ),
  );
  return new Map(summarized.flat());
}

/** By those of its charges that are open. */
async function calls(db: Executor, ids: string[]): Promise<Summarized[]> {
  const found = await rows<{
    workflowId: string;
    count: number;
    reference: string;
    amount: bigint;
    currency: string;
    ownerId: string;
  }>(
    db,
    `SELECT workflow_id AS "workflowId", count(*)::int AS count, min(reference) AS reference,
       min(amount)::bigint AS amount, min(currency) AS currency, min(owner_id) AS "ownerId"
     FROM billing_requests WHERE workflow_id = ANY(:ids) AND status = 'pending' GROUP BY workflow_id`,
    { ids },
  );
  return found.map(({ workflowId, count, reference, ...rest }) => [
    workflowId,
    count === 1
      ? workflowSummary.charge({ reference, ...rest })
      : workflowSummary.charges({ count, ...rest }),
  ]);
}

/** All that there is to say of it is in its id. */
function clocks(_db: Executor, ids: string[]): Promise<Summarized[]> {
  return Promise.resolve(
    ids.map((id) => {
      const [, ownerId = '', target = ''] = id.split('/');
      return [id, workflowSummary.sandboxClock({ ownerId, target })];
    }),
  );
}
